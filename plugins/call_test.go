package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

const pointSchema = `{"type":"object","required":["x"],"additionalProperties":false,"properties":{
	"x":{"type":"integer","minimum":-10,"maximum":10},
	"tags":{"type":"array","items":{"type":"string"}}}}`

func registry(t *testing.T, opts *plugins.Options, tools ...plugins.Tool) *plugins.Registry {
	t.Helper()
	r := plugins.NewRegistry(opts)
	if err := r.Add(tools...); err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t *testing.T, r *plugins.Registry, tool, input string) (plugins.Result, error) {
	t.Helper()
	return r.Call(t.Context(), plugins.Call{ID: "call-1", Tool: tool, Input: json.RawMessage(input)})
}

// replies makes a spy that answers every call in the same way.
func replies(name string, effect abi.Effect, out plugins.Output, err error) *pluginstest.Spy {
	return &pluginstest.Spy{
		Is: abi.ToolSpec{Name: name, Effect: effect},
		Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
			return out, err
		},
	}
}

func value(json string) plugins.Output { return plugins.Output{Value: []byte(json)} }

func TestInvalidInputRunsNothing(t *testing.T) {
	tests := []struct{ name, input, cause, text string }{
		{"wrong type", `{"x":"one"}`, "schema", "at /x: want an integer, have a string"},
		{"missing field", `{}`, "schema", `at the top: the field "x" is missing`},
		{"array", `[1]`, "schema", "at the top: want an object, have an array"},
		{"null", `null`, "schema", "at the top: want an object, have null"},
		{"bare string", `"x"`, "schema", "at the top: want an object, have a string"},
		{"number out of range", `{"x":11}`, "schema", "at /x: want at most 10, have 11"},
		{"fraction", `{"x":1.5}`, "schema", "at /x: want an integer, have a number"},
		{"unknown field", `{"x":1,"y/z":2}`, "schema", `at /y~1z: unknown field; there are "tags", "x"`},
		{"deep", `{"x":1,"tags":["a",null]}`, "schema", "at /tags/1: want a string, have null"},
		{"two problems", `{"tags":1}`, "schema",
			`at /tags: want an array, have a number; at the top: the field "x" is missing`},
		{"no JSON", `{"x":1`, "carriage", ""},
		{"trailing", `{"x":1} 2`, "carriage", ""},
		{"duplicate field", `{"x":1,"x":2}`, "carriage", ""},
		{"lone surrogate", `{"x":1,"tags":["\ud800"]}`, "carriage", ""},
		{"past 64 bits", `{"x":18446744073709551616}`, "carriage", ""},
		{"1e400", `{"x":1e400}`, "carriage", ""},
		{"too deep", strings.Repeat("[", 65) + strings.Repeat("]", 65), "carriage", ""},
	}
	spy := replies("point", abi.EffectWrite, value("1"), nil)
	spy.Is.InputSchema = pointSchema
	r := registry(t, nil, spy)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := call(t, r, "point", test.input)
			if !errors.Is(err, plugins.ErrInvalidInput) {
				t.Fatalf("want invalid_input, have %v", err)
			}
			if got := plugins.CauseOf(err); got != test.cause {
				t.Errorf("cause %s, want %s", got, test.cause)
			}
			if !strings.HasSuffix(err.Error(), test.text) {
				t.Errorf("text %q, want it to end in %q", err, test.text)
			}
			if plugins.FaultOf(err) != plugins.FaultCaller {
				t.Errorf("fault %v, want the caller's", plugins.FaultOf(err))
			}
		})
	}
	if n := len(spy.Calls()); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
}

