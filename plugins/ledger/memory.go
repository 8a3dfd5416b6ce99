package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Defaults of a Memory's fields.
const (
	DefaultKeys  = 100_000   // keys held at once
	DefaultBytes = 256 << 20 // bytes of outputs held at once
)

// ErrFull is a claim that a Memory has no room for. Nothing was recorded: dropping an older key to
// make room would let its call run a second time.
var ErrFull = errors.New("the ledger in memory is full")

// Memory is a ledger that lives as long as the process: a key runs at most once until then. The
// zero value is ready. It is safe for concurrent use and must not be copied.
type Memory struct {
	Keys  int   // the most keys held at once; 0 is DefaultKeys
	Bytes int64 // the most bytes of outputs held when another key is claimed; 0 is DefaultBytes

	mu     sync.Mutex
	last   uint64 // the ID given last
	held   int64  // bytes of outputs
	claims map[slot]*claim
	ids    map[string]*claim // those not settled
}

// slot is what a claim is unique over.
type slot struct{ scope, tool, key string }

type claim struct {
	slot   slot
	hash   [sha256.Size]byte
	place  plugins.Place
	state  state
	output plugins.Output
}

type state uint8

const (
	running state = iota
	done
	unknown
)

// Begin implements plugins.Ledger.
func (m *Memory) Begin(ctx context.Context, c plugins.Intent) (plugins.Begun, error) {
	if err := ctx.Err(); err != nil {
		return plugins.Begun{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slot{c.Scope, c.Tool, c.Key}
	switch old := m.claims[at]; {
	case old == nil:
		return m.take(at, c)
	case old.hash != c.InputHash && old.state == done:
		return plugins.Begun{}, &plugins.CollisionError{Tool: c.Tool, Key: c.Key,
			Holder: old.place}
	case old.state == done:
		return plugins.Begun{Done: true, Key: c.Key, Output: copyOutput(old.output), Place: old.place}, nil
	default:
		return plugins.Begun{}, &plugins.InFlightError{Tool: c.Tool, Key: c.Key,
			Holder: old.place, Unresolved: old.state == unknown}
	}
}

// take records a claim of a free slot.
func (m *Memory) take(at slot, c plugins.Intent) (plugins.Begun, error) {
	switch keys, bytes := orDefault(m.Keys, DefaultKeys), orDefault(m.Bytes, DefaultBytes); {
	case len(m.claims) >= keys:
		return plugins.Begun{}, fmt.Errorf("%w: %d keys", ErrFull, keys)
	case m.held >= bytes:
		return plugins.Begun{}, fmt.Errorf("%w: %d bytes", ErrFull, bytes)
	}
	if m.claims == nil {
		m.claims, m.ids = map[slot]*claim{}, map[string]*claim{}
	}
	m.last++
	id := strconv.FormatUint(m.last, 10)
	taken := &claim{slot: at, hash: c.InputHash, place: plugins.Place{Run: c.Run, Position: c.Position}}
	if c.Run == "" {
		taken.place = plugins.Place{Run: "memory-" + id, Position: 1}
	}
	m.claims[at], m.ids[id] = taken, taken
	return plugins.Begun{ID: id, Key: c.Key, Place: taken.place}, nil
}

func orDefault[N int | int64](n, def N) N {
	if n <= 0 {
		return def
	}
	return n
}

// End implements plugins.Ledger.
func (m *Memory) End(_ context.Context, id string, s plugins.Completion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.ids[id]
	if c == nil {
		return fmt.Errorf("no open claim %q", id)
	}
	delete(m.ids, id)
	switch s.State {
	case plugins.Done:
		c.state, c.output = done, copyOutput(s.Output)
		m.held += size(c.output)
	case plugins.Released:
		delete(m.claims, c.slot)
	default:
		c.state = unknown
	}
	return nil
}

// Release frees a key whose call is over, for whoever has found out what became of it. It reports
// whether there was one; a call that still runs keeps its key.
func (m *Memory) Release(scope, tool, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slot{scope, tool, key}
	c := m.claims[at]
	if c == nil || c.state == running {
		return false
	}
	m.held -= size(c.output)
	delete(m.claims, at)
	return true
}

func copyOutput(o plugins.Output) plugins.Output {
	o.Value = bytes.Clone(o.Value)
	o.Content = slices.Clone(o.Content)
	for i := range o.Content {
		o.Content[i].Data = bytes.Clone(o.Content[i].Data)
	}
	return o
}

func size(o plugins.Output) int64 {
	n := len(o.Value)
	for _, b := range o.Content {
		n += blockSize(b)
	}
	return int64(n)
}

func blockSize(b abi.Block) int { return len(b.Text) + len(b.Data) + len(b.MIME) + len(b.Name) }
