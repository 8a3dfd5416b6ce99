package loader_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// retrying makes a registry of one guest, pay, keyed by its order, with the effect that its
// operator says, if any.
func retrying(t *testing.T, body hosttest.Body, effect *abi.Effect) *plugins.Registry {
	t.Helper()
	dir := t.TempDir()
	spec := abi.ToolSpec{Name: "pay", Description: "Pays.", Effect: abi.EffectWrite}
	write(t, dir, map[string][]byte{"pay.wasm": hosttest.Plugin{Name: "pay",
		Tools: []abi.ToolSpec{spec}, Call: body}.Bytes()})
	reg := plugins.NewRegistry(&plugins.Options{
		Rules:     map[string]plugins.Rule{"pay": {Key: "order", Effect: effect}},
		Ledger:    &ledger.Memory{},
		RetryWait: 1,
	})
	if err := reg.Add(open(t, dir, options(t)).Tools()...); err != nil {
		t.Fatal(err)
	}
	return reg
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
		res, err := pay(t, retrying(t, busy, effect))
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
	reg := retrying(t, busy, new(abi.EffectWrite))
	_, err := pay(t, reg)
	tool, ok := errors.AsType[*plugins.ToolError](err)
	if !ok || tool.Kind != plugins.ErrHandler || tool.Attempts != 1 || tool.Effect != abi.EffectWrite {
		t.Errorf("have %+v", err)
	}
	_, err = pay(t, reg)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || !held.Unresolved {
		t.Errorf("the second call: %v", err)
	}
}
