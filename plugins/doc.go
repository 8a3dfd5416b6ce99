// Package plugins keeps tools by name and carries out a call of one, whether it is a Go function or
// a WebAssembly guest: the package does not know which.
//
// # The life of a call
//
// A [Tool] says what it is by a spec and is invoked with a [Call]; a [Registry] has many and calls
// them by name. [Registry.Call] is one straight function. It finds the tool; checks that the
// arguments are JSON that can be carried to any tool without loss and that the tool's JSON Schema
// allows them; derives the call's idempotency key, where the operator has declared a path to it for
// the tool; begins the call in a [Ledger], which may find that it is done already; runs the tool,
// again if need be; checks its result against the tool's output schema; and ends the call in the
// ledger. Whatever stops a call before the tool runs leaves nothing behind.
//
// Tools come and go while calls run: a call finishes on the tool that it found. [Registry.Changed]
// tells whoever shows the tools to somebody.
//
// # Schemas
//
// Schemas are JSON Schema 2020-12, and older drafts where they say so. What older drafts and
// OpenAPI say is put into today's words where nothing is lost by that, and [Registry.Specs] offers
// what calls are held against. Arguments that are a slip away, such as "5" for 5, are taken for
// what they plainly mean, and fields that a tool does not declare are noted: [Result] has the
// Notes. docs/schemas.md has the whole of it.
//
// # Effects, attempts and records
//
// What repeating a call may do to the world, its tool's effect, decides how far the registry goes.
// It is the operator's word, a [Rule], or else what the tool's Spec says; the zero value is write.
//
//	             failed           began, and its process died   de-duplicated by its key
//	read         tried again      runs again                    no
//	idempotent   tried again      runs again, same key          yes
//	write        never again      waits for a person            yes
//
// Only ErrHandler is ever tried again: at most [MaxAttempts] in all, after a random wait, with the
// same key, and the tool is told the number of the attempt. A failure that calls itself permanent
// is not, a time-out only where the operator's rule says so, and nothing whose caller's deadline
// would pass first.
//
// A ledger hears of calls that have a key and may change the world, and of every call of a durable
// run: one whose caller names the run and the call's position in it, so that it can do the same
// again after a crash and get what is recorded.
//
// # What can go wrong
//
// A call that gives no result gives a [*ToolError] of one of five kinds, with a typed cause, unless
// its caller ended it or the host itself is at fault. [FaultOf] says who must act, and is the only
// place that routes. Error gives the operator's text; [ModelText] gives the text for a model:
// short, stable, what a guest says as a quotation; [Repeats] collapses one failure that comes again
// and again. errors.go lists everything on a screen.
//
// # Limits
//
// Arguments have at most [MaxInput] bytes, schemas [MaxSchemaBytes], keys 4 KiB; a schema may
// refer to nothing outside itself, and the steps of holding a value against it are bounded.
// What the tool itself may use up is its maker's to bound.
//
// # For implementers
//
// Package pluginstest tests implementations of Tool and of Ledger, and has a tool that spies on its
// calls. A ledger keeps a failure as a [Recorded], made by [Record], and gives it back by its Err.
package plugins
