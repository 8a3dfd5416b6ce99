package guest

import "unsafe"

// A plugin imports of these what it uses.

//go:wasmimport wasmagent_v1 input
func input(ptr unsafe.Pointer, cap uint32) (size uint32)

//go:wasmimport wasmagent_v1 output
func output(ptr unsafe.Pointer, len uint32)

//go:wasmimport wasmagent_v1 log
func log(level uint32, text string)

//go:wasmimport wasmagent_v1 progress
func progress(ptr unsafe.Pointer, len uint32)

//go:wasmimport wasmagent_v1 cancelled
func cancelled() uint32

//go:wasmimport wasmagent_v1 config
func config(key string) (size uint32)

//go:wasmimport wasmagent_v1 result
func result(ptr unsafe.Pointer, cap uint32) (size uint32)

const clockMonotonic = 1

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clock(id uint32, precision uint64, t *int64) (errno uint32)
