package ledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Defaults of a Memory's fields.
const (
	DefaultKeys  = 100_000   // calls held at once
	DefaultBytes = 256 << 20 // bytes of their inputs, outputs and errors held at once
)

// Memory is a ledger that lives as long as the process: until then a key runs at most once, and a
// call of a run too. What it has no room for may not run, ErrFull: forgetting an older call to make
// room would let that one run a second time. The zero value is ready. It is safe for concurrent use
// and must not be copied.
type Memory struct {
	Keys  int   // the most calls held at once, those with a key and those of runs; 0 is DefaultKeys
	Bytes int64 // the most bytes held when another call begins; 0 is DefaultBytes

	mu     sync.Mutex
	last   uint64 // the number given last, to an ID or a run
	calls  int    // held
	bytes  int64  // held
	runs   map[plugins.Place]*memoryCall
	claims map[slot]*memoryCall
	open   map[string]*memoryCall // by ID
}

// memoryCall is a call that is held: as one of a run, or because it has a key.
type memoryCall struct {
	past
	place   plugins.Place
	inRun   bool // somebody may ask for its place again
	settled bool // its claim's result may be copied
	output  plugins.Output
	failure *plugins.Recorded
	from    plugins.Place // where its output is from
	size    int64         // what it counts for in bytes
}

// Begin implements plugins.Ledger.
func (m *Memory) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	if ctx.Err() != nil {
		return plugins.Begun{}, context.Cause(ctx)
	}
	if err := checkIntent(&in); err != nil {
		return plugins.Begun{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &situation{}
	there := m.runs[plugins.Place{Run: in.Run, Position: in.Position}]
	if there != nil {
		s.past = &there.past
	}
	at, claims := slotOf(&in, s.past)
	held := m.claims[at]
	if claims && held != nil {
		s.holder = &holder{held.place, held.hash, held.settled, held.effect, held.ended, held.alive}
	}
	v, err := decide(&in, s)
	switch {
	case err != nil:
		return plugins.Begun{}, err
	case v.step == stepReplay:
		return there.begun(), nil
	}
	if there == nil && (v.step == stepRun || in.Run != "") { // it will be held
		if err := m.room(); err != nil {
			return plugins.Begun{}, err
		}
	}
	if v.step == stepCopy {
		return m.copy(&in, &v, held), nil
	}
	if v.free {
		m.release(held)
	}
	return m.start(&in, &v, there), nil
}

// Recall implements plugins.Recaller.
func (m *Memory) Recall(ctx context.Context, at plugins.Place) (plugins.Begun, error) {
	if ctx.Err() != nil {
		return plugins.Begun{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, there := &situation{}, m.runs[at]
	if there != nil {
		s.past = &there.past
	}
	done, err := s.recall(at)
	if err != nil || !done {
		return plugins.Begun{}, err
	}
	return there.begun(), nil
}

// room refuses a further call when there is no room for one.
func (m *Memory) room() error {
	switch calls, bytes := orDefault(m.Keys, DefaultKeys), orDefault(m.Bytes, DefaultBytes); {
	case m.calls >= calls:
		return fmt.Errorf("%w: calls held: %d", ErrFull, m.calls)
	case m.bytes >= bytes:
		return fmt.Errorf("%w: bytes held: %d", ErrFull, m.bytes)
	}
	if m.open == nil {
		m.runs, m.claims = map[plugins.Place]*memoryCall{}, map[slot]*memoryCall{}
		m.open = map[string]*memoryCall{}
	}
	return nil
}

func orDefault[N int | int64](n, def N) N {
	if n <= 0 {
		return def
	}
	return n
}

// start holds a call that may run.
func (m *Memory) start(in *plugins.Intent, v *verdict, c *memoryCall) plugins.Begun {
	m.last++
	id := strconv.FormatUint(m.last, 10)
	if c == nil {
		c = m.hold(in, v)
		if !c.inRun {
			c.place = plugins.Place{Run: newRun(), Position: 1}
		}
		m.resize(c, int64(len(c.input)))
	}
	c.slot, c.effect, c.alive, c.ended = v.slot, v.effect, true, false
	if v.claim {
		m.claims[v.slot] = c
	}
	m.open[id] = c
	return plugins.Begun{ID: id, Key: v.slot.key, Place: c.place}
}

// hold makes a call one that is held.
func (m *Memory) hold(in *plugins.Intent, v *verdict) *memoryCall {
	c := &memoryCall{place: plugins.Place{Run: in.Run, Position: in.Position}, inRun: in.Run != ""}
	c.slot, c.hash, c.effect, c.input = v.slot, in.InputHash, v.effect, bytes.Clone(in.Input)
	m.calls++
	if c.inRun {
		m.runs[c.place] = c
	}
	return c
}

func (m *Memory) resize(c *memoryCall, size int64) {
	m.bytes += size - c.size
	c.size = size
}

// copy gives a call the output of the one that holds its key, and keeps it for the call's place.
func (m *Memory) copy(in *plugins.Intent, v *verdict, held *memoryCall) plugins.Begun {
	if in.Run != "" {
		c := m.runs[plugins.Place{Run: in.Run, Position: in.Position}]
		if c == nil {
			c = m.hold(in, v)
		}
		c.slot, c.ended, c.known, c.input = v.slot, true, true, nil
		c.output, c.from = held.output, held.place
		m.resize(c, size(c.output))
	}
	begun := held.begun()
	begun.Key = v.slot.key
	return begun
}

// begun is the answer of a call that is done.
func (c *memoryCall) begun() plugins.Begun {
	b := plugins.Begun{Done: true, Key: c.slot.key, Output: copyOutput(c.output), Place: c.place}
	if c.from.Run != "" {
		b.Place = c.from
	}
	if c.failure != nil {
		b.Err = c.failure.Err()
	}
	return b
}

// End implements plugins.Ledger.
func (m *Memory) End(_ context.Context, id string, e plugins.Completion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.open[id]
	if c == nil {
		return fmt.Errorf("%w: no call is open under the ID %q", ErrNotFound, id)
	}
	delete(m.open, id)
	tooLarge := checkCompletion(&e)
	m.finish(c, &e)
	switch {
	case e.State == plugins.Done:
		c.settled = true
	case e.State == plugins.Released:
		m.release(c)
	}
	return tooLarge
}

// finish keeps what became of a call.
func (m *Memory) finish(c *memoryCall, e *plugins.Completion) {
	c.alive, c.ended, c.known, c.failure = false, true, e.Err == nil, nil
	if e.Err == nil {
		c.output = copyOutput(e.Output)
	} else {
		failure := plugins.Record(e.Err)
		c.known, c.failure = failure.Kind != "", &failure
	}
	n := size(c.output)
	if c.failure != nil {
		n += int64(len(c.failure.Text) + len(c.failure.Model))
	}
	if c.known {
		c.input = nil // only who must find out what happened needs it
	}
	m.resize(c, n+int64(len(c.input)))
}

// release takes a call's key from it, if it has one. Nothing else holds a call outside any run.
func (m *Memory) release(c *memoryCall) {
	if m.claims[c.slot] == c {
		delete(m.claims, c.slot)
	}
	if !c.inRun {
		m.calls--
		m.resize(c, 0)
	}
}

// Release frees a key whose call is over, for whoever has found out what became of it. It reports
// whether there was one; a call that still runs keeps its key. What is known of the call's place in
// a run stays.
func (m *Memory) Release(scope, tool, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.claims[slot{scope, tool, key}]
	if c == nil || c.alive {
		return false
	}
	m.release(c)
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
