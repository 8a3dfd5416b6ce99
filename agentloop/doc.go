// Package agentloop lets a model and tools take turns until there is an answer.
//
// A [Loop] is one conversation. [Loop.Run] says something to the model and gives, as an iterator,
// what happens: pieces of text, tools that start and complete, turns, usage, warnings, and at last
// the end. The model is anything with a Turn (the packages under provider speak to real ones,
// looptest has one for tests), and the tools are anything with Specs and Call, such as a
// *plugins.Registry.
//
// # One round trip
//
// A request is built from the system prompt, the history and the tools, sorted by name. When
// ContextLimit is set, it is held against that limit before it is sent, every time. What the model
// says becomes part of the history. Without calls it is the answer. Each call goes through these
// gates, in this order:
//
//	name         offered?                     else unknown_tool
//	arguments    a JSON object, or nothing?   else invalid_arguments
//	hook         may change the arguments, or deny
//	permission   by rules, mode, a person     else denied
//	tool         Tools.Call
//	cut          a long output keeps head and tail; read_more gives the rest (see MaxOutput)
//	hook         may change the result
//
// Then the result is recorded and told to the model, be it good or bad: [FeedsModel] tells the
// errors that a model can do something about from those that end a run, and [Code] names each.
// errors.go has them all on one page.
//
// # How a run ends
//
// With an answer; with an error; parked, because a [Budget] is used up; or because the model made
// the same call and saw it fail in the same way three times in a row. The last two are no errors.
// However it ends, also when its context does or its iteration is left, each call in the history
// has its one result: what was under way is recorded as unknown, what was not begun as not run. So
// the next Run can always go on.
//
// # To a run that is at work
//
// Loop.Steering takes what the user says during a run: it comes into the conversation before the
// next request. Package sdk drives a loop from a window or a server: it runs beside its callers,
// who hear its events, answer its questions, steer and interrupt it.
//
// # Durable conversations
//
// A Loop with an ID has its calls recorded by the tools' ledger, each at its place in the
// conversation. What a process left without a result when it died, the next one makes again at the
// same places: a call that has ended is not run a second time, and one of which nobody knows ends
// the run with a *plugins.ReconciliationError, without a result, until somebody records what
// happened.
//
// # In the background
//
// With Loop.Jobs a model may have tools called in the background: background_exec brings a call
// through the gates and gives the job's id, background_status tells what is new of it and at last
// how it ended, background_list and background_kill do what they say. Jobs go on between runs, each
// in a sandbox of its own, until [Loop.Close].
//
// The model of a durable conversation that goes on in another process is told what the ledger has of
// jobs whose end it was not told; a write of which nobody knows whether it happened ends the run
// before it begins, as above. One that Close itself cuts off is an error of Close.
//
// # Subagents
//
// With [Subagents] a model hands tasks to agents with conversations of their own, by two tools of
// the loop's. Each is a Loop below this one: its calls pass all the gates, with the approval and
// the hooks of the agent that began it, and what it spends counts for every budget above it. What
// happens to it comes with the events of this loop's runs, with its ID in Event.Agent, from the
// goroutine that iterates. One in the background goes on when the run ends: [Loop.Close] ends it.
//
// In a durable conversation the IDs of subagents follow from the places of the calls that began
// them, and so do the runs that their calls are recorded under: a call that is made again after a
// crash comes to the same subagent, which goes on with its own record where there is one. Nobody goes
// on with one in the background: what holds for background jobs holds for its calls.
//
// # Long conversations
//
// A Loop with a Reduction shows the model a view of the history in which what is long or old has
// given way to stubs, which package reduce can undo. The history itself stays whole. Two tools,
// expand_reduction and sidecar_search, show the model what stands behind a stub. Before a request
// is refused for its length, tighter and tighter views are tried.
//
// # What may run
//
// By default tools that only read run, and whatever else is denied unless [Approval] says who
// decides. Whether a tool only reads is its spec's effect, as Tools lists it: a loader gives that
// effect to a plugin which is granted nothing it could change the world with.
//
// # Limits
//
// A run has at most [DefaultMaxTurns] round trips, unless MaxTurns says otherwise. A model is shown
// at most 48 KiB of an output. At most eight calls run side by side, four in the background, and
// four subagents in a whole tree, three deep. Of their events, 1,024 wait for whoever reads.
package agentloop
