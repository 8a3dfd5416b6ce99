//go:build !linux

package bound

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// watchEvery is how often a process looks at the memory it has.
const watchEvery = 50 * time.Millisecond

// crashed is Go's own exit code for what cannot be recovered.
const crashed = 2

// Process ends this process when it has more memory than it may, where the system is not asked to:
// it may have more for a moment. Its time is bounded on the clock only, from outside.
func Process(l Limits) error {
	if l.Memory == 0 {
		return nil
	}
	go func() {
		for {
			var has runtime.MemStats
			if runtime.ReadMemStats(&has); has.Sys > uint64(l.Memory) {
				fmt.Fprintln(os.Stderr, "fatal error: out of memory") // as Go's own words are
				os.Exit(crashed)
			}
			time.Sleep(watchEvery)
		}
	}()
	return nil
}
