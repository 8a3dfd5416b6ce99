package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// withJobs is a loop that may have jobs, and is closed with the test.
func withJobs(t *testing.T, loop *agentloop.Loop) *agentloop.Loop {
	t.Helper()
	if loop.Jobs == nil {
		loop.Jobs = &jobs.Options{}
	}
	if loop.Approval.Mode == "" && loop.Approval.Ask == nil && loop.Approval.Rule == nil {
		loop.Approval.Mode = agentloop.Never
	}
	t.Cleanup(func() {
		if err := loop.Close(); err != nil {
			t.Error(err)
		}
	})
	return loop
}

// does is a run in which the model makes one call: what it is told of that.
func does(t testing.TB, loop *agentloop.Loop, name, arguments string) message.Result {
	t.Helper()
	loop.Model = looptest.NewModel(looptest.Call(call("c", name, arguments)), looptest.Say("ok"))
	end(t, loop.Run(t.Context(), user("go")))
	all := results(loop.History())
	return all[len(all)-1]
}

// jobText is what a model reads of a job.
type jobText struct {
	ID, Tool, State string
	Code            *int
	Result          json.RawMessage
	Output          *string
	Truncated       bool
	Error           struct{ Code, Cause, Text string }
}

func read(t testing.TB, r message.Result) (job jobText) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Text), &job); err != nil || r.Outcome != message.OK {
		t.Fatalf("%+v: %v", r, err)
	}
	return job
}

// begins starts a job and gives its ID.
func begins(t testing.TB, loop *agentloop.Loop, tool, arguments string) string {
	t.Helper()
	return read(t, does(t, loop, "background_exec",
		fmt.Sprintf(`{"tool":%q,"arguments":%s}`, tool, arguments))).ID
}

// finishes waits for the end of a job.
func finishes(t testing.TB, loop *agentloop.Loop, id string) jobText {
	t.Helper()
	return read(t, does(t, loop, "background_status", fmt.Sprintf(`{"id":%q,"wait_seconds":60}`, id)))
}

func kills(t testing.TB, loop *agentloop.Loop, id string) jobText {
	t.Helper()
	return read(t, does(t, loop, "background_kill", fmt.Sprintf(`{"id":%q}`, id)))
}

// untilLeft is a reply that comes when its caller leaves.
func untilLeft(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
	<-ctx.Done()
	return plugins.Output{}, ctx.Err()
}

// TestJobsAreOff pins that without them their tools are neither offered nor there.
func TestJobsAreOff(t *testing.T) {
	names := []string{"background_exec", "background_status", "background_list", "background_kill"}
	for _, name := range names {
		off := &agentloop.Loop{}
		if r := does(t, off, name, `{"id":"x","tool":"f"}`); r.Code != "unknown_tool" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestJobTools pins what a model is offered, and that nobody else's tool may have such a name.
func TestJobTools(t *testing.T) {
	model := looptest.NewModel(looptest.Say("ok"))
	loop := withJobs(t, &agentloop.Loop{Model: model})
	end(t, loop.Run(t.Context(), user("go")))
	var offered []string
	for _, spec := range model.Requests()[0].Tools {
		offered = append(offered, spec.Name)
	}
	want := []string{"background_exec", "background_kill", "background_list", "background_status"}
	if !slices.Equal(offered, want) {
		t.Errorf("offered %v", offered)
	}
	taken := &agentloop.Loop{Model: model, Tools: registry(t, reads("background_list", nil))}
	if _, err := drain(taken.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != "configuration" {
		t.Errorf("a tool with the name of the loop's own: %v", err)
	}
}

// TestJob follows one from its start to its end, over several runs.
func TestJob(t *testing.T) {
	steps, said := make(chan string), make(chan struct{})
	f := reads("f", func(_ context.Context, c plugins.Call) (plugins.Output, error) {
		c.Log(abi.LevelWarn, "first")
		for text := range steps {
			c.Output(true, []byte(text))
			said <- struct{}{}
		}
		c.Progress(abi.Progress{Done: 1e6, Total: 2.5e6, Message: "nearly half"})
		c.Progress(abi.Progress{Done: 2})
		return plugins.Output{Value: json.RawMessage(`{"n":123456789012345678901,"t":"<>"}`)}, nil
	})
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f)})
	id := begins(t, loop, "f", `{"a":1}`)
	look := func() jobText { return read(t, does(t, loop, "background_status", `{"id":"`+id+`"}`)) }
	steps <- "half a line \x1b[31m\xc3"
	<-said
	if c := f.Calls()[0]; c.ID != "c" || string(c.Input) != `{"a":1}` || c.Run != "" {
		t.Errorf("the call is %+v", c)
	}
	if s := look(); s.State != "running" || *s.Output != "[warn] first\nhalf a line " || s.Code != nil {
		t.Errorf("the first look: %+v", s)
	}
	if s := look(); *s.Output != "" {
		t.Errorf("a look where nothing is new: %q", *s.Output)
	}
	if have := loop.RunningJobs(); len(have) != 1 || have[0] != (message.Job{ID: id, Tool: "f",
		State: "running"}) {
		t.Errorf("running: %+v", have)
	}
	list := does(t, loop, "background_list", "")
	if want := `{"jobs":[{"id":"` + id + `","tool":"f","state":"running"}]}`; list.Text != want {
		t.Errorf("the list is %s", list.Text)
	}
	steps <- "\xa9"
	<-said
	close(steps)
	s := finishes(t, loop, id)
	if s.State != "exited" || *s.Code != 0 || s.Tool != "f" ||
		*s.Output != "é\n[progress] 1000000 of 2500000 nearly half\n[progress] 2\n" ||
		string(s.Result) != `{"n":123456789012345678901,"t":"<>"}` {
		t.Errorf("the end: %+v, %s", s, s.Result)
	}
	for _, name := range []string{"background_status", "background_kill"} {
		r := does(t, loop, name, `{"id":"`+id+`"}`)
		if r.Code != "background_job_not_found" || r.Text != `there is no background job "`+id+
			`", or its result has been given already` {
			t.Errorf("%s after the end: %+v", name, r)
		}
	}
	if len(loop.RunningJobs()) != 0 {
		t.Error("it still runs")
	}
	isValid(t, loop.History())
}