func TestArgumentsReachTheTool(t *testing.T) {
	spy := replies("echo", abi.EffectWrite, value("1"), nil)
	r := registry(t, nil, spy)
	res, err := r.Call(t.Context(), plugins.Call{ID: "c7", Tool: "echo", Attempt: 9, Key: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	got := spy.Calls()[0]
	if got.ID != "c7" || string(got.Input) != "{}" || got.Attempt != 1 || got.Key != "" {
		t.Errorf("the tool saw %+v", got)
	}
	if res.Attempts != 1 || res.Copied || string(res.Value) != "1" {
		t.Errorf("result %+v", res)
	}
}

func TestInputSize(t *testing.T) {
	spy := replies("echo", abi.EffectRead, value("1"), nil)
	r := registry(t, nil, spy)
	fill := func(n int) string { return `{"s":"` + strings.Repeat("x", n-len(`{"s":""}`)) + `"}` }
	if _, err := call(t, r, "echo", fill(plugins.MaxInput)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := call(t, r, "echo", fill(plugins.MaxInput+1))
	if !errors.Is(err, plugins.ErrInvalidInput) || plugins.CauseOf(err) != "carriage" {
		t.Errorf("past the limit: %v", err)
	}
}

var errDown = errors.New("the bank is down")

// limitError stands for a host's error about a plugin's own limit.
type limitError struct {
	name string
	is   error
}

func (e *limitError) Error() string     { return "ran past its limit" }
func (e *limitError) CauseName() string { return e.name }
func (e *limitError) Unwrap() error     { return e.is }

// TestToolErrors has what a tool's Invoke may return and what the caller of the registry gets, each
// under every effect. Only a failure of the tool's own work is ever tried again, and no write.
func TestToolErrors(t *testing.T) {
	failure := &abi.Failure{Code: "declined", Message: "no funds", Permanent: true}
	tests := []struct {
		name  string
		err   error
		kind  plugins.Kind
		cause string
		fault plugins.Fault
	}{
		{"any error", errDown, plugins.ErrHandler, "failed", plugins.FaultWorld},
		{"wrapped", fmt.Errorf("pay: %w", errDown), plugins.ErrHandler, "failed",
			plugins.FaultWorld},
		{"a guest's report", &plugins.ToolError{Kind: plugins.ErrHandler, Err: failure},
			plugins.ErrHandler, "failed", plugins.FaultWorld},
		{"its time limit", &plugins.ToolError{Kind: plugins.ErrHandler,
			Err: &limitError{"limit.time", context.DeadlineExceeded}},
			plugins.ErrHandler, "limit.time", plugins.FaultWorld},
		{"a deadline of its own", context.DeadlineExceeded, plugins.ErrHandler, "failed",
			plugins.FaultWorld},
		{"undecodable", &plugins.ToolError{Kind: plugins.ErrMalformedResult,
			Err: &plugins.MalformedError{Name: "bad_msgpack", Detail: "cut off", Offset: 7}},
			plugins.ErrMalformedResult, "bad_msgpack", plugins.FaultTool},
		{"its memory limit", &plugins.ToolError{Kind: plugins.ErrMalformedResult,
			Err: fmt.Errorf("stopped: %w", &limitError{"limit.memory", nil})},
			plugins.ErrMalformedResult, "limit.memory", plugins.FaultTool},
		{"cannot encode", &plugins.ToolError{Kind: plugins.ErrOutputSerialization,
			Err: &abi.Failure{Message: "cannot encode"}},
			plugins.ErrOutputSerialization, "guest_output", plugins.FaultTool},
		{"no JSON form", &plugins.ToolError{Kind: plugins.ErrOutputSerialization,
			Err: &transcode.NoJSONError{Path: "$.rows[3].price", Detail: "NaN"}},
			plugins.ErrOutputSerialization, "no_json", plugins.FaultTool},
		{"a guest's refusal", &plugins.ToolError{Kind: plugins.ErrInvalidInput,
			Err: &abi.Failure{Message: "no such city", Pointer: "/city"}},
			plugins.ErrInvalidInput, "guest_input", plugins.FaultCaller},
		{"another tool's refusal", &plugins.ToolError{Tool: "other", Kind: plugins.ErrInvalidInput,
			Err: errDown}, plugins.ErrHandler, "failed", plugins.FaultWorld},
	}
	effects := []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite}
	for _, test := range tests {
		for _, effect := range effects {
			t.Run(test.name+"/"+effect.String(), func(t *testing.T) {
				spy := replies("pay", effect, plugins.Output{}, test.err)
				r := registry(t, &plugins.Options{RetryWait: 1}, spy)
				_, err := call(t, r, "pay", "{}")
				tool, ok := errors.AsType[*plugins.ToolError](err)
				switch {
				case !ok:
					t.Fatalf("want a *ToolError, have %v", err)
				case tool.Tool != "pay" || tool.Effect != effect || tool.Kind != test.kind:
					t.Errorf("have %+v", tool)
				case !errors.Is(err, test.kind):
					t.Errorf("%v is not %v", err, test.kind)
				}
				for other := plugins.ErrInvalidInput; other <= plugins.ErrOutputSerialization; other++ {
					if other != test.kind && errors.Is(err, other) {
						t.Errorf("%v is also %v", err, other)
					}
				}
				if got := plugins.CauseOf(err); got != test.cause {
					t.Errorf("cause %s, want %s", got, test.cause)
				}
				if got := plugins.FaultOf(err); got != test.fault {
					t.Errorf("fault %v, want %v", got, test.fault)
				}
				once := test.kind != plugins.ErrHandler || effect == abi.EffectWrite
				if n := len(spy.Calls()); once && n != 1 {
					t.Errorf("%d executions, want 1", n)
				}
			})
		}
	}
}

func TestHandlerKeepsItsSource(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, plugins.Output{}, fmt.Errorf("pay: %w", errDown))
	_, err := call(t, registry(t, nil, spy), "pay", "{}")
	if !errors.Is(err, errDown) {
		t.Errorf("the source is lost: %v", err)
	}
	if n := strings.Count(err.Error(), errDown.Error()); n != 1 {
		t.Errorf("the source is printed %d times: %v", n, err)
	}
}

func TestNotAToolsFault(t *testing.T) {
	mine := errors.New("the caller's own reason")
	ended := func(context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(mine)
		return ctx
	}
	t.Run("over before it began", func(t *testing.T) {
		spy := replies("pay", abi.EffectWrite, value("1"), nil)
		_, err := registry(t, nil, spy).Call(ended(t.Context()), plugins.Call{Tool: "pay"})
		notATool(t, err, mine)
		if len(spy.Calls()) != 0 {
			t.Error("the tool ran")
		}
	})
	t.Run("cancelled while it runs", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"},
			Reply: func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
				cancel(mine)
				return plugins.Output{}, fmt.Errorf("waiting: %w", ctx.Err())
			}}
		_, err := registry(t, nil, spy).Call(ctx, plugins.Call{Tool: "pay"})
		notATool(t, err, mine)
	})
	t.Run("the host's", func(t *testing.T) {
		spy := replies("pay", abi.EffectWrite, plugins.Output{}, plugins.HostFault(errDown))
		_, err := call(t, registry(t, nil, spy), "pay", "{}")
		notATool(t, err, errDown)
		if strings.Contains(plugins.ModelText(err), errDown.Error()) {
			t.Errorf("the model is told %q", plugins.ModelText(err))
		}
	})
}

