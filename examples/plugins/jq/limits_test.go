package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// codeOf gives the code of a failure, "" for none.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var f *pdk.Failure
	if !errors.As(err, &f) {
		return err.Error()
	}
	return f.Code
}

func evaluate(t *testing.T, b *budget, filter string, input any) error {
	t.Helper()
	code, _, err := compile(filter, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = collect(code.RunWithContext(b, input))
	return err
}

func never() bool { return false }

func TestResultLimits(t *testing.T) {
	deep := func(levels int) string {
		return strings.Repeat("[", levels) + strings.Repeat("]", levels)
	}
	for _, test := range []struct {
		name, filter, want string
	}{
		{"most results", fmt.Sprintf("range(%d)", maxResults), ""},
		{"one result more", fmt.Sprintf("range(%d)", maxResults+1), "too_many_results"},
		{"most nodes", fmt.Sprintf("[range(%d)]", maxNodes-1), ""},
		{"one node more", fmt.Sprintf("[range(%d)]", maxNodes), "too_large"},
		{"most levels", deep(maxDepth), ""},
		{"one level more", deep(maxDepth + 1), "too_deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := codeOf(t, evaluate(t, newBudget(never), test.filter, nil)); got != test.want {
				t.Errorf("code %q, want %q", got, test.want)
			}
		})
	}
}

func TestArgumentLimits(t *testing.T) {
	args := func(n int) map[string]any {
		m := make(map[string]any)
		for i := range n {
			m[fmt.Sprintf("a%d", i)] = int64(i)
		}
		return m
	}
	blank := func(n int) string { return "." + strings.Repeat(" ", n-1) }
	for _, test := range []struct {
		name   string
		filter string
		args   map[string]any
		ok     bool
	}{
		{"longest filter", blank(maxFilterBytes), nil, true},
		{"one byte more", blank(maxFilterBytes + 1), nil, false},
		{"most variables", ".", args(maxArgs), true},
		{"one variable more", ".", args(maxArgs + 1), false},
		{"longest name", ".", map[string]any{strings.Repeat("a", 64): nil}, true},
		{"one letter more", ".", map[string]any{strings.Repeat("a", 65): nil}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := compile(test.filter, test.args); (err == nil) != test.ok {
				t.Errorf("error %v, want ok %t", err, test.ok)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	used := newBudget(never)
	if err := evaluate(t, used, "[range(100)] | add", nil); err != nil {
		t.Fatal(err)
	}
	for spare, want := range map[int]string{0: "", -1: "too_many_steps"} {
		b := newBudget(never)
		b.steps = maxSteps - used.steps - spare
		if got := codeOf(t, evaluate(t, b, "[range(100)] | add", nil)); got != want {
			t.Errorf("%d steps to spare: code %q, want %q", spare, got, want)
		}
	}
	b := newBudget(never)
	b.steps = maxSteps - 1000
	if got := codeOf(t, evaluate(t, b, "def f: f; f", nil)); got != "too_many_steps" {
		t.Errorf("endless filter: code %q", got)
	}
}

// TestDeepestResult shows that what toWire lets through can be carried.
func TestDeepestResult(t *testing.T) {
	filter := strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth)
	want := `{"results":[` + filter + `]}`
	got, err := pdktest.Call("jq", fmt.Sprintf(`{"filter": %q, "input": null}`, filter))
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestCancelled(t *testing.T) {
	host := &pdktest.Host{Cancelled: true}
	_, err := host.Call("jq", `{"filter": "last(repeat(1))", "input": null}`)
	if got := codeOf(t, err); got != "cancelled" {
		t.Errorf("code %q", got)
	}
}
