package host

import "context"

// KV is what a plugin can remember from call to call: a space of keys and values that is its own.
// Package host/kv has one in a file and one in memory; hosttest.TestKV holds others to what is said
// here.
type KV interface {
	// Begin gives a call the space for itself, from here to the end of the transaction. It waits
	// for the calls before, no longer than ctx.
	Begin(ctx context.Context) (KVTx, error)
}

// KVTx is one call's work on a space. What it reads is what it wrote, and what was committed
// before. Values are its own: they are not changed by it nor by the host. Keys are any bytes, and
// are sorted as such. It belongs to one goroutine.
type KVTx interface {
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Set(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error // of a key that is not there too
	// List gives the keys that begin with prefix and come after another, in order, at most max.
	List(ctx context.Context, prefix, after string, max int) ([]string, error)
	// Size counts the keys, and the bytes of keys and values.
	Size(ctx context.Context) (keys int, bytes int64, err error)
	// End keeps all that was written, or nothing of it. Nothing was kept when there is an error.
	End(ctx context.Context, commit bool) error
}

// Limits of what a plugin keeps. Those of the whole space are Limits.KVKeys and Limits.KVBytes.
const (
	MaxKVKey   = 512     // bytes of a key, at least one
	MaxKVValue = 1 << 20 // bytes of a value's msgpack form
	MaxKVList  = 1000    // keys that one listing gives
)
