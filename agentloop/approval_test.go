package agentloop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// TestApproval is who decides about a call of a tool that reads and of one that writes: "r" ran,
// "d" was denied, in capitals when a person was asked.
func TestApproval(t *testing.T) {
	const (
		onRequest = agentloop.OnRequest
		untrusted = agentloop.Untrusted
		never     = agentloop.Never
	)
	rule := func(v agentloop.Verdict) func(agentloop.Question) agentloop.Verdict {
		return func(agentloop.Question) agentloop.Verdict { return v }
	}
	allow, ask, deny := rule(agentloop.Allow), rule(agentloop.AskFirst), rule(agentloop.Deny)
	for name, tt := range map[string]struct {
		mode   agentloop.Mode
		rule   func(agentloop.Question) agentloop.Verdict
		answer agentloop.Answer
		nobody bool
		want   string // read, write
	}{
		"zero":                  {"", nil, 0, true, "rd"},
		"on request, yes":       {onRequest, nil, agentloop.AnswerAllow, false, "rR"},
		"on request, no":        {onRequest, nil, agentloop.AnswerDeny, false, "rD"},
		"on request, nobody":    {onRequest, nil, 0, true, "rd"},
		"on request, allowed":   {onRequest, allow, agentloop.AnswerDeny, false, "rr"},
		"on request, must ask":  {onRequest, ask, agentloop.AnswerAllow, false, "RR"},
		"on request, forbidden": {onRequest, deny, agentloop.AnswerAllow, false, "dd"},
		"untrusted, yes":        {untrusted, nil, agentloop.AnswerAllow, false, "RR"},
		"untrusted, no":         {untrusted, nil, agentloop.AnswerDeny, false, "DD"},
		"untrusted, nobody":     {untrusted, nil, 0, true, "dd"},
		"untrusted, allowed":    {untrusted, allow, agentloop.AnswerDeny, false, "DD"},
		"untrusted, forbidden":  {untrusted, deny, agentloop.AnswerAllow, false, "dd"},
		"never":                 {never, nil, agentloop.AnswerDeny, false, "rr"},
		"never, nobody":         {never, nil, 0, true, "rr"},
		"never, must ask":       {never, ask, agentloop.AnswerDeny, false, "DD"},
		"never, forbidden":      {never, deny, agentloop.AnswerAllow, false, "dd"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			approval := agentloop.Approval{Mode: tt.mode, Rule: tt.rule}
			if !tt.nobody {
				approval.Ask = func(_ context.Context, q agentloop.Question) (agentloop.Answer, error) {
					asked = append(asked, q.Call.Name)
					return tt.answer, nil
				}
			}
			loop := &agentloop.Loop{
				Approval: approval,
				Tools:    registry(t, reads("read", nil), writes("write", nil)),
				Model: looptest.NewModel(
					looptest.Call(call("a", "read", ""), call("b", "write", "")), looptest.Say("ok")),
			}
			events, err := drain(loop.Run(t.Context(), user("go")))
			if err != nil {
				t.Fatal(err)
			}
			have := ""
			for _, r := range results(loop.History()) {
				letter := "r"
				if r.Outcome != message.OK {
					letter = "d"
					if r.Code != "denied" || !strings.Contains(r.Text, "was not run") {
						t.Errorf("%+v", r)
					}
				}
				if slices.Contains(asked, r.Name) {
					letter = strings.ToUpper(letter)
				}
				have += letter
			}
			if have != tt.want {
				t.Errorf("have %s, want %s", have, tt.want)
			}
			started := 0
			for _, ev := range events {
				if ev.Kind == message.ToolStarted {
					started++
				}
			}
			if n := strings.Count(strings.ToLower(have), "r"); n != started {
				t.Errorf("%d tools ran, %d were told to start", n, started)
			}
		})
	}
}

