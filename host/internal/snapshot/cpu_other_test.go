//go:build !linux

package snapshot

import "time"

var began = time.Now()

// cpuTime is the time that passed: this system tells no better.
func cpuTime() time.Duration { return time.Since(began) }