func notATool(t *testing.T, err, is error) {
	t.Helper()
	if _, ok := errors.AsType[*plugins.ToolError](err); ok || !errors.Is(err, is) {
		t.Errorf("want %v and no *ToolError, have %v", is, err)
	}
	if plugins.FaultOf(err) != plugins.FaultHost {
		t.Errorf("fault %v, want the host's", plugins.FaultOf(err))
	}
}

func TestResultWinsOverTheCallersEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"},
		Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
			cancel()
			return value("1"), nil
		}}
	res, err := registry(t, nil, spy).Call(ctx, plugins.Call{Tool: "pay"})
	if err != nil || string(res.Value) != "1" {
		t.Errorf("have %s, %v", res.Value, err)
	}
}

func TestOutputCheck(t *testing.T) {
	text := []abi.Block{{Type: "text", Text: "hi"}}
	const number = `{"type":"object","properties":{"n":{"type":"number"}}}`
	tests := []struct {
		name, schema string
		out          plugins.Output
		cause        string // "" when it passes
	}{
		{"no schema", "", value(`"any"`), ""},
		{"null is a value", "", value("null"), ""},
		{"content", "", plugins.Output{Content: text}, ""},
		{"nothing", "", plugins.Output{}, "no_reply"},
		{"both", "", plugins.Output{Value: []byte("1"), Content: text}, "bad_envelope"},
		{"fits", number, value(`{"n":1}`), ""},
		{"breaks it", number, value(`{"n":"1"}`), "output_schema"},
		{"content where a value is promised", number, plugins.Output{Content: text},
			"output_schema"},
		{"no JSON", number, value(`{`), "output_schema"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spy := replies("n", abi.EffectWrite, test.out, nil)
			spy.Is.OutputSchema = test.schema
			_, err := call(t, registry(t, nil, spy), "n", "{}")
			if got := plugins.CauseOf(err); got != test.cause {
				t.Fatalf("cause %q, want %q: %v", got, test.cause, err)
			}
			if (test.cause != "") != errors.Is(err, plugins.ErrMalformedResult) {
				t.Errorf("have %v", err)
			}
			if n := len(spy.Calls()); n != 1 {
				t.Errorf("%d executions, want 1", n)
			}
		})
	}
}

