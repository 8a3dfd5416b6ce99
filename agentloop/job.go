package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// background is the background jobs of a loop: calls that go on while the conversation does.
type background struct {
	loop   *Loop
	table  *jobs.Table
	tools  []plugins.Tool
	places sync.Map // by a job's ID: where the ledger has its call
}

// keepJobs makes a loop ready for background jobs when they are switched on.
func (l *Loop) keepJobs() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Jobs != nil && l.background == nil {
		l.background = &background{loop: l, table: jobs.New(l.Jobs)}
		l.background.tools = l.background.makeTools()
	}
}

// jobTools are the tools for background jobs, none when they are switched off.
func (l *Loop) jobTools() []plugins.Tool {
	if l.Jobs == nil || l.background == nil {
		return nil
	}
	if offers := l.tree.offers; offers != nil && !offers(BackgroundExec) {
		return nil // a subagent that its definition does not give them to
	}
	return l.background.tools
}

// RunningJobs lists the background jobs that are at work, the oldest first. It may be called at any
// time.
func (l *Loop) RunningJobs() (list []message.Job) {
	l.mu.Lock()
	b := l.background
	l.mu.Unlock()
	if b == nil {
		return nil
	}
	for _, s := range b.table.List() {
		if s.State == jobs.Running {
			list = append(list, jobOf(s))
		}
	}
	return list
}

// has reports whether a job is one of this process.
func (b *background) has(id string) bool {
	return b != nil && slices.ContainsFunc(b.table.List(),
		func(s jobs.Status) bool { return s.ID == id })
}

// closeJobs ends the background jobs. Its error is that of those which the host's fault has ended
// and nobody was told of, and of writes that it cut off.
func (l *Loop) closeJobs() error {
	if l.background == nil {
		return nil
	}
	l.background.table.Close()
	var all []error
	for _, s := range l.background.table.List() {
		if isFatal(s) {
			all = append(all, fmt.Errorf("background job %s of tool %q: %w", s.ID, s.Tool, s.Err))
		}
		if at, ok := l.background.places.Load(s.ID); ok && s.State == jobs.Killed {
			_, err := recall(context.Background(), l.Tools, at.(plugins.Place))
			if unknown := asUnknown(s.ID, err); unknown != nil {
				all = append(all, unknown)
			}
		}
	}
	return errors.Join(all...)
}

// exec starts a call as a job when it has come through all the gates, as by itself. What stands in
// its way is told as it would be of the call itself.
func (b *background) exec(ctx context.Context, in jobInput) (plugins.Output, error) {
	outer := callOf(ctx)
	if err := b.table.Full(); err != nil { // before anybody is asked
		return plugins.Output{}, asItIs(err)
	}
	c := &call{Call: message.Call{ID: outer.ID, Name: in.Tool, Arguments: string(in.Arguments)},
		position: outer.position}
	if err := b.gates().admit(ctx, c); err != nil {
		return plugins.Output{}, asItIs(err)
	}
	tools := b.loop.Tools
	request := plugins.Call{ID: c.ID, Tool: c.Name, Input: json.RawMessage(c.Arguments)}
	if b.loop.ID != "" {
		// The call that asks for the job has no record of its own. When it is made again, its process
		// having died, the job's is found at its place.
		request.Run, request.Position = b.loop.ID, c.position
	}
	s, err := b.table.Start(ctx, c.Name, func(ctx context.Context, j *jobs.Job) jobs.End {
		listen(&request, j)
		result, err := tools.Call(ctx, request)
		end := endOf(result, err)
		end.Call = c.Call
		return end
	})
	if err != nil {
		return plugins.Output{}, asItIs(err)
	}
	if b.loop.ID != "" {
		b.places.Store(s.ID, plugins.Place{Run: request.Run, Position: request.Position})
	}
	return report(jobReport{ID: s.ID, State: s.State})
}

// gates is a run that has the caller's tools to offer, and none of the loop's own.
func (b *background) gates() *run {
	r := &run{loop: b.loop}
	if b.loop.Tools != nil {
		for spec := range b.loop.Tools.Specs() {
			r.offer.list = append(r.offer.list, offered{spec, false})
		}
	}
	slices.SortStableFunc(r.offer.list, func(a, b offered) int {
		return strings.Compare(a.Name, b.Name)
	})
	return r
}

// listen has a job hear what its tool says.
func listen(c *plugins.Call, j *jobs.Job) {
	c.Started = j.Began
	c.Output = func(_ bool, b []byte) { _, _ = j.Write(b) }
	c.Log = func(level abi.Level, text string) {
		j.Line(fmt.Sprintf("[%s] %s", levelNames[min(level, abi.LevelError)], text))
	}
	c.Progress = func(p abi.Progress) {
		line := "[progress] " + plain(p.Done)
		if p.Total != 0 {
			line += " of " + plain(p.Total)
		}
		j.Line(strings.TrimSpace(line + " " + p.Message))
	}
}

