package plugins_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func names(r *plugins.Registry) []string {
	var all []string
	for spec := range r.Specs() {
		all = append(all, spec.Name)
	}
	return all
}

func TestRemove(t *testing.T) {
	r := registry(t, nil, replies("a", 0, value("1"), nil), replies("b", 0, value("2"), nil))
	r.Remove("a", "c")
	if have := names(r); !slices.Equal(have, []string{"b"}) {
		t.Errorf("have %v", have)
	}
	if _, err := call(t, r, "a", "{}"); plugins.CauseOf(err) != "unknown_tool" {
		t.Errorf("a call of the removed tool: %v", err)
	}
	if err := r.Add(replies("a", 0, value("3"), nil)); err != nil {
		t.Errorf("its name is not free again: %v", err)
	}
}

// uncomparable is a Tool whose values cannot be compared.
type uncomparable struct {
	plugins.Tool
	_ []int
}

func TestReplace(t *testing.T) {
	tool := func(name, v string) *pluginstest.Spy { return replies(name, 0, value(v), nil) }
	a1, a2, b1, c2, foreign := tool("a", "1"), tool("a", "2"), tool("b", "1"), tool("c", "2"),
		tool("b", "9")
	bad := tool("a", "3")
	bad.Is.InputSchema = "{"
	boxed := uncomparable{Tool: tool("a", "1")}
	for _, tt := range []struct {
		name           string
		have, old, new []plugins.Tool
		want           string // name=value of all tools
		errs           string // names of those that were not added
	}{
		{"swap", tools(a1, b1), tools(a1, b1), tools(a2, c2), "a=2 c=2", ""},
		{"all go", tools(a1, b1), tools(a1), nil, "b=1", ""},
		{"a bad one leaves the old one", tools(a1, b1), tools(a1, b1), tools(bad, c2), "a=1 c=2", "a"},
		{"the name of somebody else", tools(a1, foreign), tools(a1), tools(a2, b1), "a=2 b=9", "b"},
		{"not mine to take away", tools(foreign), tools(b1), tools(c2), "b=9 c=2", ""},
		{"one name twice", nil, nil, tools(a1, a2), "a=1", "a"},
		{"not comparable", tools(boxed), tools(boxed), tools(a2), "a=2", ""},
		{"another type", tools(boxed), tools(a1), tools(a2), "a=1", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, nil, tt.have...)
			err := r.Replace(tt.old, tt.new)
			var failed, have string
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				for _, err := range joined.Unwrap() {
					add, _ := errors.AsType[*plugins.AddError](err)
					failed += add.Tool
				}
			}
			for _, name := range names(r) {
				res, err := call(t, r, name, "{}")
				if err != nil {
					t.Fatal(err)
				}
				have += " " + name + "=" + string(res.Value)
			}
			if failed != tt.errs || have != " "+tt.want {
				t.Errorf("have%s, failed %q (%v)", have, failed, err)
			}
		})
	}
}

func tools(all ...plugins.Tool) []plugins.Tool { return all }

// TestReplaceUnderCalls pins that a call gets one version or the other and never neither, and that
// it finishes on the one it began with.
func TestReplaceUnderCalls(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	first := replies("a", abi.EffectWrite, value("1"), nil)
	first.Reply = func(context.Context, plugins.Call) (plugins.Output, error) {
		entered <- struct{}{}
		<-leave
		return value("1"), nil
	}
	r := registry(t, nil, first)
	done := make(chan plugins.Result)
	go func() {
		res, err := r.Call(t.Context(), plugins.Call{Tool: "a"})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-entered
	var last plugins.Tool = replies("a", 0, value("2"), nil)
	if err := r.Replace(tools(first), tools(last)); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if res, err := r.Call(t.Context(), plugins.Call{Tool: "a"}); err != nil {
					t.Errorf("neither version: %v, %s", err, res.Value)
					return
				}
			}
		})
	}
	for i := range 200 {
		next := replies("a", 0, value(strconv.Itoa(i)), nil)
		if err := r.Replace(tools(last), tools(next)); err != nil {
			t.Error(err)
		}
		last = next
	}
	close(stop)
	callers.Wait()
	close(leave)
	if res := <-done; string(res.Value) != "1" {
		t.Errorf("the running call finished on another version: %s", res.Value)
	}
}

func TestChangedLosesNothing(t *testing.T) {
	r := plugins.NewRegistry(nil)
	const storm = 1000
	seen := make(chan int)
	go func() {
		for {
			changed := r.Changed()
			if n := len(names(r)); n == storm {
				seen <- n
				return
			}
			<-changed
		}
	}()
	for i := range storm {
		if err := r.Add(replies("t"+strconv.Itoa(i), 0, value("1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	<-seen
}

func TestWhatChanges(t *testing.T) {
	a := replies("a", 0, value("1"), nil)
	bad := replies("a", 0, value("1"), nil)
	bad.Is.InputSchema = "{"
	for _, tt := range []struct {
		name string
		do   func(*plugins.Registry)
		want bool
	}{
		{"add", func(r *plugins.Registry) { _ = r.Add(replies("b", 0, value("1"), nil)) }, true},
		{"a duplicate", func(r *plugins.Registry) { _ = r.Add(a) }, false},
		{"remove", func(r *plugins.Registry) { r.Remove("a") }, true},
		{"remove nothing", func(r *plugins.Registry) { r.Remove("b") }, false},
		{"replace", func(r *plugins.Registry) { _ = r.Replace(tools(a), tools(a)) }, true},
		{"replace by a bad one", func(r *plugins.Registry) { _ = r.Replace(tools(a), tools(bad)) },
			false},
	} {
		r := registry(t, nil, a)
		changed := r.Changed()
		if r.Changed() != changed {
			t.Errorf("%s: two who wait for one change wait on two channels", tt.name)
		}
		tt.do(r)
		select {
		case <-changed:
			if !tt.want {
				t.Errorf("%s: told of a change", tt.name)
			}
		default:
			if tt.want {
				t.Errorf("%s: told of no change", tt.name)
			}
		}
	}
}

// TestRuleOfARemovedTool pins that a tool which goes does not stop the calls of all the others, as
// a mistyped rule does, and that the rule holds when it comes back.
func TestRuleOfARemovedTool(t *testing.T) {
	read := abi.EffectRead
	opts := &plugins.Options{Rules: map[string]plugins.Rule{"a": {Effect: &read}}}
	a, b := replies("a", 0, value("1"), nil), replies("b", 0, value("2"), nil)
	r := registry(t, opts, b)
	if _, err := call(t, r, "b", "{}"); plugins.CauseOf(err) != "unknown_rule" {
		t.Fatalf("a rule without its tool: %v", err)
	}
	if err := r.Add(a); err != nil {
		t.Fatal(err)
	}
	r.Remove("a")
	if _, err := call(t, r, "b", "{}"); err != nil {
		t.Errorf("the tool has gone: %v", err)
	}
	if err := r.Add(a); err != nil {
		t.Fatal(err)
	}
	for spec := range r.Specs() {
		if spec.Name == "a" && spec.Effect != read {
			t.Errorf("the rule does not hold any more: %v", spec.Effect)
		}
	}
}
