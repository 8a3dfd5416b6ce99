package main

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that this process, its ended children and the given processes have
// used, user and system together. It is 0 on systems where this is not known.
func cpuTime(pids []int) time.Duration {
	total := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	var children unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &children) == nil {
		total += children.Utime.Nano() + children.Stime.Nano()
	}
	for _, pid := range pids {
		const scheduled = 2 // which of a process's clocks: the one that counts nanoseconds
		total += clock(int32(^pid<<3 | scheduled))
	}
	return time.Duration(total)
}

func clock(id int32) int64 {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return t.Nano()
}

// residentBytes is the memory of this process that lies in RAM. It is 0 where this is not known.
func residentBytes() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
