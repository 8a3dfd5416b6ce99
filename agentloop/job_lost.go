package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// lostJob is a background job that an earlier process began, as the history has it: the model was
// told its ID, and not its end. What became of it is in the ledger, at the place of the call that
// began it. Or it is a subagent in the background, which has a run of its own there.
type lostJob struct {
	id, tool string
	agent    bool
	position int  // of that call, among all calls of the conversation, from 1
	found    bool // nobody needs to find out first whether it happened
}

// recaller is Tools whose ledger tells what became of a call of an earlier process.
type recaller interface {
	Recall(ctx context.Context, at plugins.Place) (plugins.Result, error)
}

func recall(ctx context.Context, tools Tools, at plugins.Place) (plugins.Result, error) {
	if t, ok := tools.(recaller); ok && at.Run != "" {
		return t.Recall(ctx, at)
	}
	return plugins.Result{}, plugins.ErrNotRecorded
}

// A jobReport or subagents.Status as it begins, whatever has been cut from its end: ID and state.
var reported = regexp.MustCompile(
	`^\{"id":"([^"\\]*)",(?:"tool":"(?:[^"\\]|\\.)*",)?"(?:state|status)":"(\w+)"`)

// leftJobs are those that a history leaves: begun, and without an end.
func leftJobs(history []message.Message) (lost []lostJob) {
	calls, position := map[string]message.Call{}, map[string]int{} // of the last turn, by their IDs
	count := 0
	for i := range history {
		m := &history[i]
		if len(m.Calls) > 0 {
			clear(calls)
		}
		for _, c := range m.Calls {
			count++
			calls[c.ID], position[c.ID] = c, count
		}
		if m.Result == nil || m.Result.Outcome != message.OK {
			continue
		}
		c := calls[m.Result.CallID]
		told := reported.FindStringSubmatch(m.Result.Text)
		if told == nil {
			continue
		}
		switch running := told[2] == string(jobs.Running); {
		case c.Name == BackgroundExec && running:
			var in jobInput
			_ = json.Unmarshal([]byte(c.Arguments), &in) // it was read before
			lost = append(lost, lostJob{id: told[1], tool: in.Tool, position: position[c.ID]})
		case c.Name == SpawnSubagent && running:
			lost = append(lost, lostJob{id: told[1], agent: true})
		case (c.Name == BackgroundStatus || c.Name == BackgroundKill || c.Name == SubagentStatus) &&
			!running:
			lost = slices.DeleteFunc(lost, func(j lostJob) bool { return j.id == told[1] })
		}
	}
	return lost
}

// lostOnes are those whose end the model has not been told.
func (l *Loop) lostOnes() []lostJob {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

// takeLost forgets one, since its end is told now.
func (l *Loop) takeLost(id string) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.lost)
	l.lost = slices.DeleteFunc(l.lost, func(j lostJob) bool { return j.id == id })
	return len(l.lost) < n
}

// findJobs stops a run before it begins when a background job of an earlier process was a write and
// nobody knows whether it happened: the model would take it for not done.
func (l *Loop) findJobs(ctx context.Context) error {
	for i, j := range l.lostOnes() {
		if j.found {
			continue
		}
		err := l.findInJob(ctx, plugins.Place{Run: l.ID, Position: j.position}, j.id)
		if j.agent {
			err = l.findInAgent(ctx, j.id)
		}
		if err != nil && ctx.Err() != nil {
			return stopped(ctx)
		}
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.lost[i].found = true
		l.mu.Unlock()
	}
	return nil
}

// findInJob tells whether somebody must find out about a job's call.
func (l *Loop) findInJob(ctx context.Context, at plugins.Place, id string) error {
	_, err := recall(ctx, l.Tools, at)
	if unknown := asUnknown(id, err); unknown != nil {
		return unknown
	}
	if err != nil && err != plugins.ErrNotRecorded && !FeedsModel(err) {
		return fmt.Errorf("background job %s: %w", id, err)
	}
	return nil
}

// errLost is the end of a job of an earlier process of which no more is known.
var errLost = errors.New("its process ended before it did")

// endOfLost is how a job of an earlier process ended, by what the ledger has of it.
func (l *Loop) endOfLost(ctx context.Context, j lostJob) (jobs.Status, error) {
	s := jobs.Status{ID: j.id, Tool: j.tool, State: jobs.Exited}
	result, err := recall(ctx, l.Tools, plugins.Place{Run: l.ID, Position: j.position})
	switch unknown := asUnknown(j.id, err); {
	case unknown != nil:
		return s, unknown
	case err == plugins.ErrNotRecorded:
		s.State, s.Err = jobs.Killed, errLost
	case err != nil && !FeedsModel(err):
		return s, err
	default:
		s.End = endOf(result, err)
	}
	return s, nil
}

// find gives a job's status: that of a job of this process, or once the end of an earlier one's.
func (b *background) find(ctx context.Context, id string,
	here func() (jobs.Status, error)) (jobs.Status, error) {
	s, err := here()
	if _, none := errors.AsType[*jobs.NotFoundError](err); !none {
		return s, err
	}
	l := b.loop
	list := l.lostOnes()
	i := slices.IndexFunc(list, func(j lostJob) bool { return j.id == id && !j.agent })
	if i < 0 {
		return s, err
	}
	if s, err = l.endOfLost(ctx, list[i]); err == nil {
		l.takeLost(id)
	}
	return s, err
}

// jobUnknownError is a background job that was a write and of which nobody knows whether it
// happened.
type jobUnknownError struct {
	id  string
	err *plugins.ReconciliationError
}

// maxInputShown is how much of a call's input the text of an error shows, in characters.
const maxInputShown = 200

func (e *jobUnknownError) Error() string {
	return fmt.Sprintf("background job %s of tool %q, recorded at %s, did not come to its end, and "+
		"nobody knows whether its effect happened; find out and record it; its input was %s", e.id,
		e.err.Tool, e.err.Place, abi.CleanText(string(e.err.Input), maxInputShown))
}

func (e *jobUnknownError) Unwrap() error { return e.err }

// asUnknown is an error of recall as that of a job, when it is a write nobody knows about; else nil.
func asUnknown(id string, err error) error {
	if lost, ok := errors.AsType[*plugins.ReconciliationError](err); ok {
		return &jobUnknownError{id, lost}
	}
	return nil
}