// TestRefusalsInARow: a tool that keeps refusing what its own schema allows is broken.
func TestRefusalsInARow(t *testing.T) {
	refusal := &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: &abi.Failure{Message: "no"}}
	tooLarge := &plugins.ToolError{Kind: plugins.ErrInvalidInput,
		Err: &sandboxError{"limit.request", "17 MiB of 16"}}
	var next error
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "picky"},
		Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
			return value("1"), next
		}}
	r := registry(t, nil, spy)
	steps := []struct {
		input string
		err   error
		want  plugins.Fault
	}{
		{"{}", refusal, plugins.FaultCaller},
		{"{}", refusal, plugins.FaultTool},
		{"{}", refusal, plugins.FaultTool},
		{"{}", nil, plugins.FaultNone},
		{"{}", refusal, plugins.FaultCaller},
		{"[]", nil, plugins.FaultCaller},      // the schema's refusal is not the tool's: the row goes on
		{"{}", tooLarge, plugins.FaultCaller}, // nor is the host's
		{"{}", refusal, plugins.FaultTool},
		{"{}", errDown, plugins.FaultWorld},
		{"{}", refusal, plugins.FaultCaller},
	}
	for i, step := range steps {
		next = step.err
		_, err := call(t, r, "picky", step.input)
		if got := plugins.FaultOf(err); got != step.want {
			t.Errorf("step %d: fault %v, want %v: %v", i, got, step.want, err)
		}
	}
	if refusal.Refused != 0 {
		t.Error("the tool's own error was changed")
	}
}

func TestUnknownTool(t *testing.T) {
	r := registry(t, nil, replies("b", 0, value("1"), nil), replies("a", 0, value("1"), nil))
	_, err := call(t, r, "c", "{}")
	unknown, ok := errors.AsType[*plugins.UnknownToolError](err)
	if !ok || unknown.Tool != "c" || !slices.Equal(unknown.Have, []string{"a", "b"}) {
		t.Fatalf("have %#v", err)
	}
	if plugins.FaultOf(err) != plugins.FaultCaller {
		t.Errorf("fault %v", plugins.FaultOf(err))
	}
	if want := `there is no tool "c"; there are a, b`; err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
}
