// Package mcpserver offers the tools of a [plugins.Registry] to MCP clients, over standard input
// and output and over streamable HTTP.
//
// # Tools and calls
//
// A [Server] shows every tool with its schemas, and hints that follow from its effect. A call goes
// through [plugins.Registry.Call] like any other: the same checks, keys, records and attempts. What
// comes back is content for the model; a tool that has an output schema also gives structured
// content, wrapped as {"result": …} when it need not be an object. Text of more than
// [excerpt.DefaultMax] bytes is cut, head and tail, and the tool read_more reads on.
//
// A call that fails is a result with isError and the model's text; _meta has, under [MetaError],
// what a program can act on. Only unknown tools and broken messages are protocol errors. What the
// tool says of its progress and logs while it runs is passed on, and a client that cancels a call
// reaches the tool.
//
// When there are more tools than Options.DirectTools, a client sees search_tools and call_tool in
// place of them all; a tool that is not shown can still be called by its name. Tools that come and
// go in the registry are told to clients as a changed list, once for many changes that come
// together. Structured content never breaks the output schema that a client has listed last: of a
// tool that was replaced by one with another schema, it gets content alone until it lists the tools
// again.
//
// # HTTP
//
// [Server.Handler] serves both eras of the protocol at one address: clients from 2026-07-28 on
// without sessions, older ones with. Every request needs a bearer token ([LoadToken] keeps one in a
// file), a Host header that is expected and, from a browser, the right Origin. A session belongs to
// the token that it began with. [Server.Serve] adds what a listener needs, [CheckAddr] tells
// whether an address is only this machine's.
//
// # Limits
//
// Calls that run, calls that wait, sessions, requests, the bytes of a message and the time that a
// peer may take are all bounded; limits.go lists the bounds. When calls wait, the sessions take
// turns.
package mcpserver
