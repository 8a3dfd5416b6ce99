// Package mcp makes tools of MCP servers: a server of the operator's word, run as a command or
// reached by a URL, is a source of tools for a registry, beside plugins and native tools.
//
// # NOT sandboxed
//
// A command is a native process with all rights of whoever runs this program. Nothing of the plugin
// sandbox holds for it: it can read files, reach the network and stay alive beside its connection.
// Only two things are kept from it: the environment, of which it gets what [Server].Env names and
// no more (npx and its like want PATH and HOME), and the model, which sees of it only cleaned texts.
// Who names a command here trusts it as if he had started it himself. What can be a plugin should
// be one.
//
// # Tools
//
// [Open] starts the server, lists its tools and gives a [Source]. Names become those that a
// registry takes, after the server's name as a prefix; a call goes to the original name. Tools that
// come to one name lose it both, one with a bad schema is not offered, and [Source.Withheld] tells
// of each. Every tool's effect is write, whatever the server hints; [Server.Rules], or those of the
// registry, say otherwise. The effect of one of the server's rules holds for a tool as it was when it
// was first listed: one whose texts, schemas or hints change counts as write until they are again
// what they were.
//
// The server may change its tools while it runs. [Source.Changed] tells, and whoever keeps a
// registry replaces the old ones; a call finishes on the tool that it found.
//
//	tools := source.Tools()
//	err := registry.Add(tools...)
//	for {
//		changed := source.Changed()
//		now := source.Tools()
//		err = registry.Replace(tools, now)
//		tools = now
//		<-changed
//	}
//
// # Calls
//
// What comes of a call:
//
//	a result                                         its blocks, or its structured content where
//	                                                 the tool describes it; every digit is kept
//	isError                                          ErrHandler, the server's text as a quotation
//	error -32602, of arguments or an unknown name    ErrInvalidInput
//	any other error of the protocol                  ErrHandler
//	the time limit                                   ErrHandler, limit.time; the server is told
//	it died, cannot be reached, broke off            ErrHandler, server, a *ServerError
//	an answer past its limit                         ErrMalformedResult, limit.output
//	no result, or not the promised one               ErrMalformedResult
//	the source was closed                            a host fault, ErrClosed
//
// A broken server is never the host's fault. One that ends is started again by the next call, the
// first time at once and then after a wait that doubles; after [MaxStarts] starts in a row without
// a good answer calls fail at once for [GiveUpTime].
//
// A server is told a call's idempotency key and attempt in the call's _meta ([MetaKey],
// [MetaAttempt]). Its progress reaches the call; its log and what it prints to stderr reach the
// logger, cleaned and capped. Whatever it asks of its client, such as sampling, a question to the
// user or roots, is refused.
//
// The secrets that it was given are taken out of all that it says, answers and the texts of its
// tools too, in the forms that package egress knows.
//
// # HTTP
//
// A URL is https, or http to this machine. Redirects are not followed, so that arguments and
// secrets go nowhere else. A call in a session that is answered 404 is made again in a new session if
// the answer speaks of the session, which is how servers say that they do not know it, or if the
// tool's effect is not write: else the answer may be a proxy's, and the call may have run.
package mcp
