//go:build !linux

package rewrite

import "time"

var started = time.Now()

func cpuTime() time.Duration { return time.Since(started) }
