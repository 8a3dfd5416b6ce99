package subagents

import (
	"maps"
	"slices"
	"sync"
)

// MaxKept is how many ends a table keeps. One more takes the place of the oldest that nobody has to
// be told of any more; where there is none it is the new one that is lost.
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

	Fatal bool `json:"-"` // somebody must be told of this end
	Open  bool `json:"-"` // it is not the last: the subagent may go on, and is not forgotten when told
	Told  bool `json:"-"` // of one that is open: once at least
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

// Go enters a subagent, or one that goes on, and how to stop it, and has it work in a goroutine of
// its own. In work, End must be called.
func (t *Table) Go(id string, stop, work func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.stops = map[string]Status{}, map[string]func(){}
	}
	t.forget(id)
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
		i := slices.IndexFunc(t.ended, func(id string) bool {
			return !t.all[id].Fatal || t.all[id].Told
		})
		if i < 0 {
			i = MaxKept
		}
		t.forget(t.ended[i])
	}
}

// forget has the lock.
func (t *Table) forget(id string) {
	delete(t.all, id)
	t.ended = slices.DeleteFunc(t.ended, func(e string) bool { return e == id })
}

// Take tells of a subagent. One that has ended, and is not Open, is forgotten with that. The error
// is a *NotFoundError.
func (t *Table) Take(id string) (Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.all[id]
	if !ok {
		return Status{}, &NotFoundError{id}
	}
	switch told := s; {
	case s.Open:
		told.Told = true
		t.all[id] = told
	case s.State != Running:
		t.forget(id)
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
		if s := t.all[id]; !s.Told {
			untold = append(untold, s)
		}
	}
	t.all, t.ended, t.stops = nil, nil, nil
	return untold
}