// TestAllowForSession pins what an answer for the session is about: the tool and the subject.
func TestAllowForSession(t *testing.T) {
	first := func(c message.Call) string { return c.Arguments[:min(len(c.Arguments), 5)] }
	all := func(message.Call) string { return "" }
	for name, tt := range map[string]struct {
		subject func(message.Call) string
		asked   []string
	}{
		"the arguments": {nil, []string{`w{"a":1}`, `w{"a":2}`, `w{"b":1}`, `x{"a":1}`}},
		"a part":        {first, []string{`w{"a":1}`, `w{"b":1}`, `x{"a":1}`}},
		"the tool":      {all, []string{`w{"a":1}`, `x{"a":1}`}},
	} {
		var asked []string
		model := looptest.NewModel()
		for _, c := range []message.Call{
			call("", "w", `{"a":1}`), call("", "w", `{"a":1}`), call("", "w", `{"a":2}`),
			call("", "w", `{"b":1}`), call("", "x", `{"a":1}`), call("", "w", `{"a":1}`),
		} {
			model.Add(looptest.Call(c), looptest.Say("ok"))
		}
		loop := &agentloop.Loop{
			Model: model, Tools: registry(t, writes("w", nil), writes("x", nil)),
			Approval: agentloop.Approval{
				Subject: tt.subject,
				Ask: func(_ context.Context, q agentloop.Question) (agentloop.Answer, error) {
					asked = append(asked, q.Call.Name+q.Call.Arguments)
					return agentloop.AnswerAllowSession, nil
				},
			},
		}
		for range 6 { // the answer holds for later runs too
			end(t, loop.Run(t.Context(), user("go")))
		}
		if !slices.Equal(asked, tt.asked) {
			t.Errorf("%s: asked about %v\nwant %v", name, asked, tt.asked)
		}
		for _, r := range results(loop.History()) {
			if r.Outcome != message.OK {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// TestBeforeTool pins that permission is asked for the arguments that a hook leaves, and what a
// hook can do.
func TestBeforeTool(t *testing.T) {
	broken := errors.New("the policy server is down")
	asTool := agentloop.NewToolError("policy", "out of rules")
	rule := func(q agentloop.Question) agentloop.Verdict {
		if strings.Contains(q.Call.Arguments, "secret") {
			return agentloop.Deny
		}
		return agentloop.Allow
	}
	for name, tt := range map[string]struct {
		arguments string // of the call
		hook      func(arguments string) (string, error)
		ran       string // the arguments the tool saw
		code      string // of the result
		fatal     error
	}{
		"leaves it": {`{"a":1}`, func(s string) (string, error) { return s, nil }, `{"a":1}`, "", nil},
		"rewrites": {`{"path":"secret"}`,
			func(string) (string, error) { return `{"path":"open"}`, nil }, `{"path":"open"}`, "", nil},
		"rewrites an allowed call into a denied one": {`{"path":"open"}`,
			func(string) (string, error) { return `{"path":"secret"}`, nil }, "", "denied", nil},
		"denies": {`{}`, func(string) (string, error) {
			return "", &agentloop.DeniedError{Reason: "not on Sundays"}
		}, "", "denied", nil},
		"breaks the arguments": {`{}`, func(string) (string, error) { return "[", nil }, "",
			"invalid_arguments", nil},
		"sees no arguments as an object": {``, func(s string) (string, error) {
			return `{"saw":` + s + `}`, nil
		}, `{"saw":{}}`, "", nil},
		"fails": {`{}`, func(string) (string, error) { return "", broken }, "", "other", broken},
		"fails as a tool does": {`{}`, func(string) (string, error) { return "", asTool }, "", "other",
			asTool},
	} {
		t.Run(name, func(t *testing.T) {
			tool := writes("w", nil)
			loop := &agentloop.Loop{
				Tools:    registry(t, tool),
				Model:    looptest.NewModel(looptest.Call(call("a", "w", tt.arguments)), looptest.Say("ok")),
				Approval: agentloop.Approval{Rule: rule},
				Hooks: agentloop.Hooks{
					BeforeTool: func(_ context.Context, c *message.Call) (err error) {
						c.Arguments, err = tt.hook(c.Arguments)
						c.ID, c.Name = "other", "other" // which counts for nothing
						return err
					},
				},
			}
			events, err := drain(loop.Run(t.Context(), user("go")))
			if !errors.Is(err, tt.fatal) || (tt.fatal != nil) != (agentloop.Code(err) == "other") {
				t.Errorf("error %v", err)
			}
			ran := ""
			for _, c := range tool.Calls() {
				ran += string(c.Input)
			}
			r := results(loop.History())[0]
			if ran != tt.ran || r.Code != tt.code || (r.Outcome == message.OK) != (tt.ran != "") {
				t.Errorf("ran with %q, want %q; %+v", ran, tt.ran, r)
			}
			if name == "denies" && !strings.Contains(r.Text, "not on Sundays") {
				t.Error(r.Text)
			}
			for _, ev := range events {
				if ev.Kind == message.ToolStarted && ev.Call.Arguments != tt.ran {
					t.Errorf("told to start with %s", ev.Call.Arguments)
				}
			}
			if said := loop.History()[1].Calls[0].Arguments; said != tt.arguments {
				t.Errorf("the history says %s, the model said %s", said, tt.arguments)
			}
		})
	}
}

// TestAfterTool pins that a hook has the last word on a result, and that nothing gets past one that
// fails.
func TestAfterTool(t *testing.T) {
	broken := errors.New("no scanner")
	for name, tt := range map[string]struct {
		hook  func(r *message.Result) error
		want  string
		fatal error
	}{
		"rewrites": {func(r *message.Result) error {
			r.Text, r.CallID = strings.ReplaceAll(r.Text, "hunter2", "***"), "other"
			return nil
		}, "the password is ***", nil},
		"fails": {func(r *message.Result) error { return broken },
			"(withheld: it could not be checked)", broken},
	} {
		loop := &agentloop.Loop{
			Tools: registry(t, reads("f", gives(`"the password is hunter2"`))),
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok")),
			Hooks: agentloop.Hooks{
				AfterTool: func(_ context.Context, _ message.Call, r *message.Result) error {
					return tt.hook(r)
				},
			},
		}
		events, err := drain(loop.Run(t.Context(), user("go")))
		if !errors.Is(err, tt.fatal) {
			t.Errorf("%s: %v", name, err)
		}
		if have := results(loop.History())[0]; have.Text != tt.want || have.CallID != "a" {
			t.Errorf("%s: %+v", name, have)
		}
		for _, ev := range events {
			if ev.Result != nil && ev.Result.Text != tt.want {
				t.Errorf("%s: told %q", name, ev.Result.Text)
			}
		}
	}
}

// TestAskFails pins that an error of who asks ends the run, and that the call did not run.
func TestAskFails(t *testing.T) {
	gone := errors.New("the terminal is gone")
	tool := writes("w", nil)
	loop := &agentloop.Loop{
		Tools: registry(t, tool), Model: looptest.NewModel(looptest.Call(call("a", "w", ""))),
		Approval: agentloop.Approval{
			Ask: func(context.Context, agentloop.Question) (agentloop.Answer, error) {
				return agentloop.AnswerAllow, gone
			},
		},
	}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if !errors.Is(err, gone) || agentloop.Code(err) != "other" || len(tool.Calls()) != 0 {
		t.Errorf("%v after %d calls", err, len(tool.Calls()))
	}
	isValid(t, loop.History())
}
