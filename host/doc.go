// Package host runs guests inside limits. It is the only room that knows the WebAssembly engine.
//
// An [Engine] turns bytes into a [Module]: it holds them against the plugin contract, compiles
// them, and takes a first instance through the stages of loading (instantiate, initialize,
// describe, warmup), each under limits. What cannot work is refused there, as a [*LoadError] that
// names the stage. A Module is compiled code under one [Policy]; its Call runs one call in a
// state that no other call has touched, and gives the guest's reply as the bytes it handed over:
// reading them is abi's work, and they are as hostile as everything else that a guest says.
//
// # Fresh state
//
// After its stages of loading an instance is photographed: its memory and globals are what every
// call begins with. What a call wrote is put back before Call returns, so the next one costs what
// this one changed, not what the plugin is; see package snapshot for how. A module that changes
// tables or drops segments cannot be put back so, and [Module.Road] and [Inspect] say why: it gets
// a new instance for every call, as does any module under the policy [Instantiate]. What a guest
// drew at random while it initialised is the same in all its restored calls.
//
// # How a call can end
//
// With a reply and no error; or with what the guest did: [*TrapError], [*ExitError], [*LimitError],
// [*ContractError], each of which has a stable wire name. A reply counts only when the guest then
// returns: what ends badly after it wins. A caller who gives up gets the cause of its own context,
// so that a plugin's time limit and the caller's are never mixed up. Every other error is the
// host's own.
//
// # Limits
//
// A zero [Limits] is safe: 30 s a call, 5 s a stage of loading, 128 MiB of memory, 16 MiB of
// request and of reply, 64 KiB of stdout and stderr each, 100 log lines a second, 16 instances.
// Ranges that a guest names are checked in 64 bits against its memory and the limit before anything
// is allocated. Waiting for an instance counts against the caller's context, never against the
// plugin's time.
//
// Time is looked at whenever a guest has used up a slice of its fuel, which loops, calls,
// operations on ranges and host functions all use: nothing outruns it for longer than one operation
// on all of a guest's memory takes, during which the garbage collector waits, too. A guest that
// recurses too deep is ended by the stack limit, about 50 MB, which takes up to 160 MB for a
// moment; the instance is then closed. A guest that sleeps in the depth of a recursion keeps its
// stack meanwhile, so the worst case of a plugin is that of all its instances.
//
// # What a guest has
//
// The functions of module wasmagent_v1, and WASI preview 1 with no sockets, an empty stdin, real
// clocks and cryptographic randomness. Nothing of it is shared between instances. Anything more is
// in [Grants], and is nothing by default:
//
//   - HTTP carries requests, after it has held them against rules; package egress has one. A guest
//     waits for at most what is left of its time, without a turn to run.
//   - KV remembers. A call works in one transaction and has the plugin's space for itself; what it
//     wrote is committed when it ends with a result, before anybody sees that, and dropped
//     otherwise. A commit that fails is the host's fault and the call's end. Package kv has spaces.
//   - Files are directories and single files, held open from load. What leads out of them is
//     refused, whoever made the link. Descriptors live as long as a call.
//   - Env is the environment.
//
// What a plugin needs and is not granted refuses it at load, as a [*GrantError]; what it calls
// optional answers "denied". [CallStats].Effects says what an attempt did outside its memory.
// Secrets that HTTP puts into requests are taken out of all that a guest says: its reply, log
// lines, progress, stdout, stderr, and the errors that quote it.
//
// Grants do not cost the fast road. One that is not used costs nothing that can be measured. The
// host's own part of a call of WASI, beside that of the guest's library: about 3 µs to look at a
// file, 12 to open, read and close one; a scratch directory is made when a call first uses it and
// removed after, which costs what the file system takes.
//
// # Compiling
//
// Modules of the same bytes are checked and compiled once, whoever asks and however many. The
// compiler's time and memory grow faster than its input, and it cannot be stopped: a module over
// the limits of compiling here (a function of more than 1 MiB, or one whose loops, locals and
// blocks multiply too far) is compiled by [Config].CompileCommand, in a process that the system
// ends at [MaxCompileTime] and [MaxCompileMemory]. A program is its own such command by calling
// [CompileChild]. Without a command the module is refused.
//
// # Compiled code on disk
//
// With [Config].CacheDir, compiled code outlives the process. It is machine code, so an entry is
// used only when an HMAC under [Config].CacheKey says that this installation wrote it for these
// very bytes; the bytes that were authenticated are the ones that the engine loads. Anything else
// is compiled anew. An entry has the rewritten module, too, and is bound to the version of what
// checked and rewrote it: what an entry is found for needs neither again.
package host