// TestJobEnds pins what is told of each way that a plugin's job can end.
func TestJobEnds(t *testing.T) {
	list := []hosttest.Plugin{
		{Name: "good", Call: hosttest.Then(hosttest.Print(1, "printed"), hosttest.OK)},
		{Name: "exits0", Call: hosttest.Exit(0)},
		{Name: "exits3", Call: hosttest.Then(hosttest.Print(2, "no luck\n"), hosttest.Exit(3))},
		{Name: "traps", Call: hosttest.Trap},
		{Name: "fails", Call: hosttest.Fail(abi.Failure{Code: "c", Message: "no funds"})},
		{Name: "waits", Call: hosttest.Then(hosttest.Print(1, "waiting"), hosttest.Loop)},
	}
	loop := withJobs(t, &agentloop.Loop{Tools: sandbox(t, host.Limits{}, list...)})
	for _, tt := range []struct{ tool, want string }{
		{"good", `exited 0 "printed" true`},
		{"exits0", `exited 0 "" exit`},
		{"exits3", `exited 3 "no luck\n" exit`},
		{"traps", `exited none "" trap.unreachable`},
		{"fails", `exited none "" failed`},
		{"waits", `killed none ""`},
	} {
		id := begins(t, loop, tt.tool, "{}")
		var s jobText
		if tt.tool == "waits" {
			for s.Output == nil || *s.Output != "waiting" {
				s = read(t, does(t, loop, "background_status", `{"id":"`+id+`"}`))
			}
			s = kills(t, loop, id)
		} else {
			s = finishes(t, loop, id)
		}
		code := "none"
		if s.Code != nil {
			code = fmt.Sprint(*s.Code)
		}
		have := strings.TrimSpace(fmt.Sprintf("%s %s %q %s%s", s.State, code, *s.Output, s.Result,
			s.Error.Cause))
		if have != tt.want {
			t.Errorf("%s: have %s, want %s", tt.tool, have, tt.want)
		}
		if failed := s.Error.Text != ""; failed != (s.Result == nil) {
			t.Errorf("%s: the error is %+v", tt.tool, s.Error)
		}
	}
}

// TestJobContent pins how a job's content is told.
func TestJobContent(t *testing.T) {
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		return plugins.Output{Content: []abi.Block{{Type: "text", Text: "a\nb"}}}, nil
	})
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f)})
	if s := finishes(t, loop, begins(t, loop, "f", "{}")); string(s.Result) != `"a\nb"` {
		t.Errorf("%s", s.Result)
	}
}

