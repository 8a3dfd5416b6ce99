package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// replayLedger keeps how calls of a run ended as bytes, as one on a disk would, and gives it back.
type replayLedger struct{ ends map[string][]byte }

func (l *replayLedger) Begin(_ context.Context, in plugins.Intent) (plugins.Begun, error) {
	place := plugins.Place{Run: in.Run, Position: in.Position}
	kept, ok := l.ends[place.String()]
	if !ok {
		return plugins.Begun{ID: place.String(), Key: in.Key, Place: place}, nil
	}
	var r plugins.Recorded
	if err := json.Unmarshal(kept, &r); err != nil {
		return plugins.Begun{}, err
	}
	return plugins.Begun{Done: true, Key: in.Key, Err: r.Err(), Place: place}, nil
}

func (l *replayLedger) End(_ context.Context, id string, c plugins.Completion) error {
	kept, err := json.Marshal(plugins.Record(c.Err))
	l.ends[id] = kept
	return err
}

// TestReplayedFailures: a failure that a ledger kept is the one that there was: same kind, cause,
// fault and texts, and the same report of the guest's.
func TestReplayedFailures(t *testing.T) {
	for _, e := range toolTexts() {
		for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
			t.Run(e.Kind.Error()+"/"+plugins.CauseOf(e)+"/"+effect.String(), func(t *testing.T) {
				fail := *e
				fail.Tool = ""
				spy := replies("pay", effect, plugins.Output{}, &fail)
				r := registry(t, &plugins.Options{RetryWait: 1,
					Ledger: &replayLedger{ends: map[string][]byte{}}}, spy)
				at := plugins.Call{Tool: "pay", Run: "chat-7", Position: 3}
				_, live := r.Call(t.Context(), at)
				ran := len(spy.Calls())
				_, replayed := r.Call(t.Context(), at)
				if len(spy.Calls()) != ran {
					t.Error("the tool ran again")
				}
				sameFailure(t, live, replayed)
			})
		}
	}
}

func sameFailure(t *testing.T, live, replayed error) {
	t.Helper()
	var was, is *plugins.ToolError
	if !errors.As(live, &was) || !errors.As(replayed, &is) {
		t.Fatalf("want two *ToolErrors, have\n%#v\n%#v", live, replayed)
	}
	if !errors.Is(replayed, was.Kind) || plugins.CauseOf(live) != plugins.CauseOf(replayed) ||
		plugins.FaultOf(live) != plugins.FaultOf(replayed) {
		t.Errorf("have kind %v, cause %s, fault %v", is.Kind, plugins.CauseOf(is), plugins.FaultOf(is))
	}
	if live.Error() != replayed.Error() {
		t.Errorf("the operator is told\n%s\nand then\n%s", live, replayed)
	}
	if a, b := plugins.ModelText(live), plugins.ModelText(replayed); a != b {
		t.Errorf("the model is told\n%s\nand then\n%s", a, b)
	}
	wasReport, _ := errors.AsType[*abi.Failure](live)
	isReport, _ := errors.AsType[*abi.Failure](replayed)
	if !reflect.DeepEqual(wasReport, isReport) {
		t.Errorf("the guest reported %+v and then %+v", wasReport, isReport)
	}
	a, b := *was, *is
	a.Err, b.Err = nil, nil
	if a != b {
		t.Errorf("have\n%+v, want\n%+v", b, a)
	}
}

// TestRecordOfNoTool: what tells nothing of the tool is kept as its text only.
func TestRecordOfNoTool(t *testing.T) {
	for _, err := range []error{
		context.Canceled,
		plugins.HostFault(errDown),
		&plugins.ToolError{Tool: "pay", Kind: plugins.ErrHandler, Err: plugins.HostFault(errDown)},
	} {
		r := plugins.Record(err)
		if want := (plugins.Recorded{Text: err.Error()}); !reflect.DeepEqual(r, want) {
			t.Errorf("recorded %+v, want %+v", r, want)
		}
		if got := r.Err(); got.Error() != err.Error() || plugins.FaultOf(got) != plugins.FaultHost {
			t.Errorf("have %v, want %v", got, err)
		}
	}
}

// TestRecordOfALaterVersion: a kind or an effect that this version does not know is no tool's
// failure: nobody can say what to do about it.
func TestRecordOfALaterVersion(t *testing.T) {
	good := plugins.Record(&plugins.ToolError{Tool: "pay", Kind: plugins.ErrHandler, Err: errDown})
	kind, effect := good, good
	kind.Kind, effect.Effect = "novel", "novel"
	for _, r := range []plugins.Recorded{kind, effect} {
		err := r.Err()
		_, ok := errors.AsType[*plugins.ToolError](err)
		if ok || plugins.FaultOf(err) != plugins.FaultHost {
			t.Errorf("have %#v", err)
		}
	}
}

// TestRecallLeavesTheLedgersErrorAlone: a ledger may give one error to many calls at once.
func TestRecallLeavesTheLedgersErrorAlone(t *testing.T) {
	kept := &plugins.ToolError{Tool: "pay", Kind: plugins.ErrHandler, Err: errDown}
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"}}
	r := registry(t, &plugins.Options{Ledger: doneLedger{kept}}, spy)
	_, err := r.Call(t.Context(), plugins.Call{Tool: "pay", Run: "r", Position: 1})
	tool, ok := errors.AsType[*plugins.ToolError](err)
	if !ok || tool.Place.String() != "r#1" || kept.Place != (plugins.Place{}) {
		t.Errorf("the caller has %+v, the ledger %+v", err, kept)
	}
}

// doneLedger has every call already.
type doneLedger struct{ err error }

func (l doneLedger) Begin(_ context.Context, in plugins.Intent) (plugins.Begun, error) {
	place := plugins.Place{Run: in.Run, Position: in.Position}
	return plugins.Begun{Done: true, Err: l.err, Place: place}, nil
}

func (doneLedger) End(context.Context, string, plugins.Completion) error {
	return errors.New("nothing was begun")
}
