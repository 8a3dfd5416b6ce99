package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

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

// place is a call at a place of a run.
func place(tool string, position int) plugins.Call {
	return plugins.Call{ID: "c", Tool: tool, Input: json.RawMessage(`{"n":1}`), Run: "run",
		Position: position}
}
