package agentloop

// Heir shows what a subagent has from its parent.
var Heir = (*Loop).heir
