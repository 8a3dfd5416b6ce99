package rewrite

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that this thread took, so that other work on the machine counts
// less.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
