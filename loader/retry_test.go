package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// retrying makes a registry of one guest, pay, keyed by its order, with the effect that its
// operator says, if any. runs counts how often the guest was started.
func retrying(t *testing.T, body hosttest.Body, effect *abi.Effect, limits host.Limits) (
	reg *plugins.Registry, runs *int) {
	t.Helper()
	dir := t.TempDir()
	opts, runs := options(t), new(int)
	opts.Limits = limits
	opts.Called = func(context.Context, string, string, host.CallStats) { *runs++ }
	spec := abi.ToolSpec{Name: "pay", Description: "Pays.", Effect: abi.EffectWrite}
	write(t, dir, map[string][]byte{"pay.wasm": hosttest.Plugin{Name: "pay",
		Tools: []abi.ToolSpec{spec}, Call: body}.Bytes()})
	reg = plugins.NewRegistry(&plugins.Options{
		Rules:     map[string]plugins.Rule{"pay": {Key: "order", Effect: effect}},
		Ledger:    &ledger.Memory{},
		RetryWait: 1,
	})
	if err := reg.Add(open(t, dir, opts).Tools()...); err != nil {
		t.Fatal(err)
	}
	return reg, runs
}

func pay(t *testing.T, reg *plugins.Registry) (plugins.Result, error) {
	t.Helper()
	return reg.Call(t.Context(), plugins.Call{ID: "c", Tool: "pay",
		Input: json.RawMessage(`{"order":17}`)})
}

// TestGuestSeesKeyAndAttempt: a guest is told the number of the attempt, and the same key each
// time. This one gives its request back when it has failed twice.
func TestGuestSeesKeyAndAttempt(t *testing.T) {
	busy := hosttest.FailBefore(plugins.MaxAttempts, abi.Failure{Code: "busy"})
	for _, effect := range []*abi.Effect{nil, new(abi.EffectRead), new(abi.EffectIdempotent)} {
		reg, _ := retrying(t, busy, effect, host.Limits{})
		res, err := pay(t, reg)
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"v":1,"tool":"pay","call_id":"c","attempt":3,"key":"pay:17",` +
			`"input":{"order":17}}`
		if res.Attempts != plugins.MaxAttempts || withoutDeadline(t, res.Value) != want {
			t.Errorf("%v: %d attempts, the guest saw %s", effect, res.Attempts, res.Value)
		}
	}
}

// withoutDeadline takes out of a request what differs from call to call.
func withoutDeadline(t *testing.T, request json.RawMessage) string {
	t.Helper()
	var r struct {
		V       int             `json:"v"`
		Tool    string          `json:"tool"`
		CallID  string          `json:"call_id"`
		Attempt int             `json:"attempt"`
		Key     string          `json:"key,omitempty"`
		Input   json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWritingGuestRunsOnce: the operator's word makes of a guest one that writes, which is not
// tried again and keeps its key.
func TestWritingGuestRunsOnce(t *testing.T) {
	busy := hosttest.FailBefore(2, abi.Failure{Code: "busy"})
	reg, runs := retrying(t, busy, new(abi.EffectWrite), host.Limits{})
	_, err := pay(t, reg)
	tool, ok := errors.AsType[*plugins.ToolError](err)
	if !ok || tool.Kind != plugins.ErrHandler || tool.Attempts != 1 || tool.Effect != abi.EffectWrite {
		t.Errorf("have %+v", err)
	}
	_, err = pay(t, reg)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || !held.Unresolved {
		t.Errorf("the second call: %v", err)
	}
	if *runs != 1 {
		t.Errorf("%d executions, want 1", *runs)
	}
}

// TestExecutionsOfGuests has how often a guest is started by the way it ends, under each effect.
func TestExecutionsOfGuests(t *testing.T) {
	tests := []struct {
		name  string
		body  hosttest.Body
		kind  plugins.Kind
		again bool // unless it writes
	}{
		{"failed", hosttest.Fail(abi.Failure{Code: "busy"}), plugins.ErrHandler, true},
		{"permanent", hosttest.Fail(abi.Failure{Code: "declined", Permanent: true}),
			plugins.ErrHandler, false},
		{"time", hosttest.Loop, plugins.ErrHandler, false},
		{"refused", reply(abi.Reply{Outcome: abi.OutcomeInvalidInput,
			Failure: &abi.Failure{Message: "no"}}), plugins.ErrInvalidInput, false},
		{"trap", hosttest.Trap, plugins.ErrMalformedResult, false},
		{"exit", hosttest.Exit(0), plugins.ErrMalformedResult, false},
		{"silent", hosttest.Silent, plugins.ErrMalformedResult, false},
		{"stack", hosttest.Recurse, plugins.ErrMalformedResult, false},
		{"cut off", raw("\x81\xa2ok\xa5ab"), plugins.ErrMalformedResult, false},
		{"no envelope", raw("\x80"), plugins.ErrMalformedResult, false},
		{"NaN", ok("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"), plugins.ErrOutputSerialization, false},
		{"cannot encode", reply(abi.Reply{Outcome: abi.OutcomeUnserializable,
			Failure: &abi.Failure{Message: "no"}}), plugins.ErrOutputSerialization, false},
	}
	for _, test := range tests {
		for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
			want := 1
			if test.again && effect != abi.EffectWrite {
				want = plugins.MaxAttempts
			}
			limits := host.Limits{}
			if test.name == "time" {
				limits.Time = 20 * time.Millisecond
			}
			reg, runs := retrying(t, test.body, &effect, limits)
			if _, err := pay(t, reg); !errors.Is(err, test.kind) {
				t.Errorf("%s, %v: have %v, want %v", test.name, effect, err, test.kind)
			}
			if *runs != want {
				t.Errorf("%s, %v: %d executions, want %d", test.name, effect, *runs, want)
			}
		}
	}
}
