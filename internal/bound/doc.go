// Package bound limits what the process that it is called in may use from then on. Processes that a
// stranger's bytes are taken to pieces in call it before they read them.
package bound

import "time"

// Limits of a process. A zero field bounds nothing but Files and dumps of its memory, which are then
// not written at all.
type Limits struct {
	Memory int64         // bytes of address space, beyond what the process has now
	Time   time.Duration // of the processor, rounded up to seconds
	Files  int64         // bytes of each file that it writes
}
