package jobs

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	DefaultMaxConcurrent = 4
	MaxOutput            = 16 << 20 // bytes that are captured of one job
	MaxEnded             = 32       // jobs that have ended and were not asked about since

	maxChanges = 1000
)

// Options of a Table. Zero fields are the documented defaults.
type Options struct {
	MaxConcurrent int // jobs that run at a time; 0: DefaultMaxConcurrent
	MaxOutput     int // bytes that are captured of each; 0: MaxOutput
}

// Table has the jobs of one agent. It is safe for concurrent use.
type Table struct {
	max, output int

	mu      sync.Mutex
	jobs    map[string]*Job
	running int
	ended   []*Job // the oldest first
	changes []Status
	closed  bool
}

// New makes a table without jobs. Close must be called once it is not needed any more.
func New(opts *Options) *Table {
	t := &Table{max: DefaultMaxConcurrent, output: MaxOutput, jobs: map[string]*Job{}}
	if opts != nil && opts.MaxConcurrent > 0 {
		t.max = opts.MaxConcurrent
	}
	if opts != nil && opts.MaxOutput > 0 {
		t.output = opts.MaxOutput
	}
	return t
}

// Start has work done, and returns once it has begun or ended, with the job as it was when it
// began. Its error is a *ConcurrencyError, that of work which was refused, or that of ctx, which
// ends work that has not begun yet. ctx does not end a job, which only has its values.
func (t *Table) Start(ctx context.Context, tool string,
	work func(context.Context, *Job) End) (Status, error) {
	j, err := t.open(ctx, tool)
	if err != nil {
		return Status{}, err
	}
	go j.run(work)
	select {
	case <-j.began:
	case <-j.done:
	case <-ctx.Done():
		j.kill(errKilled)
		<-j.done
		t.remove(j)
		return Status{}, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.state == "" {
		return Status{}, j.end.Err
	}
	return Status{ID: j.id, Tool: j.tool, State: Running}, nil
}

// Full gives the *ConcurrencyError of a table that has no slot free, or nil.
func (t *Table) Full() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= t.max {
		return &ConcurrencyError{t.max}
	}
	return nil
}

// open takes a slot.
func (t *Table) open(ctx context.Context, tool string) (*Job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, errors.New("there are no background jobs any more: their table is closed")
	case t.running >= t.max:
		return nil, &ConcurrencyError{t.max}
	}
	j := &Job{number: sequence.Add(1), tool: tool, table: t, output: capture{max: t.output},
		began: make(chan struct{}), done: make(chan struct{})}
	j.id = idOf(time.Now(), j.number)
	j.ctx, j.kill = context.WithCancelCause(context.WithoutCancel(ctx))
	t.jobs[j.id] = j
	t.running++
	return j, nil
}

// begin makes a job of an attempt to start one.
func (t *Table) begin(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.state == "" {
		j.state = Running
		t.changed(j)
		close(j.began)
	}
}

// finish frees the slot of a job whose work has ended.
func (t *Table) finish(j *Job, end End) {
	if end.Err == nil {
		t.begin(j)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(j.done)
	t.running--
	killed := j.ctx.Err() != nil
	j.kill(nil) // lets go of the context
	j.end = end
	if j.state == "" {
		delete(t.jobs, j.id)
		return
	}
	j.state = Exited
	if killed && end.Err != nil {
		j.state = Killed
		j.end.Code = nil
	}
	t.changed(j)
	if t.ended = append(t.ended, j); len(t.ended) > MaxEnded {
		// One that nobody has to be told of makes room.
		i := slices.IndexFunc(t.ended, func(j *Job) bool { return !j.end.Fatal })
		if i < 0 {
			i = MaxEnded // the faults that came first tell why
		}
		t.forget(t.ended[i])
	}
}

// Status tells how a job goes, and what it has said since the last time. Of a job that runs it
// waits for the end, at most so long. A status that tells the end is given once. The error is a
// *NotFoundError, or that of ctx, with which nothing is lost.
func (t *Table) Status(ctx context.Context, id string, wait time.Duration) (Status, error) {
	j := t.find(id)
	if j == nil {
		return Status{}, &NotFoundError{id}
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-j.done:
		case <-timer.C:
		case <-ctx.Done():
			return Status{}, context.Cause(ctx)
		}
	}
	return t.tell(j)
}

// Kill ends a job, waits until it has ended, and gives the status that tells how: a job that came
// to its own end before has that one. The errors are those of Status.
func (t *Table) Kill(ctx context.Context, id string) (Status, error) {
	j := t.find(id)
	if j == nil {
		return Status{}, &NotFoundError{id}
	}
	j.kill(errKilled)
	select {
	case <-j.done:
	case <-ctx.Done():
		return Status{}, context.Cause(ctx)
	}
	return t.tell(j)
}

// List tells which jobs there are, the oldest first, without what they say. It counts as no look.
func (t *Table) List() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.SortedFunc(maps.Values(t.jobs), func(a, b *Job) int {
		return cmp.Compare(a.number, b.number)
	})
	var list []Status
	for _, j := range all {
		if j.state == "" {
			continue
		}
		s := t.status(j)
		s.Unseen = j.output.waiting()
		list = append(list, s)
	}
	return list
}

// changed has the lock.
func (t *Table) changed(j *Job) {
	if len(t.changes) == maxChanges {
		t.changes = slices.Delete(t.changes, 0, 1)
	}
	t.changes = append(t.changes,
		Status{ID: j.id, Tool: j.tool, State: j.state, End: End{Code: j.end.Code}})
}

// Changes gives what has become of jobs since the last time: a status for each that began and for
// each that ended, in their order, with the code and nothing else of the end. They are the latest
// thousand.
func (t *Table) Changes() []Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := t.changes
	t.changes = nil
	return changes
}

// Close kills all jobs and waits until they have ended. No more can be started; those that there
// were can be listed.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	all := slices.Collect(maps.Values(t.jobs))
	t.mu.Unlock()
	for _, j := range all {
		j.kill(errKilled)
	}
	for _, j := range all {
		<-j.done
	}
}

func (t *Table) find(id string) *Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[id]
}

// tell looks at a job, and lets it go when it has ended.
func (t *Table) tell(j *Job) (Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs[j.id] != j { // somebody else was told of its end
		return Status{}, &NotFoundError{j.id}
	}
	s := t.status(j)
	s.Output, s.Truncated = j.output.look()
	s.Output = clean(s.Output)
	if j.state != Running {
		t.forget(j)
	}
	return s, nil
}

// status has the lock.
func (t *Table) status(j *Job) Status {
	return Status{ID: j.id, Tool: j.tool, State: j.state, End: j.end}
}

func (t *Table) remove(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(j)
}

// forget has the lock.
func (t *Table) forget(j *Job) {
	delete(t.jobs, j.id)
	t.ended = slices.DeleteFunc(t.ended, func(e *Job) bool { return e == j })
}
