package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestWhatIsRecorded has which calls a ledger hears of, and what of them: every call of a run, and
// of others those that have a key and may change the world.
func TestWhatIsRecorded(t *testing.T) {
	tests := []struct {
		effect   abi.Effect
		run      string
		keyed    bool
		recorded bool
		key      string
	}{
		{abi.EffectRead, "", false, false, ""},
		{abi.EffectRead, "", true, false, ""},
		{abi.EffectRead, "chat-7", false, true, ""},
		{abi.EffectRead, "chat-7", true, true, ""},
		{abi.EffectIdempotent, "", false, false, ""},
		{abi.EffectIdempotent, "", true, true, "pay:1"},
		{abi.EffectIdempotent, "chat-7", false, true, ""},
		{abi.EffectIdempotent, "chat-7", true, true, "pay:1"},
		{abi.EffectWrite, "", false, false, ""},
		{abi.EffectWrite, "", true, true, "pay:1"},
		{abi.EffectWrite, "chat-7", false, true, ""},
		{abi.EffectWrite, "chat-7", true, true, "pay:1"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%v/run=%q/keyed=%v", test.effect, test.run, test.keyed), func(t *testing.T) {
			l := new(noteLedger)
			rules := map[string]plugins.Rule{}
			if test.keyed {
				rules["pay"] = plugins.Rule{Key: "id"}
			}
			in := plugins.Call{ID: "c", Tool: "pay", Input: []byte(`{"id":1}`), Run: test.run}
			if test.run != "" {
				in.Position = 4
			}
			for _, with := range []plugins.Ledger{nil, l} {
				spy := replies("pay", test.effect, value("1"), nil)
				r := registry(t, &plugins.Options{Ledger: with, Rules: rules, Scope: "here"}, spy)
				_, err := r.Call(t.Context(), in)
				if refused := with == nil && test.recorded; refused {
					if !errors.Is(err, plugins.ErrLedgerRequired) || len(spy.Calls()) != 0 {
						t.Errorf("without a ledger: ran %d times, %v", len(spy.Calls()), err)
					}
				} else if err != nil || len(spy.Calls()) != 1 {
					t.Errorf("ran %d times, %v", len(spy.Calls()), err)
				}
			}
			if !test.recorded {
				if len(l.intents)+len(l.ends) > 0 {
					t.Errorf("recorded %+v, %+v", l.intents, l.ends)
				}
				return
			}
			got := l.intents[0]
			if got.Run != test.run || got.Position != in.Position || got.Key != test.key ||
				got.Tool != "pay" || got.Scope != "here" || got.CallID != "c" ||
				got.Effect != test.effect || string(got.Input) != `{"id":1}` ||
				got.InputHash == [32]byte{} {
				t.Errorf("intent %+v", got)
			}
			if end := l.ends[0]; end.State != plugins.Done || end.Attempts != 1 || end.Err != nil ||
				string(end.Output.Value) != "1" {
				t.Errorf("completion %+v", end)
			}
		})
	}
}

// TestRefusedCallsAreNotRecorded: what stops a call before it runs leaves nothing behind, so a
// crash can never make a refused call look as if it had run.
func TestRefusedCallsAreNotRecorded(t *testing.T) {
	l := new(noteLedger)
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	spy.Is.InputSchema = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	r := registry(t, &plugins.Options{Ledger: l,
		Rules: map[string]plugins.Rule{"pay": {Key: "id"}}}, spy)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		call plugins.Call
	}{
		{"unknown tool", t.Context(), plugins.Call{Tool: "no", Run: "r", Position: 1}},
		{"not JSON", t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1, Input: []byte("{")}},
		{"schema", t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1,
			Input: []byte(`{"id":1,"n":[]}`)}},
		{"no key", t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1, Input: []byte(`{}`)}},
		{"over", over, plugins.Call{Tool: "pay", Run: "r", Position: 1, Input: []byte(`{"id":1}`)}},
		{"no position", t.Context(), plugins.Call{Tool: "pay", Run: "r", Input: []byte(`{"id":1}`)}},
		{"negative position", t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: -1,
			Input: []byte(`{"id":1}`)}},
		{"no run", t.Context(), plugins.Call{Tool: "pay", Position: 1, Input: []byte(`{"id":1}`)}},
	}
	for _, test := range tests {
		if _, err := r.Call(test.ctx, test.call); err == nil {
			t.Errorf("%s: carried out", test.name)
		}
	}
	if len(l.intents)+len(l.ends)+len(spy.Calls()) > 0 {
		t.Errorf("recorded %+v, %+v, ran %d times", l.intents, l.ends, len(spy.Calls()))
	}
}

// refusingLedger lets nothing begin.
type refusingLedger struct{ err error }

func (l refusingLedger) Begin(context.Context, plugins.Intent) (plugins.Begun, error) {
	return plugins.Begun{}, l.err
}

func (refusingLedger) End(context.Context, string, plugins.Completion) error {
	return errors.New("nothing was begun")
}

