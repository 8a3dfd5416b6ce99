package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
)

// states bring a fresh agent into each state that it can be in.
var states = []struct {
	name  string
	reach func(t *testing.T, a *sdk.Local)
}{
	{"no conversation", func(*testing.T, *sdk.Local) {}},
	{"no run yet", func(t *testing.T, a *sdk.Local) { start(t, a) }},
	{"running", func(t *testing.T, a *sdk.Local) { start(t, a); input(t, a, "hang") }},
	{"asking", func(t *testing.T, a *sdk.Local) { start(t, a); input(t, a, "pay") }},
	{"a run has ended", func(t *testing.T, a *sdk.Local) { start(t, a); input(t, a, "answer") }},
	{"a run has failed", func(t *testing.T, a *sdk.Local) { start(t, a); input(t, a, "fail") }},
	{"closed", func(t *testing.T, a *sdk.Local) {
		start(t, a)
		input(t, a, "pay")
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}},
	{"closed before a conversation", func(t *testing.T, a *sdk.Local) {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}},
}

func start(t *testing.T, a *sdk.Local) {
	t.Helper()
	if _, err := a.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// input says what the model is to do, and waits until it is at it.
func input(t *testing.T, a *sdk.Local, what string) {
	t.Helper()
	if err := a.Input(t.Context(), user(what)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// methods call each method of an agent as one would.
var methods = []struct {
	name string
	call func(ctx context.Context, a sdk.Agent) error
}{
	{"Start", func(ctx context.Context, a sdk.Agent) error {
		_, err := a.Start(ctx, nil)
		return err
	}},
	{"Resume", func(ctx context.Context, a sdk.Agent) error {
		_, err := a.Resume(ctx, "s")
		return err
	}},
	{"Input", func(ctx context.Context, a sdk.Agent) error { return a.Input(ctx, user("answer")) }},
	{"Interrupt", func(_ context.Context, a sdk.Agent) error { return a.Interrupt(nil) }},
	{"Steer", func(_ context.Context, a sdk.Agent) error { return a.Steer(user("wait")) }},
	{"Respond", func(_ context.Context, a sdk.Agent) error {
		return a.Respond("q-1", agentloop.AnswerAllow)
	}},
	{"Export", func(_ context.Context, a sdk.Agent) error { return a.Export(io.Discard, "") }},
	{"Events", func(ctx context.Context, a sdk.Agent) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { synctest.Wait(); cancel() }() // once there is nothing more to hear
		for _, err := range a.Events(ctx, 0) {
			if errors.Is(err, context.Canceled) {
				return nil // it was listening
			}
			if err != nil {
				return err
			}
		}
		return errors.New("it ended without an error")
	}},
	{"Close", func(_ context.Context, a sdk.Agent) error { return a.Close() }},
}

// results has what each method gives in each state: the table of the package's documentation.
var results = map[string][]string{
	"Start":     {"", "busy", "busy", "busy", "busy", "busy", "closed", "closed"},
	"Resume":    {"", "busy", "busy", "busy", "busy", "busy", "closed", "closed"},
	"Input":     {"not_found", "", "busy", "busy", "", "", "closed", "closed"},
	"Interrupt": {"not_found", "not_found", "", "", "not_found", "not_found", "closed", "closed"},
	"Steer":     {"not_found", "not_found", "", "", "not_found", "not_found", "closed", "closed"},
	"Respond": {"not_found", "not_found", "not_found", "", "not_found", "not_found", "closed",
		"closed"},
	"Export": {"not_found", "", "", "", "", "", "closed", "closed"},
	"Events": {"", "", "", "", "", "", "closed", "closed"},
	"Close":  {"", "", "", "", "", "", "", ""},
}

// forgets is a store that keeps nothing.
type forgets struct{}

func (forgets) Append(context.Context, ...message.Message) error { return nil }

// TestStates calls every method in every state.
func TestStates(t *testing.T) {
	for i, state := range states {
		for _, method := range methods {
			t.Run(fmt.Sprintf("%s/%s", state.name, method.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := &agentloop.Loop{Model: &obeys{}, Tools: tools(t), Store: forgets{}}
					a := sdk.New(gives(loop), &sdk.Options{Ask: true})
					defer a.Close()
					state.reach(t, a)
					err := method.call(t.Context(), a)
					if have, want := name(t, err), results[method.name][i]; have != want {
						t.Errorf("have %q, want %q: %v", have, want, err)
					}
				})
			})
		}
	}
}

// obeys is a model that does what it is told: hang, pay, answer or fail.
type obeys struct{ looptest.Model }

func (m *obeys) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	switch last := req.Messages[len(req.Messages)-1]; last.Text {
	case "hang":
		m.Add(looptest.Turn{Wait: make(chan struct{})})
	case "pay":
		m.Add(looptest.Call(call("a", "pay", "{}")))
	case "fail":
		m.Add(looptest.Fail(errBroken))
	default:
		m.Add(looptest.Say("ok"))
	}
	return m.Model.Turn(ctx, req)
}
