package pluginstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
)

// Case is a call of a tool under test and how it must end.
type Case struct {
	Name  string
	Input string       // JSON arguments that the tool's schema allows
	Value string       // the JSON value that it gives; "" when any will do
	Kind  plugins.Kind // or the kind of its error; 0 when it succeeds
}

// Tool tests that a tool keeps to what plugins.Tool asks of it, with the given calls as examples;
// at least one of them must succeed, and each must be safe to repeat.
func Tool(t *testing.T, tool plugins.Tool, cases ...Case) {
	t.Helper()
	t.Run("spec", func(t *testing.T) { specIsStable(t, tool) })
	for _, c := range cases {
		t.Run("call "+c.Name, func(t *testing.T) { callEndsAs(t, tool, c) })
	}
	good := firstGood(cases)
	if good == nil {
		t.Fatal("no case that succeeds")
	}
	t.Run("input is left alone", func(t *testing.T) { inputIsLeftAlone(t, tool, good) })
	t.Run("caller has gone", func(t *testing.T) { callerHasGone(t, tool, good) })
	t.Run("side by side", func(t *testing.T) { sideBySide(t, tool, good) })
}

func firstGood(cases []Case) *Case {
	for i := range cases {
		if cases[i].Kind == 0 {
			return &cases[i]
		}
	}
	return nil
}

// specIsStable checks that the spec is the same each time and that a registry takes it.
func specIsStable(t *testing.T, tool plugins.Tool) {
	if a, b := tool.Spec(), tool.Spec(); a != b {
		t.Errorf("two specs differ:\n%+v\n%+v", a, b)
	}
	if err := plugins.NewRegistry(nil).Add(tool); err != nil {
		t.Error(err)
	}
}

// invoke calls the tool itself, as a registry would.
func invoke(ctx context.Context, tool plugins.Tool, c *Case) (plugins.Output, error) {
	return tool.Invoke(ctx, plugins.Call{
		ID:      "call-1",
		Tool:    tool.Spec().Name,
		Input:   json.RawMessage(c.Input),
		Attempt: 1,
	})
}

func callEndsAs(t *testing.T, tool plugins.Tool, c Case) {
	registry := plugins.NewRegistry(&plugins.Options{RetryWait: 1})
	if err := registry.Add(tool); err != nil {
		t.Fatal(err)
	}
	res, err := registry.Call(t.Context(), plugins.Call{
		ID:    "call-1",
		Tool:  tool.Spec().Name,
		Input: json.RawMessage(c.Input),
	})
	if c.Kind != 0 {
		if !errors.Is(err, c.Kind) {
			t.Fatalf("want %v, have value %s and error %v", c.Kind, res.Value, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	isOneResult(t, res.Output)
	if c.Value != "" && string(res.Value) != c.Value {
		t.Errorf("value %s, want %s", res.Value, c.Value)
	}
}

// isOneResult checks what a registry takes on trust.
func isOneResult(t *testing.T, out plugins.Output) {
	t.Helper()
	switch {
	case (out.Value == nil) == (out.Content == nil):
		t.Errorf("want a value or content, have %+v", out)
	case out.Value != nil && !json.Valid(out.Value):
		t.Errorf("the value is not JSON: %q", out.Value)
	case out.Content != nil && len(out.Content) == 0:
		t.Error("the content has no blocks")
	}
	for _, block := range out.Content {
		switch block.Type {
		case "text", "image", "audio", "file":
		default:
			t.Errorf("a content block of type %q", block.Type)
		}
	}
}

func inputIsLeftAlone(t *testing.T, tool plugins.Tool, c *Case) {
	input := []byte(c.Input)
	out, err := tool.Invoke(t.Context(), plugins.Call{Tool: tool.Spec().Name, Input: input, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	if string(input) != c.Input {
		t.Errorf("the input became %s", input)
	}
	before := bytes.Clone(out.Value)
	for i := range input {
		input[i] = 'x'
	}
	if !bytes.Equal(out.Value, before) {
		t.Error("the value shares its bytes with the input")
	}
}

// callerHasGone checks that a call which its caller has ended ends, with a result or with the
// context's own error: never with a report that the tool's own work failed.
func callerHasGone(t *testing.T, tool plugins.Tool, c *Case) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := invoke(ctx, tool, c)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled or no error, have %v", err)
	}
	var tooled *plugins.ToolError
	if errors.As(err, &tooled) {
		t.Errorf("the caller's end became the tool's error: %v", err)
	}
	if _, err := invoke(t.Context(), tool, c); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// sideBySide checks, best with -race, that a tool may be called by many at once.
func sideBySide(t *testing.T, tool plugins.Tool, c *Case) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 4 {
				out, err := invoke(t.Context(), tool, c)
				if err != nil {
					t.Error(err)
					return
				}
				if c.Value != "" && string(out.Value) != c.Value {
					t.Errorf("value %s, want %s", out.Value, c.Value)
				}
			}
		})
	}
	wg.Wait()
}