// TestJobOutputIsCut pins that a long status is an output like others: cut, and to be read on.
func TestJobOutputIsCut(t *testing.T) {
	f := reads("f", func(_ context.Context, c plugins.Call) (plugins.Output, error) {
		c.Output(false, []byte(strings.Repeat("x", 5000)))
		return plugins.Output{Value: json.RawMessage("1")}, nil
	})
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f), OutputCap: 1 << 10,
		Jobs: &jobs.Options{MaxOutput: 4000}})
	id := begins(t, loop, "f", "{}")
	r := does(t, loop, "background_status", `{"id":"`+id+`","wait_seconds":60}`)
	if len(r.Text) > 1<<10 || r.Handle == "" || r.Bytes < 4000 || r.Bytes > 4200 ||
		!strings.Contains(r.Text, `"state":"exited","code":0,"truncated":true,"result":1,`) {
		t.Errorf("%d bytes of %d: %s", len(r.Text), r.Bytes, r.Text)
	}
	more := does(t, loop, "read_more", `{"handle":"`+r.Handle+`","offset":900}`)
	if more.Outcome != message.OK || !strings.HasPrefix(more.Text, "xxx") {
		t.Errorf("%+v", more)
	}
}

// TestJobSlots pins the cap on both sides, that it is one loop's own, and that an end frees a slot.
// A job for which there is no slot is refused before anybody is asked, and once.
func TestJobSlots(t *testing.T) {
	asked := 0
	ask := func(context.Context, agentloop.Question) (agentloop.Answer, error) {
		asked++
		return agentloop.AnswerAllow, nil
	}
	slow := writes("slow", untilLeft)
	make := func(o *jobs.Options) *agentloop.Loop {
		return withJobs(t, &agentloop.Loop{Tools: registry(t, slow), Jobs: o,
			Approval: agentloop.Approval{Ask: ask}})
	}
	one, other := make(nil), make(&jobs.Options{MaxConcurrent: 1})
	var ids []string
	for range jobs.DefaultMaxConcurrent {
		ids = append(ids, begins(t, one, "slow", "{}"))
	}
	begins(t, other, "slow", "{}")
	for loop, text := range map[*agentloop.Loop]string{
		one: "4 background jobs run already", other: "1 background job runs already"} {
		r := does(t, loop, "background_exec", `{"tool":"slow"}`)
		if r.Code != "background_job_concurrency_exceeded" || !strings.HasPrefix(r.Text, text) {
			t.Errorf("%+v", r)
		}
	}
	if asked != 5 {
		t.Errorf("asked %d times", asked)
	}
	if s := kills(t, one, ids[1]); s.State != "killed" || s.Error.Code != "cancelled" || s.Error.Text !=
		`tool "slow" was interrupted: it may or may not have done its work` {
		t.Errorf("%+v", s)
	}
	begins(t, one, "slow", "{}")
	if err := errors.Join(one.Close(), other.Close()); err != nil || len(slow.Calls()) != 6 {
		t.Errorf("called %d times, closed with %v", len(slow.Calls()), err)
	}
}

