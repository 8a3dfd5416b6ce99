// Package rewrite stands between a stranger's WebAssembly module and the engine. It reads a module,
// refuses it or says what it is, and writes another in its place that the host can interrupt,
// snapshot and restore.
//
//	facts, err := rewrite.Check(wasm, nil) // is it safe to compile, and what does it want?
//	out, plan, err := rewrite.Rewrite(wasm, facts, nil)
//	// compile out; instantiate; copy plan.Data; call plan.Start
//
// # Check
//
// The engine allocates what a module declares before it looks at what is there, and its compile
// time grows faster than its input: thirty bytes can end the process. Check reads every count,
// index and instruction first. Counts are held against the bytes that are left and against
// [Limits], indices against what the module itself declares: an index one past its end would
// become valid once something is appended. Operand types are left to the engine, which checks
// what Rewrite gives.
//
// Check refuses what is broken. What a plugin may be, its imports, exports and features, is its
// caller's to decide from [Facts]; so is what becomes of a module that is too much to compile in
// this process (Facts.Oversize) or that cannot be restored from a snapshot (Facts.Blockers).
//
// # Rewrite
//
// One pass over the module
//
//   - exports every mutable number as wasmagent_internal_g and its index, for snapshots;
//   - takes active data segments out of it, in their order, for the host to copy;
//   - exports the start function as wasmagent_internal_start and no longer starts it;
//   - opens the memory's maximum to [MemoryPages], so that the host's allocator decides;
//   - keeps every table from growing past its share of Limits.TableElements;
//   - adds the fuel, wasmagent_internal_fuel, and checks that call wasmagent_internal.tick;
//   - gives functions their new numbers everywhere, also in the name section, since tick comes
//     before them as the last imported function;
//   - drops all other custom sections: the engine needs none of them, and debug information would
//     be wrong.
//
// Names that begin with wasmagent_internal are refused in what Check reads, so a guest can neither
// import tick nor name the fuel.
//
// # Fuel
//
// The fuel is an i64 that starts at 0. Code subtracts what it is about to do, and calls tick, ()
// -> (), when that leaves less than 0. Tick reads what was used, decides whether the guest goes
// on, and sets the fuel anew; or it panics, and the call ends with that. What is used depends on
// nothing but the module and its inputs: not on the engine, nor on how much tick gives at a time.
// This table is part of that promise:
//
//	an instruction                                    1
//	block, loop, else, end, nop, try_table            0
//	call of a small function                          1 and all of that function's cost
//	call through a table or a reference               65
//	memory.copy, memory.fill, memory.init             32 and the length in bytes / 16, rounded down
//	memory.grow                                       64 and, if it succeeds, 4,096 a page
//	table.copy, table.fill, table.init                32 and 1 an element
//	table.grow                                        64 and, if it succeeds, 1 an element
//	ref.func                                          64
//	what a function of the host does                  as the host says; its call costs 1
//
// Checks stand at the entry of a function and at the head of each loop, inside it. Each charges for
// its part of the code, whichever way is then taken through it: the function outside of its loops,
// or the loop outside of the loops in it. Work may so cost more than it is, as in the long loops of
// which the Go compiler makes every function, but not less. Operations that are priced by length
// have a check of their own, before they run; those that grow something are charged afterwards.
//
// A function is small, and has no check, if it costs at most 64 and has no loop, no operation
// priced by length, and no calls but of imported functions and small ones. Nothing recursive is
// small, and a tree of small functions costs at most 64, so no more than that goes uncharged when
// a small function is called from the host. Where a loop is all that can follow a function's
// entry, the entry charges without a check: the loop's head checks.
//
// Compiled guests run a few percent slower metered, up to a fifth where short functions call each
// other all the time. A loop of a few instructions takes twice its time.
//
// How long so much fuel lasts differs between guests: five million units are some milliseconds of
// a C guest and tens of microseconds of a Go guest. Since what is used does not depend on how
// much tick gives, a host may give more to a guest whose ticks come fast.
//
// # Stack
//
// Depth is not counted: a counter would have to be put back on every way out of every function,
// which costs more than the fuel does. The engine ends recursion itself, when the stack of a call
// passes 50 million bytes: up to 160 MB are in use while it grows the last time, and 80 MB stay
// with the instance that overflowed until it is closed. So the worst is 160 MB for each guest
// that runs.
package rewrite
