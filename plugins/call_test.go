package plugins_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

type addIn struct {
	A int `json:"a"`
	B int `json:"b,omitempty"`
}

func TestSmoke(t *testing.T) {
	add, err := plugins.Func(abi.ToolSpec{Name: "add"}, func(_ context.Context, in addIn) (int, error) {
		return in.A + in.B, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := plugins.NewRegistry(nil)
	if err := r.Add(add); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{`{"a":1,"b":2}`, `{"a":"x","c":[1]}`, `{}`, `[]`, `{"a":1,"a":2}`} {
		res, err := r.Call(t.Context(), plugins.Call{Tool: "add", Input: json.RawMessage(in)})
		t.Log(string(res.Value), err, "|", plugins.ModelText(err), plugins.CauseOf(err))
	}
}

func BenchmarkSmoke(b *testing.B) {
	add, _ := plugins.Func(abi.ToolSpec{Name: "add"}, func(_ context.Context, in addIn) (int, error) {
		return in.A + in.B, nil
	})
	r := plugins.NewRegistry(nil)
	if err := r.Add(add); err != nil {
		b.Fatal(err)
	}
	in := json.RawMessage(`{"a":1,"b":2}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Call(b.Context(), plugins.Call{Tool: "add", Input: in}); err != nil {
			b.Fatal(err)
		}
	}
}