// TestJobGates pins that what a job calls passes each gate that it would have to pass by itself. A
// call that does not get through is told as its own and made once.
func TestJobGates(t *testing.T) {
	schema := `{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}}`
	for name, tt := range map[string]struct {
		arguments  string
		approval   agentloop.Approval
		before     func(*message.Call) error
		code, text string // "": it runs
		ran        string // the arguments
	}{
		"it runs":     {arguments: `{"tool":"f","arguments":{"n":1}}`, ran: `{"n":1}`},
		"nothing":     {arguments: `{"tool":"f"}`, ran: `{}`},
		"no tool":     {arguments: `{}`, code: "invalid_arguments", text: `the field "tool" is missing`},
		"unknown":     {arguments: `{"tool":"g"}`, code: "unknown_tool", text: `no tool "g"; there are f`},
		"a job's own": {arguments: `{"tool":"background_list"}`, code: "unknown_tool", text: "there are f"},
		"no object": {arguments: `{"tool":"f","arguments":[1]}`, code: "invalid_arguments",
			text: "at /arguments: want an object"},
		"its schema": {arguments: `{"tool":"f","arguments":{"m":1}}`, code: "invalid_arguments",
			text: `tool "f" was not run: the arguments do not match its schema: at /m: unknown field`},
		"changed by the hook": {arguments: `{"tool":"f"}`, ran: `{"n":2}`,
			before: func(c *message.Call) error { c.Arguments = `{"n":2}`; return nil }},
		"broken by the hook": {arguments: `{"tool":"f"}`, code: "invalid_arguments", text: `tool "f"`,
			before: func(c *message.Call) error { c.Arguments = `[]`; return nil }},
		"denied by the hook": {arguments: `{"tool":"f"}`, code: "denied", text: `tool "f" was not run, ` +
			`the call is denied: no`,
			before: func(*message.Call) error { return &agentloop.DeniedError{Reason: "no"} }},
		"denied by a rule": {arguments: `{"tool":"f"}`, code: "denied", text: `tool "f"`,
			approval: agentloop.Approval{Rule: func(q agentloop.Question) agentloop.Verdict {
				if q.Call.Name == "f" {
					return agentloop.Deny
				}
				return agentloop.NoRule
			}}},
		"nobody to ask": {arguments: `{"tool":"f"}`, code: "denied", text: "nobody can be asked",
			approval: agentloop.Approval{Mode: agentloop.OnRequest}},
		"asked": {arguments: `{"tool":"f","arguments":{"n":3}}`, code: "denied", text: `tool "f"`,
			approval: agentloop.Approval{Ask: func(_ context.Context, q agentloop.Question) (
				agentloop.Answer, error) {
				if q.Call != (message.Call{ID: "c", Name: "f", Arguments: `{"n":3}`}) ||
					q.Tool.Name != "f" || q.Tool.Effect != abi.EffectWrite || q.Subject != `{"n":3}` {
					t.Errorf("the question is %+v", q)
				}
				return agentloop.AnswerDeny, nil
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := writes("f", gives("1"))
			f.Is.InputSchema = schema
			inner := 0
			loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f), Approval: tt.approval})
			loop.Hooks.BeforeTool = func(_ context.Context, c *message.Call) error {
				if c.Name != "f" || tt.before == nil {
					return nil
				}
				inner++
				return tt.before(c)
			}
			r := does(t, loop, "background_exec", tt.arguments)
			if r.Code != tt.code || !strings.Contains(r.Text, tt.text) || r.Name != "background_exec" {
				t.Errorf("%+v", r)
			}
			if tt.before != nil && inner != 1 {
				t.Errorf("the hook saw the call %d times", inner)
			}
			if tt.ran == "" {
				if list := does(t, loop, "background_list", ""); list.Text != `{"jobs":[]}` ||
					len(f.Calls()) != 0 {
					t.Errorf("the tool was called %d times, jobs: %s", len(f.Calls()), list.Text)
				}
				return
			}
			finishes(t, loop, read(t, r).ID)
			if calls := f.Calls(); len(calls) != 1 || string(calls[0].Input) != tt.ran {
				t.Errorf("calls: %+v", calls)
			}
		})
	}
}

// TestJobGateErrors pins that an error which would end the run of a call ends that of its job.
func TestJobGateErrors(t *testing.T) {
	odd := errors.New("odd")
	for name, loop := range map[string]*agentloop.Loop{
		"hook": {Hooks: agentloop.Hooks{BeforeTool: func(_ context.Context, c *message.Call) error {
			if c.Name == "f" {
				return odd
			}
			return nil
		}}},
		"approval": {Approval: agentloop.Approval{Ask: func(context.Context, agentloop.Question) (
			agentloop.Answer, error) {
			return 0, odd
		}}},
	} {
		withJobs(t, loop).Tools = registry(t, writes("f", gives("1")))
		loop.Model = looptest.NewModel(looptest.Call(call("c", "background_exec", `{"tool":"f"}`)))
		_, err := drain(loop.Run(t.Context(), user("go")))
		if other, ok := errors.AsType[*agentloop.OtherError](err); !ok || other.Err != odd ||
			!strings.HasPrefix(other.Where, name) {
			t.Errorf("%s: %v", name, err)
		}
		isValid(t, loop.History())
	}
}

// TestJobHostFault pins that a job which ended by the host's fault ends the run that is told of it,
// or is the error of Close.
func TestJobHostFault(t *testing.T) {
	broken := errors.New("the disk is full")
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		return plugins.Output{}, plugins.HostFault(broken)
	})
	loop := &agentloop.Loop{Tools: registry(t, f), Jobs: &jobs.Options{}}
	id := begins(t, loop, "f", "{}")
	loop.Model = looptest.NewModel(looptest.Call(
		call("c", "background_status", `{"id":"`+id+`","wait_seconds":60}`)))
	if _, err := drain(loop.Run(t.Context(), user("go"))); !errors.Is(err, broken) {
		t.Errorf("the run ended with %v", err)
	}
	second := begins(t, loop, "f", "{}")
	if err := loop.Close(); !errors.Is(err, broken) || !strings.Contains(err.Error(), second) {
		t.Errorf("closed with %v", err)
	}
}

