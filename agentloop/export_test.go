package agentloop

// Heir shows what a subagent has from its parent.
var Heir = (*Loop).heir

// CheckSize holds a message against another limit than MaxMessage.
var CheckSize = checkSize
