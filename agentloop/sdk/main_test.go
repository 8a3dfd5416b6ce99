package sdk_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(text string) message.Message { return message.Message{Role: message.User, Text: text} }

func call(id, name, arguments string) message.Call {
	return message.Call{ID: id, Name: name, Arguments: arguments}
}

// look is a tool that only reads; pay does more, so somebody is asked first.
func tools(t testing.TB) *plugins.Registry {
	t.Helper()
	r := plugins.NewRegistry(&plugins.Options{RetryWait: 1})
	err := r.Add(
		&pluginstest.Spy{Is: abi.ToolSpec{Name: "look", Effect: abi.EffectRead}},
		&pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: abi.EffectWrite}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// gives is an open function that always gives the same loop.
func gives(loop *agentloop.Loop) func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
	return func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
		return &sdk.Opened{Loop: loop}, nil
	}
}

// started is an agent with a conversation. It is closed when the test ends.
func started(t testing.TB, loop *agentloop.Loop, opts *sdk.Options) *sdk.Local {
	t.Helper()
	a := sdk.New(gives(loop), opts)
	if _, err := a.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// playing is an agent whose model plays turns.
func playing(t testing.TB, opts *sdk.Options, turns ...looptest.Turn) *sdk.Local {
	t.Helper()
	return started(t, &agentloop.Loop{Model: looptest.NewModel(turns...), Tools: tools(t)}, opts)
}

// until listens from an event on, up to the first one of the kinds.
func until(t testing.TB, a sdk.Agent, after int64, kinds ...message.EventKind) (list []sdk.Event) {
	t.Helper()
	for ev, err := range a.Events(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
		if slices.Contains(kinds, ev.Kind) {
			break
		}
		if ev.Kind == sdk.Failed || ev.Kind == message.Ended {
			t.Fatalf("waiting for %v, the run ended: %+v", kinds, ev)
		}
	}
	return list
}

// say has a run from its beginning to its end, and gives the last event.
func say(t testing.TB, a sdk.Agent, text string) sdk.Event {
	t.Helper()
	if err := a.Input(t.Context(), user(text)); err != nil {
		t.Fatal(err)
	}
	list := until(t, a, 0, message.Ended, sdk.Failed)
	return list[len(list)-1]
}

// name is the stable name of an error, "" for none. It fails for one that has none.
func name(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if agentloop.Code(err) != "sdk" || agentloop.SdkCode(err) == "" {
		t.Errorf("an error without a name: %v", err)
	}
	return agentloop.SdkCode(err)
}

func kinds(list []sdk.Event) (kinds []message.EventKind) {
	for _, ev := range list {
		kinds = append(kinds, ev.Kind)
	}
	return kinds
}

var errBroken = errors.New("broken")

// modelFunc is a model that is a function.
type modelFunc func(context.Context, message.Request) (message.Message, error)

func (f modelFunc) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	return f(ctx, req)
}