// TestLedgersRefusals: what a ledger says of a call reaches its caller as it is; any other error is
// the host's fault.
func TestLedgersRefusals(t *testing.T) {
	tests := []struct {
		err   error
		fault plugins.Fault
		cause string
	}{
		{&plugins.CollisionError{}, plugins.FaultCaller, "collision"},
		{&plugins.InFlightError{}, plugins.FaultWorld, "in_flight"},
		{&plugins.InFlightError{Unresolved: true}, plugins.FaultWorld, "unresolved"},
		{&plugins.RunBusyError{}, plugins.FaultWorld, "run_busy"},
		{&plugins.DivergedError{}, plugins.FaultHost, "diverged"},
		{&plugins.ReconciliationError{}, plugins.FaultHost, "needs_reconciliation"},
		{errDown, plugins.FaultHost, ""},
		{context.Canceled, plugins.FaultHost, ""}, // of the ledger's own: its caller is still there
	}
	for _, test := range tests {
		spy := replies("pay", abi.EffectWrite, value("1"), nil)
		_, err := call(t, keyed(t, refusingLedger{test.err}, spy), "pay", `{"id":1}`)
		if !errors.Is(err, test.err) || plugins.FaultOf(err) != test.fault ||
			plugins.CauseOf(err) != test.cause || len(spy.Calls()) != 0 {
			t.Errorf("%T: %v, fault %v, cause %q, ran %d times", test.err, err, plugins.FaultOf(err),
				plugins.CauseOf(err), len(spy.Calls()))
		}
	}
}

// TestRecordedKeyIsUsed: a call that is run again after a crash has the key that it had then.
func TestRecordedKeyIsUsed(t *testing.T) {
	spy := replies("pay", abi.EffectIdempotent, value("1"), nil)
	res, err := call(t, keyed(t, &keyLedger{key: "pay:then"}, spy), "pay", `{"id":"now"}`)
	if err != nil || res.Key != "pay:then" || spy.Calls()[0].Key != "pay:then" {
		t.Errorf("the tool saw %q, the caller %q, %v", spy.Calls()[0].Key, res.Key, err)
	}
}

// keyLedger grants every call under a key of its own.
type keyLedger struct {
	noteLedger
	key string
}

func (l *keyLedger) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	begun, err := l.noteLedger.Begin(ctx, in)
	begun.Key = l.key
	return begun, err
}

// TestStates has what becomes of a claim, by the tool's effect and the way its call ends.
func TestStates(t *testing.T) {
	tool := func(kind plugins.Kind) error { return &plugins.ToolError{Kind: kind, Err: errDown} }
	tests := []struct {
		name              string
		err               error
		write, idempotent plugins.State
	}{
		{"done", nil, plugins.Done, plugins.Done},
		{"invalid_input", tool(plugins.ErrInvalidInput), plugins.Released, plugins.Released},
		{"handler", errDown, plugins.Unknown, plugins.Released},
		{"permanent", &abi.Failure{Permanent: true}, plugins.Unknown, plugins.Released},
		{"limit.time", handler(&sandboxError{"limit.time", "30s"}), plugins.Unknown, plugins.Released},
		{"malformed_result", tool(plugins.ErrMalformedResult), plugins.Unknown, plugins.Released},
		{"output_serialization", tool(plugins.ErrOutputSerialization), plugins.Unknown,
			plugins.Released},
		{"host", plugins.HostFault(errDown), plugins.Unknown, plugins.Released},
		{"cancelled", context.Canceled, plugins.Unknown, plugins.Released},
	}
	for _, test := range tests {
		for effect, want := range map[abi.Effect]plugins.State{
			abi.EffectWrite: test.write, abi.EffectIdempotent: test.idempotent} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := new(noteLedger)
				r, _ := failing(t, effect, plugins.Rule{}, l,
					func(context.Context, plugins.Call) error {
						if test.err == context.Canceled {
							cancel()
						}
						return test.err
					})
				r.Call(ctx, plugins.Call{Tool: "pay", Input: []byte(`{"id":1}`)})
				if len(l.ends) != 1 || l.ends[0].State != want {
					t.Errorf("%v, %s: recorded %+v, want state %d", effect, test.name, l.ends, want)
				}
			})
		}
	}
}

// TestEffectiveEffect: the operator's word counts before the tool's, for what is listed, retried,
// recorded and told.
func TestEffectiveEffect(t *testing.T) {
	effects := []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite}
	for _, own := range effects {
		for _, rule := range []*abi.Effect{nil, &effects[0], &effects[1], &effects[2]} {
			want := own
			if rule != nil {
				want = *rule
			}
			l := new(noteLedger)
			spy := replies("pay", own, plugins.Output{}, errDown)
			r := registry(t, &plugins.Options{Ledger: l, RetryWait: 1,
				Rules: map[string]plugins.Rule{"pay": {Key: "id", Effect: rule}}}, spy)
			for spec := range r.Specs() {
				if spec.Effect != want {
					t.Errorf("%v is listed as %v, want %v", own, spec.Effect, want)
				}
			}
			_, err := call(t, r, "pay", `{"id":1}`)
			if tried := len(spy.Calls()); (tried == 1) != (want == abi.EffectWrite) {
				t.Errorf("%v as %v ran %d times", own, want, tried)
			}
			if len(l.intents) == 0 != (want == abi.EffectRead) ||
				len(l.intents) > 0 && l.intents[0].Effect != want {
				t.Errorf("%v as %v recorded %+v", own, want, l.intents)
			}
			const may = "may or may not have happened"
			told := strings.Contains(plugins.ModelText(err), may)
			if told != (want == abi.EffectWrite) {
				t.Errorf("%v as %v: %s", own, want, plugins.ModelText(err))
			}
		}
	}
}

