// Package ledger has the places where keyed calls are claimed before they run and settled after.
//
// A tool with an idempotency key runs once for each key: the registry of package plugins claims the
// key, runs the tool, and settles the claim. What the claim finds decides. A free key runs; a
// settled one with the same input gives the recorded output and nothing runs; a settled one with
// another input is a collision; one that another call holds is in flight.
//
// A failed call frees its key if the tool is idempotent, or if the tool refused its arguments.
// After any other failure of a write nobody knows whether its effect happened: the key stays held
// until somebody finds out.
//
// [Memory] promises that as long as the process lives.
package ledger