// plain is a number without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

var levelNames = [...]string{abi.LevelDebug: "debug", abi.LevelInfo: "info",
	abi.LevelWarn: "warn", abi.LevelError: "error"}

// endOf is how a job's call ended. What gave a result has exited with 0; of what did not, only a
// program's own exit has a code: a sandbox's, or that of a process a Go tool has run.
func endOf(result plugins.Result, err error) jobs.End {
	if err == nil {
		value := result.Value
		if result.Content != nil || len(value) > 0 && !json.Valid(value) {
			value = encode(text(result.Output))
		}
		return jobs.End{Code: new(0), Result: value}
	}
	end := jobs.End{Err: err, Fatal: !FeedsModel(err)}
	type exited interface {
		error
		ExitCode() int // -1: a signal ended it
	}
	if e, ok := errors.AsType[exited](err); ok && e.ExitCode() >= 0 {
		end.Code = new(e.ExitCode())
	}
	return end
}

// isFatal reports whether the run must end that is told of a job's end, as it would if the call
// were not in the background.
func isFatal(s jobs.Status) bool {
	if s.State == jobs.Killed && (s.Err == errLost || errors.Is(s.Err, context.Canceled)) {
		return false
	}
	return s.Err != nil && !FeedsModel(s.Err)
}

// told is a status as the model reads it.
func (b *background) told(ctx context.Context, s jobs.Status, err error) (plugins.Output, error) {
	switch {
	case err != nil:
		return plugins.Output{}, asItIs(err)
	case isFatal(s):
		return plugins.Output{}, asItIs(s.Err)
	}
	r := jobReport{ID: s.ID, Tool: s.Tool, State: s.State, Code: s.Code, Result: s.Result,
		Output: &s.Output, Truncated: s.Truncated}
	switch {
	case s.Err == errLost:
		r.Error = &jobError{"cancelled", "", fmt.Sprintf("the process that tool %q ran in ended "+
			"before it did: it may or may not have done its work", abi.CleanText(s.Tool, maxWord))}
	case s.State == jobs.Killed:
		r.Error = &jobError{"cancelled", "", interrupted(s.Tool)}
	case s.Err != nil:
		r.Error = &jobError{Code(s.Err), plugins.CauseOf(s.Err), plugins.ModelText(s.Err)}
	}
	if s.State == jobs.Exited {
		if err := b.hook(ctx, &s, &r); err != nil {
			return plugins.Output{}, asItIs(err)
		}
	}
	return report(r)
}

// hook has the hook after a tool look at what a job's call gave, as if that had been called by
// itself: what it keeps from the model of a tool must not come in another way.
func (b *background) hook(ctx context.Context, s *jobs.Status, r *jobReport) error {
	hook := b.loop.Hooks.AfterTool
	if hook == nil {
		return nil
	}
	c := s.Call
	c.Name = s.Tool
	was := text(plugins.Output{Value: s.Result})
	res := message.Result{CallID: c.ID, Name: c.Name, Outcome: message.OK, Text: was}
	if r.Error != nil {
		res.Outcome, res.Text, res.Code, res.Cause = message.Error, r.Error.Text, r.Error.Code,
			r.Error.Cause
	}
	if err := hook(ctx, c, &res); err != nil {
		return hookError(ctx, "hook after a tool", err)
	}
	switch {
	case r.Error != nil:
		r.Error.Text = res.Text
	case res.Text == was:
	case was == string(s.Result) && json.Valid([]byte(res.Text)): // it is no string's own text
		r.Result = json.RawMessage(res.Text)
	default:
		r.Result = encode(res.Text)
	}
	return nil
}

// jobOf is a job as an event has it.
func jobOf(s jobs.Status) message.Job {
	return message.Job{ID: s.ID, Tool: s.Tool, State: string(s.State), Code: s.Code}
}

// jobChanges lists which jobs have begun and ended since the last time.
func (l *Loop) jobChanges() (list []message.Job) {
	if b := l.background; b != nil {
		for _, s := range b.table.Changes() {
			list = append(list, jobOf(s))
		}
	}
	return list
}

// tellJobs tells who listens what has become of jobs.
func (r *run) tellJobs() {
	for _, job := range r.loop.jobChanges() {
		r.emit(message.Event{Kind: message.JobChanged, Job: &job})
	}
}

// asItIs marks the error of a call inside a call of the loop's own tools: it is the outer one's as
// well, with its kind and its class. A registry would make it a failure of its tool.
func asItIs(err error) error { return plugins.HostFault(&innerError{err}) }

type innerError struct{ error }

func (e *innerError) Unwrap() error { return e.error }

// inner takes an error out of what asItIs made of it.
func inner(err error) error {
	if e, ok := errors.AsType[*innerError](err); ok {
		return e.error
	}
	return err
}
