package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// State is what a job is at.
type State string

const (
	Running State = "running"
	Exited  State = "exited" // by itself, well or not
	Killed  State = "killed" // and without a result: what ends well in time has exited
)

// End is how a job's work ended.
type End struct {
	Call   message.Call    // that the work was, if it was one
	Code   *int            // nil: it has none, as what crashed
	Result json.RawMessage // of work that went well
	Err    error           // of work that did not
	Fatal  bool            // somebody must be told of Err
}

// Status is what there is to say of a job. The End is set once it is not running any more.
type Status struct {
	ID, Tool string
	State    State
	End

	Output    string // what is new of what it says, cleaned
	Truncated bool   // it has said more than is captured; the rest is lost
	Unseen    int    // bytes of output that the next status gives; of a List only
}

// ConcurrencyError is a job that was not started since there is no slot for it.
type ConcurrencyError struct{ MaxConcurrent int }

func (e *ConcurrencyError) Error() string {
	if e.MaxConcurrent == 1 {
		return "1 background job runs already, which is as many as may"
	}
	return fmt.Sprintf("%d background jobs run already, which is as many as may", e.MaxConcurrent)
}

// NotFoundError is an ID that no job has: there was none, or its end has been told.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no background job %q, or its result has been given already", e.ID)
}

// errKilled is why a job's context is over.
var errKilled = fmt.Errorf("the job was killed: %w", context.Canceled)

// errGone is the end of work that ended its goroutine.
var errGone = errors.New("the job ended its goroutine and gave no result")

// Job is a job as its work sees it. Its methods may be called at any time and by several
// goroutines at once, and they do not wait.
type Job struct {
	number   uint64
	id, tool string
	table    *Table
	output   capture
	ctx      context.Context // the work's
	kill     context.CancelCauseFunc
	began    chan struct{} // closed when there is a job, and not only an attempt to start one
	done     chan struct{} // closed when the work has ended; what follows holds from then on

	state State // under the table's lock
	end   End
}

// Began tells that the work is going on and nothing stands in its way any more. Work that ends with
// an error before was refused: no job comes of it.
func (j *Job) Began() { j.table.begin(j) }

// Write takes what the work prints. It always takes all.
func (j *Job) Write(b []byte) (int, error) {
	j.output.write(b)
	return len(b), nil
}

// Line takes a line that is to stand alone.
func (j *Job) Line(text string) { j.output.line(text) }

// run carries out the work.
func (j *Job) run(work func(context.Context, *Job) End) {
	end := End{Err: errGone}
	defer func() { j.table.finish(j, end) }()
	end = work(j.ctx, j)
}

// sequence counts the jobs of this process, so that no two have the same ID.
var sequence atomic.Uint64

// idOf is the ID of a job by its time, which tells jobs of one process from another's, and number.
func idOf(started time.Time, number uint64) string {
	return fmt.Sprintf("bg-%x-%x", started.UnixMilli(), number)
}
