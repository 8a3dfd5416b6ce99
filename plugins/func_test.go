package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

type searchIn struct {
	Query string `json:"query" jsonschema:"what to look for"`
	Limit *int   `json:"limit,omitempty"`
	Raw   []byte `json:"raw,omitempty"`
}

type searchOut struct {
	Hits  []string  `json:"hits"`
	Since time.Time `json:"since"`
	HTML  string    `json:"html"`
}

func native[In, Out any](t *testing.T, name string,
	fn func(context.Context, In) (Out, error)) plugins.Tool {
	t.Helper()
	tool, err := plugins.Func(abi.ToolSpec{Name: name}, fn)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestFunc(t *testing.T) {
	tool := native(t, "search", func(_ context.Context, in searchIn) (searchOut, error) {
		if in.Query == "fail" {
			return searchOut{}, errDown
		}
		out := searchOut{Since: time.Unix(0, 0).UTC(), HTML: "<b>&" + string(in.Raw)}
		for range *in.Limit {
			out.Hits = append(out.Hits, in.Query)
		}
		return out, nil
	})
	pluginstest.Tool(t, tool,
		pluginstest.Case{Name: "hits", Input: `{"query":"a","limit":2,"raw":"aGk="}`,
			Value: `{"hits":["a","a"],"since":"1970-01-01T00:00:00Z","html":"<b>&hi"}`},
		pluginstest.Case{Name: "no hits", Input: `{"query":"a","limit":0}`,
			Value: `{"hits":null,"since":"1970-01-01T00:00:00Z","html":"<b>&"}`},
		pluginstest.Case{Name: "fails", Input: `{"query":"fail"}`, Kind: plugins.ErrHandler},
		pluginstest.Case{Name: "panics", Input: `{"query":"nil limit"}`,
			Kind: plugins.ErrMalformedResult},
		pluginstest.Case{Name: "wants a query", Input: `{"limit":1}`, Kind: plugins.ErrInvalidInput},
		pluginstest.Case{Name: "other case", Input: `{"Query":"a"}`, Kind: plugins.ErrInvalidInput},
		pluginstest.Case{Name: "no base64", Input: `{"query":"a","raw":"!"}`,
			Kind: plugins.ErrInvalidInput},
	)
	if !strings.Contains(tool.Spec().InputSchema, "what to look for") {
		t.Errorf("the schema lost its descriptions: %s", tool.Spec().InputSchema)
	}
}

// noMarshal is a value whose own coding panics.
type noMarshal struct{}

func (noMarshal) MarshalJSON() ([]byte, error) { panic("no form") }

func TestFuncOutputWithoutJSON(t *testing.T) {
	type loop struct{ Next any }
	cycle := &loop{}
	cycle.Next = cycle
	for name, out := range map[string]any{
		"channel":         make(chan int),
		"function":        func() {},
		"cycle":           cycle,
		"NaN":             math.NaN(),
		"infinity":        map[string]any{"rows": []float64{1, math.Inf(1)}},
		"minus infinity":  math.Inf(-1),
		"key no string":   map[bool]int{true: 1},
		"key any":         map[any]int{"a": 1},
		"complex":         complex(1, 1),
		"bad raw message": json.RawMessage("{"),
		"panic":           noMarshal{},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			tool := native(t, "f", func(context.Context, struct{}) (any, error) {
				ran++
				return out, nil
			})
			_, err := call(t, registry(t, nil, tool), "f", "{}")
			if !errors.Is(err, plugins.ErrOutputSerialization) || ran != 1 {
				t.Fatalf("ran %d times: %v", ran, err)
			}
			if cause := plugins.CauseOf(err); cause != map[string]string{"panic": "panic"}[name] &&
				cause != "no_json" {
				t.Errorf("cause %s", cause)
			}
		})
	}
}

func TestFuncWithoutAnOutputSchema(t *testing.T) {
	type tree struct {
		Name string
		Kids []tree
	}
	tool := native(t, "f", func(context.Context, struct{}) (tree, error) {
		return tree{Name: "a", Kids: []tree{{Name: "b"}}}, nil
	})
	if tool.Spec().OutputSchema != "" {
		t.Errorf("have %s", tool.Spec().OutputSchema)
	}
	const want = `{"Name":"a","Kids":[{"Name":"b","Kids":null}]}`
	if res, err := call(t, registry(t, nil, tool), "f", "{}"); err != nil || string(res.Value) != want {
		t.Errorf("have %s, %v", res.Value, err)
	}
}

func TestFuncGivesContent(t *testing.T) {
	want := abi.Block{Type: "text", Text: "hi"}
	tool := native(t, "f", func(context.Context, struct{}) (plugins.Output, error) {
		return plugins.Output{Content: []abi.Block{want}}, nil
	})
	res, err := call(t, registry(t, nil, tool), "f", "{}")
	if err != nil || len(res.Content) != 1 || res.Content[0].Text != want.Text || res.Value != nil {
		t.Errorf("have %+v, %v", res, err)
	}
}

func TestFuncKeepsGivenSchemas(t *testing.T) {
	spec := abi.ToolSpec{Name: "f", InputSchema: `{"type":"object","maxProperties":1}`,
		OutputSchema: `{"type":"number"}`}
	tool, err := plugins.Func(spec, func(_ context.Context, in map[string]int) (int, error) {
		return in["a"], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tool.Spec() != spec {
		t.Errorf("have %+v", tool.Spec())
	}
	r := registry(t, nil, tool)
	if _, err := call(t, r, "f", `{"a":1,"b":2}`); plugins.CauseOf(err) != "schema" {
		t.Errorf("have %v", err)
	}
	// The schema allows it and the type does not: a refusal all the same.
	_, err = call(t, r, "f", `{"a":"x"}`)
	schema, ok := errors.AsType[*plugins.SchemaError](err)
	if !ok || !errors.Is(err, plugins.ErrInvalidInput) || len(schema.Problems) != 1 {
		t.Errorf("have %v", err)
	}
}

func TestFuncRefusesAnInputWithoutASchema(t *testing.T) {
	_, err := plugins.Func(abi.ToolSpec{Name: "f"}, func(context.Context, struct{ C chan int }) (int,
		error) {
		return 0, nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), `tool "f": no schema from its input type`) {
		t.Errorf("have %v", err)
	}
}

func TestFuncPanic(t *testing.T) {
	tool := native(t, "f", func(context.Context, struct{}) (int, error) { panic(errDown) })
	_, err := call(t, registry(t, nil, tool), "f", "{}")
	panicked, ok := errors.AsType[*plugins.PanicError](err)
	if !ok || !errors.Is(err, plugins.ErrMalformedResult) || !errors.Is(err, errDown) {
		t.Fatalf("have %v", err)
	}
	if !strings.Contains(string(panicked.Stack), "func_test.go") {
		t.Errorf("the stack does not show the panic:\n%s", panicked.Stack)
	}
	if plugins.CauseOf(err) != "panic" || plugins.FaultOf(err) != plugins.FaultTool {
		t.Errorf("cause %s, fault %v", plugins.CauseOf(err), plugins.FaultOf(err))
	}
}
