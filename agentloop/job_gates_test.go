package agentloop_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

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
		"it runs": {arguments: `{"tool":"f","arguments":{"n":1}}`, ran: `{"n":1}`},
		"nothing": {arguments: `{"tool":"f"}`, ran: `{}`},
		"no tool": {arguments: `{}`, code: "invalid_arguments", text: `the field "tool" is missing`},
		"unknown": {arguments: `{"tool":"g"}`, code: "unknown_tool", text: `no tool "g"; there are f`},
		"a job's own": {arguments: `{"tool":"background_list"}`, code: "unknown_tool",
			text: "there are f"},
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

// TestJobResultHook pins that the hook after a tool has the last word on what a job's call gave, and
// is shown the call as it ran; and that nothing gets past one that fails.
func TestJobResultHook(t *testing.T) {
	broken := errors.New("no scanner")
	hide := func(r *message.Result) error {
		r.Text = strings.ReplaceAll(r.Text, "hunter2", "***")
		return nil
	}
	becomes := func(text string) func(*message.Result) error {
		return func(r *message.Result) error {
			r.Text = text
			return nil
		}
	}
	for name, tt := range map[string]struct {
		reply        reply
		hook         func(*message.Result) error
		shown        string // to the hook
		result, text string // of the job: what it gave, or the text of its error
	}{
		"a string":     {gives(`"it is hunter2"`), hide, "it is hunter2", `"it is ***"`, ""},
		"an object":    {gives(`{"pw":"hunter2"}`), hide, `{"pw":"hunter2"}`, `{"pw":"***"}`, ""},
		"left alone":   {gives(`{"n": 1}`), hide, `{"n": 1}`, `{"n":1}`, ""},
		"1 as a text":  {gives(`"2"`), becomes("1"), "2", `"1"`, ""},
		"no JSON left": {gives(`[1]`), becomes("gone"), "[1]", `"gone"`, ""},
		"an error": {fails(errors.New("hunter2 is wrong")), hide, `tool "f" failed: it reported: "hunter2 is wrong"; ` +
			`its effect may or may not have happened`, "", `tool "f" failed: it reported: "*** is wrong"; ` +
			`its effect may or may not have happened`},
		"fails": {gives(`"it is hunter2"`), func(*message.Result) error { return broken }, "it is hunter2",
			"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			loop := withJobs(t, &agentloop.Loop{Tools: registry(t, writes("f", tt.reply))})
			seen := 0
			loop.Hooks = agentloop.Hooks{
				BeforeTool: func(_ context.Context, c *message.Call) error {
					if c.Name == "f" {
						c.Arguments = `{"n":7}`
					}
					return nil
				},
				AfterTool: func(_ context.Context, c message.Call, r *message.Result) error {
					if c.Name != "f" {
						return nil
					}
					seen++
					if c.Arguments != `{"n":7}` || r.Name != "f" || r.CallID != c.ID || r.Text != tt.shown {
						t.Errorf("it is shown %+v of %+v", r, c)
					}
					return tt.hook(r)
				}}
			id := begins(t, loop, "f", "{}")
			loop.Model = looptest.NewModel(looptest.Call(
				call("c", "background_status", `{"id":"`+id+`","wait_seconds":60}`)), looptest.Say("ok"))
			_, err := drain(loop.Run(t.Context(), user("go")))
			list := results(loop.History())
			last := list[len(list)-1]
			if strings.Contains(last.Text, "hunter2") || seen != 1 {
				t.Errorf("after %d looks: %+v", seen, last)
			}
			if name == "fails" {
				if !errors.Is(err, broken) || agentloop.Code(err) != "other" {
					t.Errorf("%v", err)
				}
				return
			}
			have := read(t, last)
			if err != nil || string(have.Result) != tt.result || have.Error.Text != tt.text {
				t.Errorf("%v: %+v", err, have)
			}
		})
	}
}
