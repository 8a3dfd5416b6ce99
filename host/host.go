package host

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// Config is what an Engine is made with. The zero value, and nil, are the documented defaults.
type Config struct {
	// CacheDir keeps compiled code between processes; "" keeps it in memory only. It is made with
	// mode 0700 when missing, and refused when it belongs to somebody else or others may write to
	// it. Several processes may share it.
	CacheDir string
	// CacheKey authenticates CacheDir's entries, which are machine code: an entry that was not
	// written under this key is compiled anew. At least MinCacheKey bytes, required with CacheDir.
	CacheKey []byte
	// Workers is how many modules are compiled side by side, 0 is GOMAXPROCS.
	Workers int
	// CompileCommand is a program and its arguments that compile one module as CompileChild does,
	// or better as itself by calling that. It is run for modules whose compile may take more than
	// this process can give, with no environment, in a directory made for it, and killed at its
	// limits. Nil: such modules are refused.
	CompileCommand []string
	// Memory is what the linear memories of all guests may have together, in bytes; 0 is
	// DefaultTotalMemory. What idles is given up first.
	Memory int64
	// Verify compares each instance with its snapshot, byte by byte, whenever it was restored. It
	// reads all memory on every call: it is for tests.
	Verify bool
	// Dialects are the contracts that modules may be written to besides this project's own.
	Dialects []*Dialect
	// Logger takes guests' log lines that no Observer takes, and troubles with the cache; nil
	// discards.
	Logger *slog.Logger
}

// DefaultTotalMemory is Config.Memory when that is 0, in bytes.
const DefaultTotalMemory = 8 << 30

// MinCacheKey is the least length of Config.CacheKey in bytes.
const MinCacheKey = 16

// Policy is what one plugin may do. The zero value is safe: default limits, nothing granted.
type Policy struct {
	Limits Limits
	// Isolation is how a call gets its fresh state. The zero value restores a snapshot where that
	// is possible.
	Isolation Isolation
	// Fixed, when it is not nil, is all the time and randomness that the guest sees: the same
	// request then takes the same fuel and gives the same reply, on every run and machine.
	Fixed *Fixed
	// Grease adds keys that no plugin knows to every request. A plugin must ignore them, or it will
	// not understand later hosts: this is for tests of plugins.
	Grease bool
	// Config has the operator's settings that the plugin may read, by key: msgpack values. A key
	// that is not there reads as nil.
	Config map[string]abi.Raw
	// Grants is what the plugin may reach.
	Grants Grants
	// Dialect is the contract that the module is written to, one of Config.Dialects; nil is this
	// project's own.
	Dialect *Dialect
}

// Isolation is a way to give each call a state that no other call has touched.
type Isolation uint8

const (
	Snapshot    Isolation = iota // restore what the call before wrote; instantiate where that cannot be
	Instantiate                  // a new instance for every call, initialised anew
)

// Fixed is time that stands where it is put, moving a microsecond whenever it is looked at, and
// randomness from a seed.
type Fixed struct {
	Time time.Time // what the guest's clocks begin with
	Seed [32]byte
}

// Limits bound one plugin. A zero field is the documented default, never "no limit".
type Limits struct {
	Time      time.Duration // a call's own time, DefaultTime
	Load      time.Duration // each stage of loading, DefaultLoad
	Grace     time.Duration // after the caller cancelled, DefaultGrace
	Fuel      int64         // units a call or a stage of loading; 0: counted and not limited
	Memory    int64         // bytes of linear memory, DefaultMemory
	Request   int64         // bytes of a coded request, DefaultRequest
	Output    int64         // bytes of a reply, DefaultOutput
	Stdio     int64         // bytes of stdout, and of stderr, handed on, DefaultStdio
	LogRate   int           // log lines a second, and progress reports, DefaultLogRate
	Module    int64         // bytes of a module, DefaultModule
	Instances int           // instances of one module at a time, DefaultInstances
	KVKeys    int           // keys of a plugin's key-value space, DefaultKVKeys
	KVBytes   int64         // bytes of its keys and values, DefaultKVBytes
}

