package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	if _, err := drain(taken.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != agentloop.SdkInvalidArgument {
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

// TestJobText pins that a value that is no JSON, as tools of the caller's own may give, is told as
// the text it is.
func TestJobText(t *testing.T) {
	loop := withJobs(t, &agentloop.Loop{Tools: toolsFunc(
		func(context.Context, plugins.Call) (plugins.Result, error) {
			return plugins.Result{Output: plugins.Output{Value: []byte("plain words")}}, nil
		})})
	if s := finishes(t, loop, begins(t, loop, "f", "{}")); string(s.Result) != `"plain words"` {
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
