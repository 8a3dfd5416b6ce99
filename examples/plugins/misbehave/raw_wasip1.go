package main

import "unsafe"

// output hands a reply to the host behind the kit's back.
func output(b []byte) { rawOutput(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))) }

//go:wasmimport wasmagent_v1 output
func rawOutput(ptr unsafe.Pointer, len uint32)

// divide is the machine's own division. Go's checks for zero first and panics.
func divide(a, b int64) int64
