package wasi

// Errno is an error number of wasi_snapshot_preview1.
type Errno uint32

const (
	Success    Errno = 0
	Badf       Errno = 8  // not an open descriptor
	Fault      Errno = 21 // a range outside memory
	Inval      Errno = 28
	Io         Errno = 29
	Notdir     Errno = 54
	Notsup     Errno = 58
	Spipe      Errno = 70 // no position in a stream
	Notcapable Errno = 76
)
