// Package subagents has the arithmetic of agents that begin other agents: what may begin, how many
// may run, what they are called, what became of them, and what they told. It knows no model and no
// tool; agentloop drives it.
//
// A program that has a Loop with subagents needs three things of it, and no more: a [Definition]
// for each kind of agent and a [Policy] for the background, both for agentloop.Subagents, and the
// [Lineage] that it finds in messages under agentloop.MetaSubagent. The errors have names in
// agentloop, too. The rest is what agentloop is made with.
//
// # A spawn
//
// [Rules.Check] holds a [Request] against the rules, in this order: the arguments, the named
// [Definition], the depth, and for one in the background a [Policy] that says who answers its
// questions. Only then is a place of the [Gauge] taken, which is one for the whole tree of agents:
// it never waits, so agents that wait for agents cannot stop one another. Whoever takes a place
// gives it back, however the subagent ends.
//
// # Names
//
// An agent's ID is made of the place of the call that began it, in the conversation of the agent
// that made it: s3 for the third call of the top agent, s3.2 for the second call of that one. So a
// conversation that is gone on with in another process gives its agents the same IDs, and the runs
// under which their calls are recorded ([RunID]) are the same. A [Lineage] says where one comes
// from.
//
// # What becomes of one in the background
//
// A [Table] belongs to one agent and has those that it began. An end is told once, by
// [Table.Take]; then the ID is forgotten. What happens to a subagent goes to its parent's [Inbox],
// which never makes a subagent wait for whoever reads.
package subagents