// TestClose pins that it kills and joins all jobs, not while a run is at work, and that the loop is
// closed then.
func TestClose(t *testing.T) {
	slow := reads("slow", untilLeft)
	loop := &agentloop.Loop{Tools: registry(t, slow), Jobs: &jobs.Options{}}
	for range 3 {
		begins(t, loop, "slow", "{}")
	}
	loop.Model = looptest.NewModel(looptest.Say("ok"))
	for ev := range loop.Run(t.Context(), user("go")) {
		if ev.Kind == message.Ended {
			break
		}
		if err := loop.Close(); err != agentloop.ErrBusy || len(loop.RunningJobs()) != 3 {
			t.Errorf("while a run is at work: %v", err)
		}
	}
	for range 2 {
		if err := loop.Close(); err != nil || len(loop.RunningJobs()) != 0 {
			t.Errorf("closed with %v, and %v runs", err, loop.RunningJobs())
		}
	}
	if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != "closed" {
		t.Errorf("a run of a closed loop: %v", err)
	}
	if err := new(agentloop.Loop).Close(); err != nil {
		t.Error(err)
	}
}

// TestJobOutlivesItsRun pins that the end of the run's context does not end a job, and that a start
// which is interrupted leaves none.
func TestJobOutlivesItsRun(t *testing.T) {
	release := make(chan struct{})
	f := reads("f", func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
		<-release
		return plugins.Output{Value: json.RawMessage("1")}, ctx.Err()
	})
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f)})
	ctx, cancel := context.WithCancel(t.Context())
	loop.Model = looptest.NewModel(looptest.Call(call("c", "background_exec", `{"tool":"f"}`)),
		looptest.Say("ok"))
	end(t, loop.Run(ctx, user("go")))
	cancel()
	id := read(t, results(loop.History())[0]).ID
	close(release)
	if s := finishes(t, loop, id); s.State != "exited" || string(s.Result) != "1" {
		t.Errorf("%+v", s)
	}

	ctx, cancel = context.WithCancel(t.Context())
	loop.Tools = neverStarts{cancel}
	loop.Model = looptest.NewModel(looptest.Call(call("c", "background_exec", `{"tool":"f"}`)))
	if _, err := drain(loop.Run(ctx, user("go"))); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if r := results(loop.History()); r[len(r)-1].Outcome != message.Unknown {
		t.Errorf("%+v", r[len(r)-1])
	}
	if list := does(t, loop, "background_list", ""); list.Text != `{"jobs":[]}` {
		t.Errorf("%s", list.Text)
	}
}

// neverStarts is tools that are interrupted before a call has started.
type neverStarts struct{ interrupt func() }

func (neverStarts) Specs() iter.Seq[abi.ToolSpec] { return failing{}.Specs() }

func (n neverStarts) Call(ctx context.Context, _ plugins.Call) (plugins.Result, error) {
	n.interrupt()
	<-ctx.Done()
	return plugins.Result{}, context.Cause(ctx)
}

// TestJobEvents pins when it is told that jobs begin and end: with the turns of a run.
func TestJobEvents(t *testing.T) {
	release := make(chan struct{})
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		<-release
		return plugins.Output{Value: json.RawMessage("1")}, nil
	})
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f)})
	run := func(turns ...looptest.Turn) (told []string) {
		loop.Model = looptest.NewModel(turns...)
		events, err := drain(loop.Run(t.Context(), user("go")))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			switch ev.Kind {
			case message.JobChanged:
				text, _ := json.Marshal(ev.Job)
				told = append(told, string(text))
			case message.TurnCompleted, message.ToolCompleted, message.Ended:
				told = append(told, string(ev.Kind))
			}
		}
		return told
	}
	have := run(looptest.Call(call("c", "background_exec", `{"tool":"f"}`)), looptest.Say("ok"))
	id := read(t, results(loop.History())[0]).ID
	if want := []string{"turn_completed", "tool_completed",
		`{"id":"` + id + `","tool":"f","state":"running"}`, "turn_completed", "ended"}; !slices.Equal(
		have, want) {
		t.Errorf("have %q", have)
	}
	close(release)
	have = run(looptest.Call(call("c", "background_status", `{"id":"`+id+`","wait_seconds":60}`)),
		looptest.Say("ok"))
	want := `{"id":"` + id + `","tool":"f","state":"exited","code":0}`
	if !slices.Contains(have, want) || have[len(have)-1] != "ended" {
		t.Errorf("have %q", have)
	}
}

