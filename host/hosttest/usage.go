package hosttest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// Usage is what this process holds: what soak tests compare.
type Usage struct {
	Goroutines, Descriptors, Mappings int
	Resident                          int64 // bytes
}

// Used measures this process after its garbage is collected. It skips the test where there is no
// /proc.
func Used(tb testing.TB) (u Usage) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("reads /proc")
	}
	for range 3 { // finalizers unmap code, and run behind a collection
		debug.FreeOSMemory()
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		tb.Fatal(err)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Fatal(err)
	}
	var total, resident int64 // pages
	if _, err := fmt.Sscan(string(statm), &total, &resident); err != nil {
		tb.Fatal(err)
	}
	return Usage{
		Goroutines: runtime.NumGoroutine(), Descriptors: len(files),
		Mappings: bytes.Count(maps, []byte("\n")), Resident: resident * int64(os.Getpagesize()),
	}
}
