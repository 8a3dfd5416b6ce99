package host

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// limitProcess bounds what this process may use from here on. The system kills it at its processor
// time and gives it no memory past its address space.
func limitProcess(l childLimits) error {
	var total, rest uint64
	statm, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(statm), &total, &rest)
	}
	if err != nil {
		return fmt.Errorf("how large it is: %w", err)
	}
	space := total*uint64(os.Getpagesize()) + uint64(l.memory)
	seconds := uint64(math.Ceil(l.time.Seconds()))
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_AS, space},
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_FSIZE, uint64(l.code)},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := lower(limit.resource, limit.most); err != nil {
			return err
		}
	}
	return nil
}

// lower sets a limit for good, unless a lower one is in force.
func lower(resource int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	most = min(most, now.Max)
	err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
	return os.NewSyscallError("setrlimit", err)
}
