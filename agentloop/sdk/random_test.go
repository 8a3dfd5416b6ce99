package sdk_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
)

// TestAnyDriving has many callers drive one agent at once, in any order. Whatever they do, each
// gets what was promised or an error with a name; each run has one end and each question one
// answer, in their order, for everybody who listens; and each message that was taken is in the
// history once.
func TestAnyDriving(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		loop := &agentloop.Loop{Model: &obeys{}, Tools: tools(t), MaxTurns: 3}
		a := sdk.New(gives(loop), &sdk.Options{Ask: true, Lockstep: rapid.Bool().Draw(rt, "lockstep")})
		defer a.Close()
		heard := make([][]sdk.Event, 2)
		var listeners, callers sync.WaitGroup
		for i := range heard {
			listeners.Go(func() {
				for ev, err := range a.Events(context.Background(), 0) {
					if err != nil {
						break
					}
					heard[i] = append(heard[i], ev)
				}
			})
		}
		if !rapid.Bool().Draw(rt, "early") {
			if _, err := a.Start(t.Context(), nil); err != nil {
				rt.Fatal(err)
			}
		}
		var taken atomic.Int64
		for i := range rapid.IntRange(1, 4).Draw(rt, "callers") {
			acts := rapid.SliceOfN(rapid.SampledFrom(actions), 1, 20).Draw(rt, fmt.Sprint("acts ", i))
			callers.Go(func() {
				for n, act := range acts {
					said, err := act(a, n)
					if err != nil && agentloop.Code(err) != "sdk" {
						t.Errorf("an error without a name: %v", err)
					}
					if err == nil {
						taken.Add(said)
					}
				}
			})
		}
		callers.Wait()
		if err := a.Close(); err != nil {
			rt.Error(err)
		}
		listeners.Wait()
		checkHeard(rt, heard[0])
		if !slices.Equal(kinds(heard[0]), kinds(heard[1])) {
			rt.Error("two listeners heard different things")
		}
		checkHistory(rt, loop.History(), taken.Load())
	})
}

// actions are what callers do. Each gives how many messages it said.
var actions = []func(a *sdk.Local, n int) (int64, error){
	func(a *sdk.Local, _ int) (int64, error) {
		_, err := a.Start(context.Background(), nil)
		return 0, err
	},
	func(a *sdk.Local, _ int) (int64, error) { return 1, a.Input(context.Background(), user("ok")) },
	func(a *sdk.Local, _ int) (int64, error) { return 1, a.Input(context.Background(), user("pay")) },
	func(a *sdk.Local, _ int) (int64, error) { return 1, a.Input(context.Background(), user("fail")) },
	func(a *sdk.Local, _ int) (int64, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		return 1, a.Input(ctx, user("hang"))
	},
	func(a *sdk.Local, _ int) (int64, error) { return 0, a.Interrupt(nil) },
	func(a *sdk.Local, _ int) (int64, error) { return 2, a.Steer(user("ok"), user("pay")) },
	func(a *sdk.Local, n int) (int64, error) {
		return 0, a.Respond(fmt.Sprintf("q-%d", n/2), agentloop.Answer(n%3))
	},
	func(a *sdk.Local, _ int) (int64, error) { return 0, a.Export(io.Discard, "") },
	letRun, letRun, letRun, letRun, letRun, letRun,
	func(a *sdk.Local, n int) (int64, error) {
		if n == 19 {
			return 0, a.Close()
		}
		return 0, nil
	},
}

// letRun lets others get on.
func letRun(*sdk.Local, int) (int64, error) {
	for range 100 {
		runtime.Gosched()
	}
	return 0, nil
}

// checkHeard checks what a listener heard: the order of numbers, runs and questions.
func checkHeard(t *rapid.T, list []sdk.Event) {
	asking := ""
	running := false
	for i, ev := range list {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has the number %d", i+1, ev.Seq)
		}
		switch ev.Kind {
		case message.Said:
			running = true
		case message.Ended, sdk.Failed:
			if !running || asking != "" {
				t.Fatalf("event %d: %+v, and no run, or it asks", i+1, ev)
			}
			running = false
		case sdk.Asked:
			if !running || asking != "" {
				t.Fatalf("event %d: %+v, and no run, or it asks", i+1, ev)
			}
			asking = ev.Question.ID
		case sdk.Answered:
			if asking != ev.Question.ID {
				t.Fatalf("event %d: question %s is answered, not %q", i+1, ev.Question.ID, asking)
			}
			asking = ""
		default:
			if !running || asking != "" {
				t.Fatalf("event %d: %s, and no run, or it asks", i+1, ev.Kind)
			}
		}
	}
	if running || asking != "" {
		t.Fatalf("it never ended: %v", kinds(list))
	}
}

// checkHistory checks that a history is whole and has what users said.
func checkHistory(t *rapid.T, list []message.Message, said int64) {
	if err := message.Check(list); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, m := range list {
		if m.Role == message.User {
			n++
		}
	}
	if n != said {
		t.Fatalf("%d messages were said, %d are in the history", said, n)
	}
}
