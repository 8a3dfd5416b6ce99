package bound

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Process bounds this process. The system kills it at its processor time and gives it no memory
// past its address space.
func Process(l Limits) error {
	type bound struct {
		resource int
		most     uint64
	}
	bounds := []bound{{unix.RLIMIT_FSIZE, uint64(l.Files)}, {unix.RLIMIT_CORE, 0}}
	if l.Memory > 0 {
		now, err := addressSpace()
		if err != nil {
			return fmt.Errorf("how large it is: %w", err)
		}
		bounds = append(bounds, bound{unix.RLIMIT_AS, now + uint64(l.Memory)})
	}
	if l.Time > 0 {
		bounds = append(bounds, bound{unix.RLIMIT_CPU, uint64(math.Ceil(l.Time.Seconds()))})
	}
	for _, b := range bounds {
		if err := lower(b.resource, b.most); err != nil {
			return err
		}
	}
	return nil
}

// addressSpace is what this process has of it, in bytes.
func addressSpace() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages uint64
	_, err = fmt.Sscan(string(statm), &pages)
	return pages * uint64(os.Getpagesize()), err
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
