package agentloop_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// registry has the tools, and hardly waits before it tries one again.
func registry(t testing.TB, tools ...plugins.Tool) *plugins.Registry {
	t.Helper()
	r := plugins.NewRegistry(&plugins.Options{RetryWait: 1})
	if err := r.Add(tools...); err != nil {
		t.Fatal(err)
	}
	return r
}

type reply = func(context.Context, plugins.Call) (plugins.Output, error)

// reads is a tool that only reads; writes is one that does more.
func reads(name string, f reply) *pluginstest.Spy {
	return &pluginstest.Spy{Is: abi.ToolSpec{Name: name, Effect: abi.EffectRead}, Reply: f}
}

func writes(name string, f reply) *pluginstest.Spy {
	return &pluginstest.Spy{Is: abi.ToolSpec{Name: name, Effect: abi.EffectWrite}, Reply: f}
}

// gives is a reply of always the same JSON.
func gives(value string) reply {
	return func(context.Context, plugins.Call) (plugins.Output, error) {
		return plugins.Output{Value: json.RawMessage(value)}, nil
	}
}

func fails(err error) reply {
	return func(context.Context, plugins.Call) (plugins.Output, error) { return plugins.Output{}, err }
}

func user(text string) message.Message { return message.Message{Role: message.User, Text: text} }

func call(id, name, arguments string) message.Call {
	return message.Call{ID: id, Name: name, Arguments: arguments}
}

// drain takes a run to its end.
func drain(run iter.Seq2[message.Event, error]) (events []message.Event, err error) {
	for ev, e := range run {
		if e != nil {
			return events, e
		}
		events = append(events, ev)
	}
	return events, nil
}

// results lists the results in a history.
func results(history []message.Message) (list []message.Result) {
	for _, m := range history {
		if m.Result != nil {
			list = append(list, *m.Result)
		}
	}
	return list
}

// end is the last event of a run that must have no error.
func end(t testing.TB, run iter.Seq2[message.Event, error]) message.Event {
	t.Helper()
	events, err := drain(run)
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.Kind != message.Ended {
		t.Fatalf("the last event is %+v", last)
	}
	return last
}

// isValid checks that a provider would take the history.
func isValid(t testing.TB, history []message.Message) {
	t.Helper()
	if err := message.Check(history); err != nil {
		t.Error(err)
	}
}

func kinds(events []message.Event) (list []message.EventKind) {
	for _, ev := range events {
		list = append(list, ev.Kind)
	}
	return list
}

// failing is tools that end every call with an error.
type failing struct{ err error }

func (failing) Specs() iter.Seq[abi.ToolSpec] {
	return slices.Values([]abi.ToolSpec{{Name: "f", Effect: abi.EffectRead}})
}

func (f failing) Call(context.Context, plugins.Call) (plugins.Result, error) {
	return plugins.Result{}, f.err
}

// isInvalid tells of an error whose stable name is invalid_argument.
func isInvalid(err error) bool { return agentloop.SdkCode(err) == agentloop.SdkInvalidArgument }

// toolsFunc are a tool, f, that is called as it likes.
type toolsFunc func(context.Context, plugins.Call) (plugins.Result, error)

func (toolsFunc) Specs() iter.Seq[abi.ToolSpec] { return failing{}.Specs() }

func (f toolsFunc) Call(ctx context.Context, c plugins.Call) (plugins.Result, error) {
	return f(ctx, c)
}

// told is what the model is told of an error.
func told(t testing.TB, err error) string {
	t.Helper()
	loop := &agentloop.Loop{Tools: failing{err},
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	return results(loop.History())[0].Text
}

// fixed is a tool that costs nothing.
type fixed struct{ spec abi.ToolSpec }

func (f fixed) Spec() abi.ToolSpec { return f.spec }
func (f fixed) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	return plugins.Output{Value: json.RawMessage(`{"text":"hello"}`)}, nil
}
