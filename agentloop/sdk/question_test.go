package sdk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
)

// becameOf lists what became of the calls in a history.
func becameOf(history []message.Message) (list []string) {
	for _, m := range history {
		if m.Result != nil {
			list = append(list, string(m.Result.Outcome)+" "+m.Result.Code)
		}
	}
	return list
}

// TestQuestions asks about a call, and has each answer, or end, become of it what it should. In
// lockstep it is the same.
func TestQuestions(t *testing.T) {
	respond := func(answer agentloop.Answer) func(*testing.T, *sdk.Local) {
		return func(t *testing.T, a *sdk.Local) {
			if err := a.Respond("q-1", answer); err != nil {
				t.Error(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		then   func(*testing.T, *sdk.Local)
		word   string // of the event
		result string // of the call
		last   message.EventKind
	}{
		{"deny", respond(agentloop.AnswerDeny), sdk.Denied, "error denied", message.Ended},
		{"allow", respond(agentloop.AnswerAllow), sdk.Allowed, "ok ", message.Ended},
		{"for the session", respond(agentloop.AnswerAllowSession), sdk.AllowSession, "ok ",
			message.Ended},
		{"interrupted", func(_ *testing.T, a *sdk.Local) { _ = a.Interrupt(nil) }, sdk.Withdrawn,
			"error cancelled", sdk.Failed},
		{"closed", func(_ *testing.T, a *sdk.Local) { go a.Close() }, sdk.Denied,
			"error denied", sdk.Failed},
	} {
		for _, lockstep := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := &agentloop.Loop{Tools: tools(t), Model: looptest.NewModel(
						looptest.Call(call("a", "pay", `{"n":1}`)), looptest.Say("ok"))}
					a := started(t, loop, &sdk.Options{Ask: true, Lockstep: lockstep})
					defer a.Close()
					if err := a.Input(t.Context(), user("go")); err != nil {
						t.Fatal(err)
					}
					list := until(t, a, 0, sdk.Asked)
					asked := list[len(list)-1]
					q := asked.Question
					if q.ID != "q-1" || q.Call.Name != "pay" || q.Subject != `{"n":1}` ||
						q.Asked.Tool.Name != "pay" {
						t.Errorf("asked %+v", q)
					}
					select {
					case <-q.Done:
						t.Error("no answer is wanted")
					default:
					}
					tt.then(t, a)
					list = until(t, a, asked.Seq, message.Ended, sdk.Failed)
					<-q.Done
					if ev := list[0]; ev.Kind != sdk.Answered || ev.Text != tt.word || ev.Question != q {
						t.Errorf("answered %+v", ev)
					}
					if last := list[len(list)-1]; last.Kind != tt.last {
						t.Errorf("it ended with %+v", last)
					}
					if have := becameOf(loop.History()); len(have) != 1 || have[0] != tt.result {
						t.Errorf("results %q, want %q", have, tt.result)
					}
					if err := message.Check(loop.History()); err != nil {
						t.Error(err)
					}
					err := a.Respond("q-1", agentloop.AnswerAllow)
					if have := name(t, err); have != "not_found" && tt.name != "closed" {
						t.Errorf("a second answer: %v", err)
					}
				})
			})
		}
	}
}

// TestAskedTooLate denies what is asked when the agent has been closed, such as by work that a tool
// has left behind.
func TestAskedTooLate(t *testing.T) {
	loop := &agentloop.Loop{Model: &obeys{}}
	a := started(t, loop, &sdk.Options{Ask: true})
	_ = a.Close()
	answer, err := loop.Approval.Ask(t.Context(), agentloop.Question{})
	if answer != agentloop.AnswerDeny || err != nil {
		t.Errorf("%v, %v", answer, err)
	}
}

// TestNobodyAsked leaves it to the loop's own Approval who decides.
func TestNobodyAsked(t *testing.T) {
	asked := 0
	loop := &agentloop.Loop{Tools: tools(t), Model: looptest.NewModel(
		looptest.Call(call("a", "pay", "")), looptest.Say("ok"))}
	loop.Approval.Ask = func(context.Context, agentloop.Question) (agentloop.Answer, error) {
		asked++
		return agentloop.AnswerAllow, nil
	}
	if last := say(t, started(t, loop, nil), "go"); last.End != message.EndAnswer || asked != 1 {
		t.Errorf("%+v, asked %d times", last, asked)
	}
}

// TestInterrupt ends a run for a reason; the conversation goes on afterwards.
func TestInterrupt(t *testing.T) {
	why := errors.New("the user pressed a key")
	for _, reason := range []error{nil, why} {
		loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Turn{Wait: make(chan struct{})},
			looptest.Say("ok"))}
		a := started(t, loop, nil)
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		if err := a.Interrupt(reason); err != nil {
			t.Fatal(err)
		}
		list := until(t, a, 0, sdk.Failed)
		last := list[len(list)-1]
		if last.Name != agentloop.SdkExecution || reason != nil && !errors.Is(last.Err, why) ||
			reason == nil && (last.Code != "cancelled" ||
				last.Text != "the run was stopped: it was interrupted") {
			t.Errorf("%+v", last)
		}
		loop.Model = looptest.NewModel(looptest.Say("ok"))
		if err := a.Input(t.Context(), user("go on")); err != nil {
			t.Fatal(err)
		}
		_ = until(t, a, last.Seq, message.Ended)
	}
}

// TestSteer says something to a run; it is told, and taken before the next request.
func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		first := looptest.Say("first")
		first.Wait = wait
		model := looptest.NewModel(first, looptest.Say("second"))
		a := started(t, &agentloop.Loop{Model: model}, nil)
		defer a.Close()
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		if err := a.Steer(user("early")); err != nil { // before the run has begun
			t.Fatal(err)
		}
		synctest.Wait()
		if err := a.Steer(user("wait")); err != nil {
			t.Fatal(err)
		}
		if err := a.Steer(message.Message{Role: message.System}); name(t, err) != "invalid_argument" {
			t.Errorf("a system prompt: %v", err)
		}
		close(wait)
		var said []string
		for _, ev := range until(t, a, 0, message.Ended) {
			if ev.Kind == message.Said {
				said = append(said, ev.Message.Text)
			}
			if ev.Kind == message.Ended && ev.Message.Text != "second" {
				t.Errorf("it ended with %+v", ev)
			}
		}
		if len(said) != 3 || said[0] != "go" || said[1] != "early" || said[2] != "wait" {
			t.Errorf("said %q", said)
		}
		if n := len(model.Requests()[1].Messages); n != 4 {
			t.Errorf("the second request has %d messages", n)
		}
	})
}
