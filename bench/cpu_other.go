//go:build !linux

package main

import "time"

func cpuTime([]int) time.Duration { return 0 }

func residentBytes() int64 { return 0 }