func TestRuleWithoutAnEffect(t *testing.T) {
	none := abi.EffectIdempotent + 1
	r := plugins.NewRegistry(&plugins.Options{
		Rules: map[string]plugins.Rule{"pay": {Effect: &none}}})
	err := r.Add(replies("pay", abi.EffectRead, value("1"), nil))
	if refused, ok := errors.AsType[*plugins.AddError](err); !ok || refused.Tool != "pay" {
		t.Errorf("have %v", err)
	}
}

// TestTwoRunsOneKey: the number 1 and the string "1" make one key and are not the same arguments.
func TestTwoRunsOneKey(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	r := keyed(t, new(ledger.Memory), spy)
	in := plugins.Call{Tool: "pay", Run: "first", Position: 1, Input: []byte(`{"id":1}`)}
	ran, err := r.Call(t.Context(), in)
	if err != nil || ran.Copied || ran.Place.String() != "first#1" {
		t.Fatalf("%+v, %v", ran, err)
	}
	in.Run, in.Input = "second", []byte(`{"id":"1"}`)
	_, err = r.Call(t.Context(), in)
	collision, ok := errors.AsType[*plugins.CollisionError](err)
	if !ok || collision.Key != "pay:1" || collision.Holder.String() != "first#1" {
		t.Errorf("have %v", err)
	}
	in.Run, in.Input = "third", []byte(`{"id":1}`)
	res, err := r.Call(t.Context(), in)
	if err != nil || !res.Copied || res.Place.String() != "first#1" || len(spy.Calls()) != 1 {
		t.Errorf("%+v, %v, ran %d times", res, err, len(spy.Calls()))
	}
}

// TestSchemaOfAResult: a result comes with the output schema that it matches, of the tool that ran; a
// copied one may be of a version of the tool that promised something else.
func TestSchemaOfAResult(t *testing.T) {
	version := func(schema, reply string) *pluginstest.Spy {
		spy := replies("pay", abi.EffectWrite, value(reply), nil)
		spy.Is.OutputSchema = schema
		return spy
	}
	old := version(`{"type":"integer"}`, "1")
	r := keyed(t, new(ledger.Memory), old)
	for _, test := range []struct {
		id     int
		tool   *pluginstest.Spy
		copied bool
		schema string
	}{
		{1, old, false, `{"type":"integer"}`},
		{1, old, true, `{"type":"integer"}`},
		{1, version(`{"type":"string"}`, `"1"`), true, ""},
		{2, nil, false, `{"type":"string"}`},
		{1, version(`{"type":"number"}`, "2"), true, `{"type":"number"}`},
		{1, version("", "3"), true, ""},
		{3, nil, false, ""},
	} {
		if test.tool != nil && test.tool != old {
			if err := r.Replace([]plugins.Tool{old}, []plugins.Tool{test.tool}); err != nil {
				t.Fatal(err)
			}
			old = test.tool
		}
		res, err := call(t, r, "pay", fmt.Sprintf(`{"id":%d}`, test.id))
		if err != nil || res.Copied != test.copied || res.OutputSchema != test.schema {
			t.Errorf("%+v: %+v, %v", test, res, err)
		}
	}
}

// forgetfulLedger cannot record how a call ended.
type forgetfulLedger struct{ noteLedger }

var errForgot = errors.New("the disk is full")

func (l *forgetfulLedger) End(context.Context, string, plugins.Completion) error { return errForgot }

// TestUnrecordedEndsAreTold: what a ledger cannot take down is all the more what the caller must
// learn, since nobody else ever will.
func TestUnrecordedEndsAreTold(t *testing.T) {
	refused := &plugins.ToolError{Kind: plugins.ErrHandler, Err: errors.New("no money")}
	for _, test := range []struct {
		gives plugins.Output
		fails error
		text  string
	}{
		{value(`{"receipt":17}`), nil,
			`tool "pay" gave a result, which is not recorded: the disk is full`},
		{plugins.Output{}, refused, "the disk is full; it failed with: "},
	} {
		spy := replies("pay", abi.EffectWrite, test.gives, test.fails)
		r := registry(t, &plugins.Options{Ledger: new(forgetfulLedger)}, spy)
		res, err := r.Call(t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1})
		if !errors.Is(err, errForgot) || plugins.FaultOf(err) != plugins.FaultHost ||
			!strings.Contains(err.Error(), test.text) ||
			test.fails != nil && !strings.Contains(err.Error(), "no money") {
			t.Errorf("have %v", err)
		}
		if string(res.Value) != string(test.gives.Value) {
			t.Errorf("the result is lost: %+v", res)
		}
	}
}
