package wasi

// Errno is an error number of wasi_snapshot_preview1.
type Errno uint32

const (
	Success     Errno = 0
	Acces       Errno = 2
	Badf        Errno = 8 // not an open descriptor
	Busy        Errno = 10
	Dquot       Errno = 19 // a quota is used up
	Exist       Errno = 20
	Fault       Errno = 21 // a range outside memory
	Fbig        Errno = 22
	Inval       Errno = 28
	Io          Errno = 29
	Isdir       Errno = 31
	Loop        Errno = 32 // a symbolic link where none may be, or too many
	Mfile       Errno = 33 // too many open descriptors
	Nametoolong Errno = 37
	Noent       Errno = 44
	Nospc       Errno = 51
	Notdir      Errno = 54
	Notempty    Errno = 55
	Notsup      Errno = 58
	Overflow    Errno = 61
	Perm        Errno = 63
	Rofs        Errno = 69 // read-only
	Spipe       Errno = 70 // no position in a stream
	Txtbsy      Errno = 74
	Xdev        Errno = 75 // from one mount to another
	Notcapable  Errno = 76
)
