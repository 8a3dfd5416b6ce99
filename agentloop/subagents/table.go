package subagents

import (
	"maps"
	"slices"
	"sync"
)

// MaxKept is how many ends a table keeps that nobody has asked for. The oldest go first.
const MaxKept = 256

// State is how far a subagent has come.
type State string

const (
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
)

// Status is what is known of a subagent in the background.
type Status struct {
	ID     string `json:"id"`
	State  State  `json:"status"`
	Output string `json:"output,omitempty"` // of one that has completed
	Error  string `json:"error,omitempty"`  // of one that has failed
	Err    error  `json:"-"`                // the same, for who has begun it
}

// Table has the background subagents of one agent. The zero value is ready; it is safe for
// concurrent use.
type Table struct {
	mu    sync.Mutex
	all   map[string]Status
	ended []string // in the order of their ends
	work  sync.WaitGroup
	stops map[string]func()
}

// Go enters a subagent, and how to stop it, and has it work in a goroutine of its own. In work, End
// must be called.
func (t *Table) Go(id string, stop, work func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.stops = map[string]Status{}, map[string]func(){}
	}
	t.all[id], t.stops[id] = Status{ID: id, State: Running}, stop
	t.work.Go(work)
}

// End enters how a subagent ended.
func (t *Table) End(s Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[s.ID] = s
	delete(t.stops, s.ID)
	if t.ended = append(t.ended, s.ID); len(t.ended) > MaxKept {
		delete(t.all, t.ended[0])
		t.ended = t.ended[1:]
	}
}

// Take tells of a subagent. One that has ended is forgotten with that. The error is a
// *NotFoundError.
func (t *Table) Take(id string) (Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.all[id]
	if !ok {
		return Status{}, &NotFoundError{id}
	}
	if s.State != Running {
		delete(t.all, id)
		t.ended = slices.DeleteFunc(t.ended, func(e string) bool { return e == id })
	}
	return s, nil
}

// Running lists the subagents that have not ended.
func (t *Table) Running() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.stops))
}

// Close stops the subagents that run, waits until their goroutines have ended, and forgets all. It
// gives the ends that nobody was told of, the oldest first. It may be called twice. No Go may come
// while it waits.
func (t *Table) Close() (untold []Status) {
	t.mu.Lock()
	for _, stop := range t.stops {
		stop()
	}
	t.mu.Unlock()
	t.work.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.ended {
		untold = append(untold, t.all[id])
	}
	t.all, t.ended, t.stops = nil, nil, nil
	return untold
}
