package script_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/script"
)

func parse(t *testing.T, text string) *script.Model {
	t.Helper()
	m, err := script.Parse("s.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func user(text string) message.Message { return message.Message{Role: message.User, Text: text} }

func TestPlay(t *testing.T) {
	m := parse(t, `
[[step]]
user  = {contains = "weather", matches = '^What .*\?$'}
think = "Two places."
say   = "Let me look.\nTwice."
usage = {input = 10, output = 5}

[[step.call]]
tool      = "weather"
arguments = '{"city": "Oslo"}'

[[step.call]]
tool      = "weather"
arguments = '{"city":'

[[step]]
result = [
  {tool = "weather", path = "/temperature", equals = 3},
  {outcome = "error", code = "invalid_arguments", contains = "JSON"},
]
say    = "It is 3 degrees."
finish = "length"
`)
	var said []message.Delta
	list := []message.Message{user("What is the weather?")}
	first, err := m.Turn(t.Context(), message.Request{Messages: list,
		Delta: func(d message.Delta) { said = append(said, d) }})
	if err != nil {
		t.Fatal(err)
	}
	if first.Role != message.Assistant || first.Model != "script:s.toml" ||
		first.Text != "Let me look.\nTwice." || first.Reasoning[0].Text != "Two places." ||
		first.Finish != message.FinishCalls || first.Usage.Input != 10 || first.Usage.Output != 5 {
		t.Errorf("have %+v", first)
	}
	if len(said) != 3 || said[0].Reasoning != "Two places." || said[2].Text != "Twice." {
		t.Errorf("told %+v", said)
	}
	if len(first.Calls) != 2 || first.Calls[0].ID == first.Calls[1].ID ||
		first.Calls[1] != (message.Call{ID: "script_1_2", Name: "weather", Arguments: `{"city":`}) {
		t.Errorf("have the calls %+v", first.Calls)
	}
	list = append(list, first,
		message.Message{Role: message.Tool, Result: &message.Result{
			CallID: "script_1_1", Name: "weather",
			Outcome: message.OK, Text: `{"temperature":3.0}`}},
		message.Message{Role: message.Tool, Result: &message.Result{
			CallID: "script_1_2", Name: "weather",
			Outcome: message.Error, Code: "invalid_arguments", Text: "no JSON"}})
	second, err := m.Turn(t.Context(), message.Request{Messages: list})
	if err != nil || second.Text != "It is 3 degrees." || second.Finish != message.FinishLength {
		t.Errorf("have %+v, %v", second, err)
	}
	if m.Rest() != 0 {
		t.Errorf("%d steps are left", m.Rest())
	}
	_, err = m.Turn(t.Context(), message.Request{Messages: list})
	have, ok := errors.AsType[*script.Error](err)
	if !ok || have.File != "s.toml" || have.Step != 3 ||
		err.Error() != "script s.toml, step 3: there is none: the script ends after 2" {
		t.Errorf("have %v", err)
	}
}

// TestMatchers tells what a step finds wrong.
func TestMatchers(t *testing.T) {
	const text = `{"rows":[{"a/b":"x y","n":9007199254740991,"t":[1,"a",null,true]}],"":{"~":1.5}}`
	result := message.Message{Role: message.Tool, Result: &message.Result{Name: "t",
		Outcome: message.OK, Text: text, Cause: "c"}}
	for _, tt := range []struct{ expect, want string }{
		{`user = {equals = "Hello"}`, ""},
		{`user = {equals = "hello"}`, `what the user said is "Hello", not "hello"`},
		{`user = {contains = "l"}`, ""},
		{`user = {contains = "x"}`, `is "Hello", which does not contain "x"`},
		{`user = {matches = "^H"}`, ""},
		{`user = {matches = "^h"}`, `is "Hello", which does not match "^h"`},
		{`user = {path = "/a"}`, `is "Hello", which is no JSON`},
		{`result = [{tool = "t", outcome = "ok"}]`, ""},
		{`result = [{tool = "u"}]`, `result 1 has the tool "t", not "u"`},
		{`result = [{outcome = "error"}]`, `has the outcome "ok", not "error"`},
		{`result = [{cause = "limit.time"}]`, `has the cause "c", not "limit.time"`},
		{`result = [{}, {}]`, "there are 1 results, and 2 are expected"},
		{`result = [{path = "/rows/0/a~1b"}]`, ""},
		{`result = [{path = "//~0", equals = 1.5}]`, ""},
		{`result = [{path = "/rows/1"}]`, `has nothing at "/rows/1"`},
		{`result = [{path = "/rows/-1"}]`, `has nothing at "/rows/-1"`},
		{`result = [{path = "/rows/0/n/x"}]`, `has nothing at "/rows/0/n/x"`},
		{`result = [{path = "/rows/0/no"}]`, `has nothing at`},
		{`result = [{path = "/rows/0/t/0", equals = 1}]`, ""},
		{`result = [{path = "/rows/0/t/0", equals = "1"}]`, `has "1" at "/rows/0/t/0", not "\"1\""`},
		{`result = [{path = "/rows/0/n", equals = 9007199254740991}]`, ""},
		{`result = [{path = "/rows/0/t/3", equals = true}]`, ""},
		{`result = [{path = "", contains = "rows"}]`, ""},
		{`result = [{path = "/rows/0/a~1b", matches = "^x y$"}]`, ""},
		{`result = [{path = "/rows/0/a~1b", contains = "z"}]`,
			`has at "/rows/0/a~1b" what is "x y", which does not contain "z"`},
		{`result = [{path = "/", equals = {"~" = 1.5}}]`, ""},
		{`result = [{path = "/rows/0/t", matches = '^\[1,"a",null,true\]$'}]`, ""},
	} {
		m := parse(t, "[[step]]\nsay = \"x\"\n"+tt.expect)
		_, err := m.Turn(t.Context(), message.Request{Messages: []message.Message{user("Hello"),
			{Role: message.Assistant, Calls: []message.Call{{ID: "a"}}}, result}})
		text := fmt.Sprint(err)
		if (tt.want == "") != (err == nil) || err != nil && (!strings.Contains(text, tt.want) ||
			!strings.HasPrefix(text, "script s.toml, step 1: ")) {
			t.Errorf("%s: have %v, want %q", tt.expect, err, tt.want)
		}
	}
	m := parse(t, "[[step]]\nsay = \"x\"\nuser = {equals = \"\"}")
	if _, err := m.Turn(t.Context(), message.Request{}); err == nil {
		t.Error("no user: no error")
	}
}

// TestRefused tells which scripts are none.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "script s.toml: it has no steps"},
		{"steps = 1", "the key steps is not known"},
		{"[[step]]\nsay = \"x\"\nsays = 1", "the key step.says is not known"},
		{"[[step]]\nsay = 1", "line 2"},
		{"[[step]]", "step 1: it neither says anything nor calls"},
		{"[[step]]\nsay = \"x\"\nfail = 500", "it can only do one of"},
		{"[[step]]\nfail = 200", "fail = 200 is no status of an error"},
		{"[[step]]\nsay = \"x\"\nbody = \"y\"", "body is only for a step that fails"},
		{"[[step]]\nfinish = \"soon\"", `finish = "soon" is not one of ["stop"`},
		{"[[step]]\n[[step.call]]", "call 1 has no tool"},
		{"[[step]]\n[[step.call]]\ntool = \"t\"\narguments = \"[]\"\nrecall = {id = \"/id\"}",
			"call 1 recalls something, and its arguments are no JSON object"},
		{"[[step]]\n[[step.call]]\ntool = \"t\"\nrecall = {id = \"id\"}",
			`call 1 recalls id = "id", which is not a JSON pointer`},
		{"[[step]]\nsay = \"x\"\nuser = {tool = \"t\"}",
			"user: tool, outcome, code and cause are of results"},
		{"[[step]]\nsay = \"x\"\nuser = {matches = \"(\"}", "user: matches: error parsing regexp"},
		{"[[step]]\nsay = \"x\"\nresult = [{equals = 1}]",
			"result 1: equals is no text: it needs a path"},
		{"[[step]]\nsay = \"x\"\nresult = [{path = \"$.a\"}]",
			`result 1: path = "$.a" is not a JSON pointer`},
		{"[[step]]\nsay = \"x\"\nresult = [{outcome = \"no\"}]",
			`result 1: outcome = "no" is not one of`},
		{"[[step]]\nsay = \"x\"\nresult = [{path=\"\", equals = nan}]", "result 1: equals: json"},
	} {
		_, err := script.Parse("s.toml", []byte(tt.text))
		have, ok := errors.AsType[*script.Error](err)
		if !ok || !strings.Contains(have.Error(), tt.want) {
			t.Errorf("%q: have %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestFailAndHang(t *testing.T) {
	m := parse(t,
		"[[step]]\nfail = 503\nbody = \"busy\"\n[[step]]\nhang = true\n[[step]]\nsay = \"x\"")
	_, err := m.Turn(t.Context(), message.Request{})
	refused, ok := errors.AsType[*provider.StatusError](err)
	if !ok || refused.Status != 503 || refused.Body != "busy" ||
		!strings.HasPrefix(err.Error(), "script s.toml, step 1: ") {
		t.Errorf("have %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := m.Turn(ctx, message.Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("have %v", err)
		}
		if _, err := m.Turn(ctx, message.Request{}); err == nil || m.Rest() != 1 {
			t.Errorf("a run that is over took a step: %v", err)
		}
	})
}

func TestIDsGoOn(t *testing.T) {
	const text = "[[step]]\n[[step.call]]\ntool = \"t\""
	var list []message.Message
	for _, want := range []string{"script_1_1", "script_1_1_2", "script_1_1_3"} {
		next, err := parse(t, text).Turn(t.Context(), message.Request{Messages: list})
		if err != nil || next.Calls[0].ID != want {
			t.Errorf("have %+v, %v, want the id %s", next.Calls, err, want)
		}
		list = append(list, next)
	}
}

// TestRecall fills in what earlier results have, the latest first.
func TestRecall(t *testing.T) {
	result := func(text string) message.Message {
		return message.Message{Role: message.Tool, Result: &message.Result{Text: text}}
	}
	list := []message.Message{result(`{"id":"old","n":1}`), result(`{"id":"new"}`), result("no JSON")}
	for _, tt := range []struct{ call, want string }{
		{`recall = {id = "/id"}`, `{"id":"new"}`},
		{"arguments = '{\"a\": 2}'\nrecall = {n = \"/n\"}", `{"a":2,"n":1}`},
		{`arguments = '{"id":'`, `{"id":`},
		{`recall = {id = "/no"}`, `call 1 recalls "/no", and no result has it`},
	} {
		m := parse(t, "[[step]]\n[[step.call]]\ntool = \"t\"\n"+tt.call)
		reply, err := m.Turn(t.Context(), message.Request{Messages: list})
		switch {
		case err != nil && !strings.HasSuffix(err.Error(), tt.want):
			t.Errorf("%s: %v", tt.call, err)
		case err == nil && reply.Calls[0].Arguments != tt.want:
			t.Errorf("%s: %s, want %s", tt.call, reply.Calls[0].Arguments, tt.want)
		}
	}
}

// TestOpen reads files at the limit of their size, past it, and one that is not there.
func TestOpen(t *testing.T) {
	const text = "[[step]]\nsay = \"x\"\n"
	file := filepath.Join(t.TempDir(), "s.toml")
	for more, want := range map[int]bool{0: true, 1: false} {
		all := text + "#" + strings.Repeat("x", script.MaxFile-len(text)-1+more)
		if err := os.WriteFile(file, []byte(all), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := script.Open(file); (err == nil) != want {
			t.Errorf("%d bytes: have %v", len(all), err)
		}
	}
	if _, err := script.Open(file + ".no"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("have %v", err)
	}
}
