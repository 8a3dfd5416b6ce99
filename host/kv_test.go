package host_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/kv"
)

// rememberer is a guest with a space.
func rememberer(t testing.TB, space host.KV, limits host.Limits) *host.Module {
	return grantGuest(t, host.Policy{Limits: limits, Grants: host.Grants{KV: space}})
}

func openStore(t *testing.T, dir string) *kv.Store {
	t.Helper()
	s, err := kv.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKVIsKept remembers from call to call, from one start to the next, and nobody else's.
func TestKVIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kv")
	m := rememberer(t, openStore(t, dir).Space("a"), host.Limits{})
	expect(t, m, []step{
		{"get k", "ok none"},
		{"set k one", "ok"},
		{"get k", "ok one"},
		{"set k two", "ok"},
		{"set l three", "ok"},
		{"delete l", "ok"},
		{"set m four", "ok"},
		{"set ma five", "ok"},
		{"keys 0", "ok [k m ma] false"},
		{"keys 2", "ok [k m] true"},
		{"keys 1 - k", "ok [m] true"},
		{"keys 0 m", "ok [m ma] false"},
	})
	steps := []step{{"get k", "ok two"}, {"get l", "ok none"}, {"keys 5", "ok [k m ma] false"}}
	expect(t, m, steps)
	expect(t, rememberer(t, openStore(t, dir).Space("a"), host.Limits{}), steps)
	expect(t, rememberer(t, openStore(t, dir).Space("b"), host.Limits{}),
		[]step{{"keys 0", "ok [] false"}})
}

// TestKVIsDropped ends calls that wrote in all ways but with a result.
func TestKVIsDropped(t *testing.T) {
	m := rememberer(t, openStore(t, filepath.Join(t.TempDir(), "kv")).Space("a"),
		host.Limits{Time: 300 * time.Millisecond})
	expect(t, m, []step{{"set k before", "ok"}})
	for _, test := range []struct{ end, last string }{
		{"fail", "get k"}, {"invalid", "get k"}, {"trap", "get k"}, {"exit", "get k"}, {"", "spin"},
	} {
		_, stats, err := runTo(t.Context(), m, nil, test.end, "set k after", "set l after",
			"delete m", test.last)
		if err == nil || stats.Effects != (host.Effects{KVWrites: 3}) {
			t.Errorf("%s: %+v, %v", test.end, stats.Effects, err)
		}
		expect(t, m, []step{{"get k", "ok before"}, {"keys 0", "ok [k] false"}})
	}
	_, stats, err := runTo(t.Context(), m, nil, "", "get k", "keys 0")
	if err != nil || stats.Effects.Any() {
		t.Errorf("who only reads: %+v, %v", stats.Effects, err)
	}
}

func TestKVQuotas(t *testing.T) {
	key := func(n int) string { return strings.Repeat("k", n) }
	const head = 5 // bytes of a long value's msgpack form before it
	full := func(format string, args ...any) string {
		return "error quota: the key-value space " + fmt.Sprintf(format, args...)
	}
	m := rememberer(t, kv.Memory(), host.Limits{KVKeys: 3})
	expect(t, m, []step{
		{"set " + key(host.MaxKVKey) + " v", "ok"},
		{"set " + key(host.MaxKVKey+1) + " v",
			"error too_large: a key of 513 bytes, more than 512"},
		{"get " + key(host.MaxKVKey+1), "error too_large: a key of 513 bytes, more than 512"},
		{"keys 0 " + key(host.MaxKVKey+1), "error too_large: a key of 513 bytes, more than 512"},
		{fmt.Sprintf("fillkey v %d", host.MaxKVValue-head), "ok"},
		{fmt.Sprintf("fillkey w %d", host.MaxKVValue-head+1),
			"error too_large: a value of 1048577 bytes (1.0 MiB), more than 1 MiB"},
		{fmt.Sprintf("fillkey w %d", 2*host.MaxKVValue),
			"error too_large: the request has 2097177 bytes (2.0 MiB), more than 1026 KiB"},
		{"set w 1", "ok"},
		{"set x 1", full("has 3 keys, its limit (limits.kv_keys)")},
		{"set w 2", "ok"},
		{"delete w", "ok"},
		{"set x 1", "ok"},
	})
	expect(t, m, []step{{"set y 1", full("has 3 keys, its limit (limits.kv_keys)")}})

	m = rememberer(t, kv.Memory(), host.Limits{KVBytes: 100})
	expect(t, m, []step{
		{"fillkey k 97", "ok"}, // with its head of two, and the key
		{"fillkey k 98", full("would have 101 bytes, more than 100 bytes (limits.kv_bytes)")},
		{"set a b", full("would have 103 bytes, more than 100 bytes (limits.kv_bytes)")},
		{"fillkey k 90", "ok"},
		{"set a b", "ok"},
	})
	expect(t, m, []step{{"fillkey k 96",
		full("would have 102 bytes, more than 100 bytes (limits.kv_bytes)")}})
	// A limit that was lowered lets a space shrink.
	space := kv.Memory()
	expect(t, rememberer(t, space, host.Limits{}), []step{{"fillkey k 500", "ok"},
		{"set a b", "ok"}})
	expect(t, rememberer(t, space, host.Limits{KVBytes: 100, KVKeys: 1}), []step{
		{"fillkey k 400", "ok"},
		{"set a c", "ok"},
		{"set a cd", full("would have 408 bytes, more than 100 bytes (limits.kv_bytes)")},
		{"delete k", "ok"},
		{"set a cd", "ok"},
		{"set b c", full("has 1 keys, its limit (limits.kv_keys)")},
	})
}