// TestJobIsRecorded pins that the ledger has a job's call at the place of the call that asked for
// it, so that a conversation whose process died goes on rightly.
func TestJobIsRecorded(t *testing.T) {
	exec := call("c", "background_exec", `{"tool":"pay","arguments":{"n":1}}`)
	history := []message.Message{user("go"), {Role: message.Assistant, Calls: []message.Call{
		call("a", "look", "{}"), exec}}, {Role: message.Tool, Result: &message.Result{CallID: "a",
		Name: "look", Outcome: message.OK, Text: "1"}}}
	for name, tt := range map[string]struct {
		before func(*testing.T, *plugins.Registry) // what the process that died had done
		lost   bool                                // nobody knows what became of it
	}{
		"nothing": {func(*testing.T, *plugins.Registry) {}, false},
		"ended": {func(t *testing.T, r *plugins.Registry) {
			if _, err := r.Call(t.Context(), place("pay", 2)); err != nil {
				t.Fatal(err)
			}
		}, false},
		"interrupted": {func(t *testing.T, r *plugins.Registry) {
			ctx, cancel := context.WithCancel(t.Context())
			c := place("pay", 2)
			c.Started = cancel
			if _, err := r.Call(ctx, c); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pay := writes("pay", func(ctx context.Context, c plugins.Call) (plugins.Output, error) {
				return plugins.Output{Value: json.RawMessage(`"R-1"`)}, ctx.Err()
			})
			tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
			if err := tools.Add(pay, reads("look", gives("1"))); err != nil {
				t.Fatal(err)
			}
			tt.before(t, tools)
			loop := withJobs(t, &agentloop.Loop{ID: "run", Tools: tools,
				Model: looptest.NewModel(looptest.Say("ok"))})
			if err := loop.Restore(history); err != nil {
				t.Fatal(err)
			}
			_, err := drain(loop.Run(t.Context(), user("go on")))
			if tt.lost {
				lost, ok := errors.AsType[*plugins.ReconciliationError](err)
				if !ok || lost.Place != (plugins.Place{Run: "run", Position: 2}) ||
					len(results(loop.History())) != 1 || len(pay.Calls()) != 1 {
					t.Errorf("the run ended with %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := finishes(t, loop, read(t, results(loop.History())[1]).ID)
			if s.State != "exited" || string(s.Result) != `"R-1"` {
				t.Errorf("%+v", s)
			}
			res, err := tools.Call(t.Context(), place("pay", 2))
			if err != nil || !res.Copied || len(pay.Calls()) != 1 {
				t.Errorf("the call was run %d times, and at its place is %+v, %v", len(pay.Calls()), res, err)
			}
		})
	}
}

// TestKilledWriteIsUnresolved pins that of a write which was killed nobody claims to know whether it
// happened.
func TestKilledWriteIsUnresolved(t *testing.T) {
	tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
	if err := tools.Add(writes("pay", untilLeft)); err != nil {
		t.Fatal(err)
	}
	loop := withJobs(t, &agentloop.Loop{ID: "run", Tools: tools})
	kills(t, loop, begins(t, loop, "pay", `{"n":1}`))
	_, err := tools.Call(t.Context(), place("pay", 1))
	if _, ok := errors.AsType[*plugins.ReconciliationError](err); !ok {
		t.Errorf("the same call again: %v", err)
	}
}

// TestJobWait pins the limit of how long a status may wait.
func TestJobWait(t *testing.T) {
	f := reads("f", gives("1"))
	loop := withJobs(t, &agentloop.Loop{Tools: registry(t, f)})
	id := begins(t, loop, "f", "{}")
	for _, seconds := range []string{"-1", "60.5", "61"} {
		r := does(t, loop, "background_status", `{"id":"`+id+`","wait_seconds":`+seconds+`}`)
		if r.Code != "invalid_arguments" || !strings.Contains(r.Text, "at /wait_seconds: want at ") {
			t.Errorf("%s: %+v", seconds, r)
		}
	}
	if s := finishes(t, loop, id); s.State != "exited" { // 60 is allowed
		t.Errorf("%+v", s)
	}
}

// place is a call at a place of a run.
func place(tool string, position int) plugins.Call {
	return plugins.Call{ID: "c", Tool: tool, Input: json.RawMessage(`{"n":1}`), Run: "run",
		Position: position}
}
