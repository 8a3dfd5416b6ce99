package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

// TestKV holds a key-value space against what [host.KV] says. fresh gives an empty one.
func TestKV(t *testing.T, fresh func(t *testing.T) host.KV) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, kv host.KV)
	}{
		{"reads what it wrote", kvReadsOwn},
		{"keeps what is committed", kvCommits},
		{"drops what is not", kvDrops},
		{"takes any bytes", kvBytes},
		{"lists in order", kvLists},
		{"counts", kvCounts},
		{"one call at a time", kvSerial},
		{"waits no longer than it may", kvWaits},
		{"ends once", kvEnds},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// kvDo works in one transaction and commits it, or not.
func kvDo(t *testing.T, kv host.KV, commit bool, work func(kvTx)) {
	t.Helper()
	tx, err := kv.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	work(kvTx{t, tx})
	if err := tx.End(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
}

// kvTx fails its test when an operation does.
type kvTx struct {
	t  *testing.T
	tx host.KVTx
}

func (k kvTx) set(key, value string) {
	k.t.Helper()
	if err := k.tx.Set(k.t.Context(), key, []byte(value)); err != nil {
		k.t.Errorf("set %q: %v", key, err)
	}
}

func (k kvTx) delete(key string) {
	k.t.Helper()
	if err := k.tx.Delete(k.t.Context(), key); err != nil {
		k.t.Errorf("delete %q: %v", key, err)
	}
}

// has expects a value.
func (k kvTx) has(key, want string) {
	k.t.Helper()
	value, ok, err := k.tx.Get(k.t.Context(), key)
	if err != nil || !ok || string(value) != want {
		k.t.Errorf("get %q: %q, %v, %v; want %q", key, value, ok, err, want)
	}
}

func (k kvTx) lacks(key string) {
	k.t.Helper()
	if value, ok, err := k.tx.Get(k.t.Context(), key); err != nil || ok || value != nil {
		k.t.Errorf("get %q: %q, %v, %v; want nothing", key, value, ok, err)
	}
}

func (k kvTx) lists(prefix, after string, max int, want ...string) {
	k.t.Helper()
	keys, err := k.tx.List(k.t.Context(), prefix, after, max)
	if err != nil || !slices.Equal(keys, want) {
		k.t.Errorf("list %q after %q: %q, %v; want %q", prefix, after, keys, err, want)
	}
}

func (k kvTx) size(keys int, bytes int64) {
	k.t.Helper()
	n, size, err := k.tx.Size(k.t.Context())
	if err != nil || n != keys || size != bytes {
		k.t.Errorf("%d keys, %d bytes, %v; want %d, %d", n, size, err, keys, bytes)
	}
}

func kvReadsOwn(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) {
		k.lacks("a")
		k.set("a", "1")
		k.has("a", "1")
		k.set("a", "two")
		k.has("a", "two")
		k.lists("", "", 10, "a")
		k.delete("a")
		k.lacks("a")
		k.delete("a")
		k.lists("", "", 10)
	})
}

func kvCommits(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) { k.set("a", "1"); k.set("b", "") })
	kvDo(t, kv, true, func(k kvTx) { k.has("a", "1"); k.has("b", ""); k.delete("a") })
	kvDo(t, kv, true, func(k kvTx) { k.lacks("a"); k.has("b", "") })
}

func kvDrops(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) { k.set("a", "1") })
	kvDo(t, kv, false, func(k kvTx) { k.set("a", "2"); k.set("b", "2"); k.delete("a") })
	kvDo(t, kv, false, func(k kvTx) { k.has("a", "1"); k.lacks("b"); k.size(1, 2) })
}

func kvBytes(t *testing.T, kv host.KV) {
	keys := []string{"\x00", "\x00\x00", "%_'\"", "é", "\xff", "\xff\xff",
		strings.Repeat("k", host.MaxKVKey)}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	big := string(bytes.Repeat(all, host.MaxKVValue/len(all)))
	kvDo(t, kv, true, func(k kvTx) {
		for _, key := range keys {
			k.set(key, key+big)
		}
	})
	kvDo(t, kv, true, func(k kvTx) {
		for _, key := range keys {
			k.has(key, key+big)
		}
		k.lists("\xff", "", 10, "\xff", "\xff\xff")
		k.lists("\x00", "\x00", 10, "\x00\x00")
		k.lists("%", "", 10, "%_'\"")
	})
}

func kvLists(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) {
		for _, key := range []string{"b", "a", "ab", "abc", "B", "ac"} {
			k.set(key, "v")
		}
		k.lists("", "", 10, "B", "a", "ab", "abc", "ac", "b")
		k.lists("a", "", 10, "a", "ab", "abc", "ac")
		k.lists("ab", "", 10, "ab", "abc")
		k.lists("a", "ab", 10, "abc", "ac")
		k.lists("a", "ab", 1, "abc")
		k.lists("a", "zz", 10)
		k.lists("a", "A", 2, "a", "ab")
		k.lists("", "b", 10)
		k.lists("x", "", 10)
	})
}

func kvCounts(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) {
		k.size(0, 0)
		k.set("key", "value")
		k.set("é", "ü")
		k.size(2, 12)
		k.set("key", "")
		k.size(2, 7)
	})
	kvDo(t, kv, true, func(k kvTx) { k.size(2, 7); k.delete("é"); k.size(1, 3) })
}

// kvSerial lets many count at once: none of them may be lost.
func kvSerial(t *testing.T, kv host.KV) {
	const callers, times = 8, 10
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range times {
				if err := kvCount(t.Context(), kv); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	kvDo(t, kv, false, func(k kvTx) { k.has("n", strings.Repeat("i", callers*times)) })
}

func kvCount(ctx context.Context, kv host.KV) error {
	tx, err := kv.Begin(ctx)
	if err != nil {
		return err
	}
	n, _, err := tx.Get(ctx, "n")
	if err == nil {
		err = tx.Set(ctx, "n", append(n, 'i'))
	}
	if err != nil {
		return errors.Join(err, tx.End(ctx, false))
	}
	return tx.End(ctx, true)
}

func kvWaits(t *testing.T, kv host.KV) {
	kvDo(t, kv, true, func(k kvTx) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := fmt.Errorf("no more patience")
		cancel(reason)
		tx, err := kv.Begin(ctx)
		if !errors.Is(err, reason) && !errors.Is(err, context.Canceled) || tx != nil {
			t.Errorf("a second transaction: %v, %v", tx, err)
		}
		k.set("a", "1")
	})
	kvDo(t, kv, true, func(k kvTx) { k.has("a", "1") })
}

func kvEnds(t *testing.T, kv host.KV) {
	var ended host.KVTx
	kvDo(t, kv, true, func(k kvTx) { ended = k.tx })
	ctx := t.Context()
	_, _, get := ended.Get(ctx, "a")
	_, list := ended.List(ctx, "", "", 1)
	_, _, size := ended.Size(ctx)
	for _, err := range []error{get, list, size, ended.Set(ctx, "a", nil), ended.Delete(ctx, "a"),
		ended.End(ctx, true)} {
		if err == nil {
			t.Error("a transaction can be used after its end")
		}
	}
	kvDo(t, kv, true, func(k kvTx) { k.lacks("a") })
}
