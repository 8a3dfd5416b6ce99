//go:build !linux

package host

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// watchEvery is how often a process looks at the memory it has.
const watchEvery = 50 * time.Millisecond

// limitProcess ends this process when it has more memory than it may, where the system is not asked
// to: it may have more for a moment. Its time is bounded on the clock only, from outside.
func limitProcess(l childLimits) error {
	go func() {
		for {
			var has runtime.MemStats
			if runtime.ReadMemStats(&has); has.Sys > uint64(l.memory) {
				fmt.Fprintln(os.Stderr, "fatal error: out of memory") // as Go's own words are
				os.Exit(compileCrashed)
			}
			time.Sleep(watchEvery)
		}
	}()
	return nil
}