func TestKVListIsBounded(t *testing.T) {
	m := rememberer(t, kv.Memory(), host.Limits{})
	var lines []string
	for i := range host.MaxKVList + 1 {
		lines = append(lines, fmt.Sprintf("set k%04d v", i))
	}
	run(t, m, lines...)
	for _, limit := range []int{0, host.MaxKVList, host.MaxKVList + 1} {
		got := run(t, m, fmt.Sprintf("keys %d", limit))[0]
		if !strings.HasSuffix(got, "k0999] true") {
			t.Errorf("limit %d: ...%s", limit, got[len(got)-30:])
		}
	}
}

// TestKVCallsTakeTurns counts from many calls at once: what one read is still so when it writes.
func TestKVCallsTakeTurns(t *testing.T) {
	m := rememberer(t, openStore(t, filepath.Join(t.TempDir(), "kv")).Space("a"), host.Limits{})
	const callers, times = 8, 8
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range times {
				if got, _, err := runTo(t.Context(), m, nil, "", "count n"); err != nil ||
					got[0] != "ok" {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	expect(t, m, []step{{"get n", "ok " + strings.Repeat("i", callers*times)}})
}

// TestKVWaitIsTheGuests has a space that another holds: the guest's own time runs.
func TestKVWaitIsTheGuests(t *testing.T) {
	space := kv.Memory()
	tx, err := space.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := rememberer(t, space, host.Limits{Time: 50 * time.Millisecond})
	_, _, err = runTo(t.Context(), m, nil, "", "get k")
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "time" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err = runTo(ctx, m, nil, "", "get k"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := tx.End(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	expect(t, m, []step{{"get k", "ok none"}})
}

// brokenKV fails where it is told to.
type brokenKV struct {
	host.KV
	begin, end error
	panics     bool
}

func (b *brokenKV) Begin(ctx context.Context) (host.KVTx, error) {
	if b.begin != nil {
		return nil, b.begin
	}
	tx, err := b.KV.Begin(ctx)
	return &brokenTx{tx, b}, err
}

type brokenTx struct {
	host.KVTx
	of *brokenKV
}

func (b *brokenTx) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if b.of.panics {
		panic("a broken store")
	}
	return b.KVTx.Get(ctx, key)
}

func (b *brokenTx) End(ctx context.Context, commit bool) error {
	return errors.Join(b.KVTx.End(ctx, commit && b.of.end == nil), b.of.end)
}

func TestBrokenStores(t *testing.T) {
	broken := errors.New("the disk is gone")
	isOwn := func(err error) bool { // of the host, and not the guest's
		_, guests := errors.AsType[causeNamer](err)
		return err != nil && !guests
	}
	space := &brokenKV{KV: kv.Memory()}
	m := rememberer(t, space, host.Limits{})

	space.begin = broken
	expect(t, m, []step{{"set k v", "error internal: the key-value space cannot be used now"}})
	space.begin, space.end = nil, broken
	reply, _, err := m.Call(t.Context(), abi.Request{Tool: "run", Attempt: 1,
		Input: lines(t, "set k v")}, nil, nil)
	if !errors.Is(err, broken) || !isOwn(err) || reply != nil {
		t.Errorf("a commit that fails: %q, %v", reply, err)
	}
	expect(t, m, []step{{"get k", "ok none"}}) // a reading call has nothing to keep
	space.end, space.panics = nil, true
	if _, _, err := runTo(t.Context(), m, nil, "", "get k"); !isOwn(err) ||
		!strings.Contains(err.Error(), "a broken store") {
		t.Errorf("a store that panics: %v", err)
	}
	space.panics = false
	expect(t, m, []step{{"set k v", "ok"}})
}
