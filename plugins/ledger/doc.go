// Package ledger has the places where calls are recorded before they run and after, so that what
// must happen once happens once, whatever comes between.
//
// # Runs, claims, intents, completions
//
// A run is a sequence of calls that belong together, such as an agent's session, and a call's place
// is its position in the run. A call with a key outside any run is a run of its own. Before a tool
// runs, its intent is recorded, and its key is claimed: a key is held by one call at a time. After
// it has run, its completion is recorded and its claim settled. Each of the two is one transaction,
// on the disk before the call goes on: there is never a claim without an intent, nor a completion
// without its settlement.
//
// What a call finds decides what becomes of it, and decide.go is the whole table. Its own place,
// completed: it gets what is recorded there, a failure too, and nothing runs. Its key, settled with
// the same input: it gets a copy, and the copy is recorded in its run. The key with another input:
// a collision. A key or a place that another call is at: in flight.
//
// A failed call frees its key if its tool is idempotent, or if the tool refused its arguments.
// After any other failure of a write nobody knows whether its effect happened: the key stays held
// until somebody finds out.
//
// # After a crash
//
// An intent without a completion is what a crash leaves, and a call whose caller left is much the
// same. When its run comes to its place again, a call that only reads runs again; an idempotent one
// runs again under the recorded key; and a write is refused with a *plugins.ReconciliationError
// until [SQLite.Resolve] records what became of it. From then on the run goes on without running
// it. Whether a process lives is told by a lock on a file that it holds, and that the system takes
// away whatever way it ends.
//
// # Memory and SQLite
//
// [Memory] promises all this as long as the process lives. [SQLite] keeps it in a file that any
// number of processes share: its records are only ever added to, triggers refuse anything else, and
// calls of one process that come at the same time share a transaction. [SQLite.Runs],
// [SQLite.Records], [SQLite.Claims] and [SQLite.Recover] show what is there; [SQLite.Resolve],
// [SQLite.Release] and [SQLite.Abandon] are for operators, and leave a record of their own.
//
// # What the chain shows
//
// Each record has the hash of the one before it in its run, and of all of its own columns; how long
// each chain is and how it ends is kept apart. [SQLite.Verify] finds what was edited, deleted,
// added, moved or cut off, and names the run and the place; a result is checked in this way before
// it is given to anybody. It shows accidents, and edits by whoever does not know the format. It
// does not show what is done by somebody who can write the file and computes all hashes anew, nor
// that a whole run was taken out with all that refers to it, nor the file being set back to an
// older copy: there is no secret in it. Keep the file where only its owner can write.
//
// What a tool gave is stored as it is and never interpreted: what became of a call is in columns of
// its own, so that a result which looks like a record is only a result.
package ledger
