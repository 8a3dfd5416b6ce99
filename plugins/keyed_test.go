package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// keyed is a registry in which every given tool's calls are identified by the field id.
func keyed(t *testing.T, l plugins.Ledger, tools ...plugins.Tool) *plugins.Registry {
	t.Helper()
	rules := map[string]plugins.Rule{}
	for _, tool := range tools {
		rules[tool.Spec().Name] = plugins.Rule{Key: "id"}
	}
	return registry(t, &plugins.Options{Rules: rules, Ledger: l, RetryWait: 1}, tools...)
}

func TestKeyReachesTheTool(t *testing.T) {
	for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
		spy := replies("pay", effect, value("1"), nil)
		res, err := call(t, keyed(t, new(ledger.Memory), spy), "pay", `{"id":"a","n":1}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := spy.Calls()[0]; got.Key != "pay:a" || got.Attempt != 1 || res.Key != "pay:a" {
			t.Errorf("%v: the tool saw %+v, the caller got %+v", effect, got, res)
		}
	}
}

func TestMissingKeyRunsNothing(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	l := new(ledger.Memory)
	_, err := call(t, keyed(t, l, spy), "pay", `{"order":1}`)
	refused, ok := errors.AsType[*plugins.KeyError](err)
	if !ok || !errors.Is(err, plugins.ErrMissingIdempotencyKey) || refused.Path != "id" {
		t.Fatalf("have %v", err)
	}
	if plugins.CauseOf(err) != "key" || plugins.FaultOf(err) != plugins.FaultCaller {
		t.Errorf("cause %s, fault %v", plugins.CauseOf(err), plugins.FaultOf(err))
	}
	if len(spy.Calls()) != 0 {
		t.Error("the tool ran")
	}
}

// TestSecondCall has what a second call with the same key finds, by the tool's effect and the end
// of the first call.
func TestSecondCall(t *testing.T) {
	tool := func(kind plugins.Kind) error { return &plugins.ToolError{Kind: kind, Err: errDown} }
	const first = `{"id":1,"n":1}`
	tests := []struct {
		name   string
		effect abi.Effect
		err    error // of the first run
		second string
		want   string // copy, run, collision, in flight
	}{
		{"done, same", abi.EffectWrite, nil, first, "copy"},
		{"done, same, idempotent", abi.EffectIdempotent, nil, first, "copy"},
		{"done, other order", abi.EffectWrite, nil, ` { "n":1, "id":1 } `, "copy"},
		{"done, other input", abi.EffectWrite, nil, `{"id":1,"n":2}`, "collision"},
		{"done, string for number", abi.EffectWrite, nil, `{"id":"1","n":1}`, "collision"},
		{"done, float for integer", abi.EffectWrite, nil, `{"id":1,"n":1.0}`, "collision"},
		{"done, float key", abi.EffectWrite, nil, `{"id":1.0,"n":1}`, "run"},
		{"done, other key", abi.EffectWrite, nil, `{"id":2,"n":1}`, "run"},
		{"done, read", abi.EffectRead, nil, first, "run"},
		{"idempotent failed", abi.EffectIdempotent, errDown, first, "run"},
		{"idempotent, malformed", abi.EffectIdempotent, tool(plugins.ErrMalformedResult), first,
			"run"},
		{"write refused", abi.EffectWrite, tool(plugins.ErrInvalidInput), first, "run"},
		{"write failed", abi.EffectWrite, errDown, first, "in flight"},
		{"write failed, other input", abi.EffectWrite, errDown, `{"id":1}`, "in flight"},
		{"write, malformed", abi.EffectWrite, tool(plugins.ErrMalformedResult), first, "in flight"},
		{"write, not JSON", abi.EffectWrite, tool(plugins.ErrOutputSerialization), first,
			"in flight"},
		{"write, host's fault", abi.EffectWrite, plugins.HostFault(errDown), first, "in flight"},
		{"write, failed by another tool's refusal", abi.EffectWrite,
			&plugins.ToolError{Tool: "other", Kind: plugins.ErrInvalidInput}, first, "in flight"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			next := test.err
			spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: test.effect},
				Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
					return value(`"done"`), next
				}}
			r := keyed(t, new(ledger.Memory), spy)
			if _, err := call(t, r, "pay", first); (err == nil) != (test.err == nil) {
				t.Fatal(err)
			}
			next = nil
			ran := len(spy.Calls())
			res, err := call(t, r, "pay", test.second)
			if got := found(res, err); got != test.want {
				t.Errorf("the second call: %s, want %s (%v)", got, test.want, err)
			}
			if again := len(spy.Calls()) - ran; (again == 1) != (test.want == "run") || again > 1 {
				t.Errorf("the second call ran %d times", again)
			}
		})
	}
}

// found says how a call ended in one word.
func found(res plugins.Result, err error) string {
	_, collision := errors.AsType[*plugins.CollisionError](err)
	_, inFlight := errors.AsType[*plugins.InFlightError](err)
	switch {
	case collision && plugins.FaultOf(err) == plugins.FaultCaller:
		return "collision"
	case inFlight && plugins.FaultOf(err) == plugins.FaultWorld:
		return "in flight"
	case err != nil:
		return "error"
	case res.Copied && res.Attempts == 0 && res.Place.Position == 1 && string(res.Value) == `"done"`:
		return "copy"
	case !res.Copied && res.Attempts == 1:
		return "run"
	}
	return "neither"
}

func TestBrokenOutputHoldsAWritesKey(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, value(`"text"`), nil)
	spy.Is.OutputSchema = `{"type":"number"}`
	r := keyed(t, new(ledger.Memory), spy)
	if _, err := call(t, r, "pay", `{"id":1}`); !errors.Is(err, plugins.ErrMalformedResult) {
		t.Fatal(err)
	}
	_, err := call(t, r, "pay", `{"id":1}`)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || !held.Unresolved {
		t.Errorf("have %v", err)
	}
}

func TestCancelledWriteHoldsItsKey(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"},
		Reply: func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
			cancel()
			return plugins.Output{}, ctx.Err()
		}}
	r := keyed(t, new(ledger.Memory), spy)
	in := []byte(`{"id":1}`)
	if _, err := r.Call(ctx, plugins.Call{Tool: "pay", Input: in}); !errors.Is(err, ctx.Err()) {
		t.Fatal(err)
	}
	_, err := call(t, r, "pay", `{"id":1}`)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || !held.Unresolved {
		t.Errorf("have %v", err)
	}
}

func TestUndeclaredToolRunsEachTime(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	r := registry(t, &plugins.Options{Ledger: new(ledger.Memory)}, spy)
	for range 2 {
		if _, err := call(t, r, "pay", `{"id":1}`); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(spy.Calls()); n != 2 {
		t.Errorf("%d executions, want 2", n)
	}
}

// scoped is a tool that says whose it is.
type scoped struct {
	*pluginstest.Spy
	scope string
}

func (s scoped) Scope() string { return s.scope }

// TestScopesDoNotMeet: a namesake elsewhere neither reads a result nor takes a key.
func TestScopesDoNotMeet(t *testing.T) {
	l := new(ledger.Memory)
	for _, scope := range []string{"", "/plugins pay", "/elsewhere pay"} {
		spy := replies("pay", abi.EffectWrite, value("1"), nil)
		res, err := call(t, keyed(t, l, scoped{spy, scope}), "pay", `{"id":1}`)
		if err != nil || res.Copied || len(spy.Calls()) != 1 {
			t.Errorf("scope %q: %+v, %v", scope, res, err)
		}
	}
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	opts := &plugins.Options{Ledger: l, Scope: "/plugins pay",
		Rules: map[string]plugins.Rule{"pay": {Key: "id"}}}
	if res, err := call(t, registry(t, opts, spy), "pay", `{"id":1}`); err != nil || !res.Copied {
		t.Errorf("the same scope by option: %+v, %v", res, err)
	}
}

// TestRacingCalls: of many calls with one key at once, one runs; the others copy its result or are
// told that it is in flight.
func TestRacingCalls(t *testing.T) {
	const callers, keys = 8, 50
	var ran [keys]atomic.Int32
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"},
		Reply: func(_ context.Context, c plugins.Call) (plugins.Output, error) {
			var key int
			if _, err := fmt.Sscanf(c.Key, "pay:%d", &key); err != nil {
				return plugins.Output{}, err
			}
			ran[key].Add(1)
			return value(`"done"`), nil
		}}
	r := keyed(t, new(ledger.Memory), spy)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for key := range keys {
				switch res, err := call(t, r, "pay", fmt.Sprintf(`{"id":%d}`, key)); found(res, err) {
				case "run", "copy", "in flight":
				default:
					t.Errorf("key %d: %+v, %v", key, res, err)
				}
			}
		})
	}
	wg.Wait()
	for key := range keys {
		if n := ran[key].Load(); n != 1 {
			t.Errorf("key %d ran %d times", key, n)
		}
	}
}

// TestRefusalInAHostFault: a refusal that is not the outcome itself, since the host's own fault
// came after it, leaves open what happened.
func TestRefusalInAHostFault(t *testing.T) {
	refusal := &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: &abi.Failure{Message: "no"}}
	for err, want := range map[error]plugins.State{
		refusal:                    plugins.Released,
		plugins.HostFault(refusal): plugins.Unknown,
		plugins.HostFault(fmt.Errorf("the disk broke: %w", refusal)): plugins.Unknown,
	} {
		l := new(noteLedger)
		r := registry(t, &plugins.Options{Ledger: l},
			replies("pay", abi.EffectWrite, plugins.Output{}, err))
		_, _ = r.Call(t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1})
		if len(l.ends) != 1 || l.ends[0].State != want {
			t.Errorf("%v: recorded %+v, want the state %d", err, l.ends, want)
		}
	}
}

func TestKeyedWithoutALedger(t *testing.T) {
	rules := map[string]plugins.Rule{"pay": {Key: "id"}}
	for effect, want := range map[abi.Effect]error{
		abi.EffectWrite:      plugins.ErrLedgerRequired,
		abi.EffectIdempotent: plugins.ErrLedgerRequired,
		abi.EffectRead:       nil,
	} {
		spy := replies("pay", effect, value("1"), nil)
		_, err := call(t, registry(t, &plugins.Options{Rules: rules}, spy), "pay", `{"id":1}`)
		if !errors.Is(err, want) {
			t.Errorf("%v: have %v, want %v", effect, err, want)
		}
		if ran := len(spy.Calls()) == 1; ran != (want == nil) {
			t.Errorf("%v: ran %v", effect, ran)
		}
	}
}

// brokenLedger fails to begin or to end a call.
type brokenLedger struct {
	ledger.Memory
	begin, end error
}

func (l *brokenLedger) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	if l.begin != nil {
		return plugins.Begun{}, l.begin
	}
	return l.Memory.Begin(ctx, in)
}

func (l *brokenLedger) End(ctx context.Context, id string, c plugins.Completion) error {
	if l.end != nil {
		return l.end
	}
	return l.Memory.End(ctx, id, c)
}

func TestBrokenLedgerIsTheHosts(t *testing.T) {
	disk := errors.New("disk full")
	for name, l := range map[string]*brokenLedger{
		"begin": {begin: disk},
		"end":   {end: disk},
	} {
		t.Run(name, func(t *testing.T) {
			spy := replies("pay", 0, value("1"), nil)
			r := registry(t, &plugins.Options{Ledger: l,
				Rules: map[string]plugins.Rule{"pay": {Key: "id"}}}, spy)
			_, err := call(t, r, "pay", `{"id":1}`)
			notATool(t, err, disk)
			if ran := len(spy.Calls()); ran != map[string]int{"begin": 0, "end": 1}[name] {
				t.Errorf("ran %d times", ran)
			}
		})
	}
}