// The limits of a policy that does not say otherwise.
const (
	DefaultTime      = 30 * time.Second
	DefaultLoad      = 5 * time.Second
	DefaultGrace     = 100 * time.Millisecond
	DefaultMemory    = 128 << 20 // bytes
	DefaultRequest   = 16 << 20  // bytes
	DefaultOutput    = 16 << 20  // bytes
	DefaultStdio     = 64 << 10  // bytes
	DefaultLogRate   = 100       // lines a second
	DefaultModule    = 32 << 20  // bytes
	DefaultInstances = 16
	DefaultKVKeys    = 10_000
	DefaultKVBytes   = 16 << 20 // bytes
)

// MaxMemory is the most that Limits.Memory can be, in bytes.
const MaxMemory = 1 << 30

// pageBytes is the size of a page of linear memory.
const pageBytes = 64 << 10

// Complete gives the limits with the defaults for zero fields, or says which cannot be.
func (l Limits) Complete() (Limits, error) { return l.withDefaults() }

// withDefaults fills the zero fields and checks the others.
func (l Limits) withDefaults() (Limits, error) {
	var errs []error
	if l.Memory > MaxMemory {
		errs = append(errs, fmt.Errorf("limits.memory: %s is past the ceiling of %s",
			byteText(l.Memory), byteText(MaxMemory)))
	}
	if l.Fuel < 0 {
		errs = append(errs, fmt.Errorf("limits.fuel: %d is negative", l.Fuel))
	}
	errs = append(errs,
		setDefault("time", &l.Time, DefaultTime),
		setDefault("load", &l.Load, DefaultLoad),
		setDefault("grace", &l.Grace, DefaultGrace),
		setDefault("memory", &l.Memory, DefaultMemory),
		setDefault("request", &l.Request, DefaultRequest),
		setDefault("output", &l.Output, DefaultOutput),
		setDefault("stdio", &l.Stdio, DefaultStdio),
		setDefault("log_rate", &l.LogRate, DefaultLogRate),
		setDefault("module", &l.Module, DefaultModule),
		setDefault("instances", &l.Instances, DefaultInstances),
		setDefault("kv_keys", &l.KVKeys, DefaultKVKeys),
		setDefault("kv_bytes", &l.KVBytes, DefaultKVBytes))
	return l, errors.Join(errs...)
}

func setDefault[T ~int | ~int64](name string, field *T, value T) error {
	if *field == 0 {
		*field = value
	}
	if *field < 0 {
		return fmt.Errorf("limits.%s: %v is negative", name, *field)
	}
	return nil
}

// Observer sees what a guest says while it runs. Nil fields are skipped. Each is called on the
// goroutine that runs the guest and must not block.
type Observer struct {
	Log      func(level abi.Level, text string) // one line, control characters escaped
	Progress func(abi.Progress)
	Output   func(stderr bool, b []byte) // raw bytes, the observer's own, up to Limits.Stdio
}

// CallStats is what a call took.
type CallStats struct {
	Time    time.Duration // from having an instance to the end
	Wait    time.Duration // until there was an instance
	Fuel    int64         // units used; see doc.go of host/internal/rewrite for what costs how much
	Memory  int64         // bytes of linear memory at the end
	Stderr  string        // what it wrote there, its beginning and end, 4 KiB at most
	Dropped int           // log lines and progress reports over Limits.LogRate
	Effects Effects       // what it did outside its memory
	Note    string        // what the host knows besides: a path that is not there, and which are
}

// Effects counts what an attempt did outside the guest's memory, or may have done: a guest that
// says that nothing happened is believed only when they are zero.
type Effects struct {
	Requests int // HTTP requests of which anything may have reached a server
	KVWrites int // keys set or deleted, whether kept or dropped in the end
	Files    int // changes to files and directories that outlive the call
}

// Any reports whether there was one.
func (e Effects) Any() bool { return e != Effects{} }
