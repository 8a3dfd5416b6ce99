// Package wasi answers a guest's imports from wasi_snapshot_preview1 without keeping anything from
// one call to the next.
//
// [Functions] are all 46 of them, with the signatures that guests expect, to be exported into a
// host module. Each finds the [State] of the instance that calls it through the context of the
// call. A State lives as long as its instance; [State.Reset] before each call forgets what the last
// one did to it: descriptors that were closed, renumbered or got flags, files that were opened, and
// the place in the fixed clock and randomness, if those are on.
//
// What a guest gets:
//
//	args_*, environ_*   what the State holds; nothing by default
//	clock_*, random_get the engine's clock and the system's randomness, or [Fixed]
//	fd 0                at its end
//	fd 1, fd 2          the State's writers; line by line, as to a terminal
//	other fd_*, path_*  the State's [Files]; without: no preopens, BADF and NOTCAPABLE
//	poll_oneoff         clocks and descriptors; waits through the State
//	proc_exit           ends the call with wazero's sys.ExitError; the instance stays open
//	proc_raise, sock_*  NOTSUP
//
// Every range that a guest names is checked in 64 bits before anything is moved or allocated, and
// answers FAULT when it is not inside its memory. What a guest may ask for at once is bounded by
// [MaxSubscriptions] and [MaxVectors]. Work that grows with a number of bytes is announced to
// [State.Spend] first, in pieces of at most [Chunk] where it is slow, so that the host can price it
// and end the guest.
//
// [UnstableFunctions] are the same for guests that import from wasi_unstable, with the numbers and
// structures of that time: where fd_seek counts from, filestats and subscriptions.
//
// # Time
//
// The monotonic clock is the engine's: it starts above zero and is one for all instances and calls.
// A guest that set timers while it initialised sees, in every call, a time past that moment, so its
// timers fire; a clock that started anew would let them hang. [NewClock] starts after the latest
// value that any snapshot saw.
package wasi
