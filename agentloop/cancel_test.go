package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// hangs is a reply that comes when the call is ended, with its error.
func hangs(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
	<-ctx.Done()
	return plugins.Output{}, context.Cause(ctx)
}

// outcomes lists how the calls ended.
func outcomes(history []message.Message) (list []message.Outcome) {
	for _, r := range results(history) {
		list = append(list, r.Outcome)
	}
	return list
}

// TestCancel ends a run at each place where it can wait; the history is valid and another run goes
// on.
func TestCancel(t *testing.T) {
	two := looptest.Call(call("a", "hang", ""), call("b", "f", ""))
	readers := looptest.Call(call("a", "f", ""), call("b", "hang", ""), call("c", "hang", ""),
		call("d", "w", ""))
	type list = []message.Outcome
	const ok, failed, unknown = message.OK, message.Error, message.Unknown
	for name, tt := range map[string]struct {
		turn     looptest.Turn
		parallel bool
		want     list
	}{
		"while the model thinks":          {looptest.Turn{}, false, nil},
		"during the first of two calls":   {two, false, list{unknown, failed}},
		"during calls that run together":  {readers, true, list{ok, unknown, unknown, failed}},
		"during the second of four calls": {readers, false, list{ok, unknown, failed, failed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if len(tt.turn.Message.Calls) == 0 {
					tt.turn.Wait = make(chan struct{})
				}
				f, model := reads("f", nil), looptest.NewModel(tt.turn)
				loop := &agentloop.Loop{Model: model, Parallel: tt.parallel,
					Tools: registry(t, f, reads("hang", hangs), writes("w", nil))}
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error)
				go func() {
					_, err := drain(loop.Run(ctx, user("go")))
					done <- err
				}()
				synctest.Wait()
				why := errors.New("the user pressed a key")
				cancel(why)
				err := <-done
				if !errors.Is(err, why) || agentloop.FeedsModel(err) {
					t.Errorf("error %v", err)
				}
				isValid(t, loop.History())
				if have := outcomes(loop.History()); !slices.Equal(have, tt.want) {
					t.Errorf("outcomes %v, want %v", have, tt.want)
				}
				if n := len(f.Calls()); n > 1 {
					t.Errorf("f ran %d times", n)
				}
				model.Add(looptest.Say("ok"))
				if last := end(t, loop.Run(t.Context(), user("again"))); last.Message.Text != "ok" {
					t.Errorf("the next run: %+v", last)
				}
			})
		})
	}
}

// TestCancelledBefore asks nobody anything when it is too late already.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	model := looptest.NewModel()
	loop := &agentloop.Loop{Model: model}
	_, err := drain(loop.Run(ctx, user("go")))
	if !errors.Is(err, context.Canceled) || agentloop.Code(err) != "cancelled" {
		t.Errorf("error %v", err)
	}
	if len(model.Requests()) != 0 || len(loop.History()) != 1 {
		t.Error("something was asked, or the input is lost")
	}
}

// TestResultBeforeTheEnd keeps a result that a tool gave although the run was ended meanwhile.
func TestResultBeforeTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		cancel()
		return plugins.Output{Value: []byte(`"paid"`)}, nil
	})
	loop := &agentloop.Loop{Tools: registry(t, f),
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")))}
	_, err := drain(loop.Run(ctx, user("go")))
	if have := results(loop.History())[0]; have.Text != "paid" || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", have, err)
	}
}

// TestBreak leaves the iteration at each event: nothing more happens, and the history is valid.
func TestBreak(t *testing.T) {
	turns := func() *looptest.Model {
		first := looptest.Call(call("a", "f", ""), call("b", "f", ""), call("c", "w", ""))
		first.Deltas = []message.Delta{{Text: "one "}, {Text: "two"}}
		return looptest.NewModel(first, looptest.Say("ok"))
	}
	for _, parallel := range []bool{false, true} {
		loop := func() *agentloop.Loop {
			return &agentloop.Loop{Model: turns(), Parallel: parallel,
				Tools:    registry(t, reads("f", nil), writes("w", nil)),
				Approval: agentloop.Approval{Mode: agentloop.Never}}
		}
		all, err := drain(loop().Run(t.Context(), user("go")))
		if err != nil {
			t.Fatal(err)
		}
		for at, ev := range all {
			l, seen := loop(), 0
			for range l.Run(t.Context(), user("go")) {
				if seen++; seen == at+1 {
					break
				}
			}
			if seen != at+1 {
				t.Errorf("at %s: %d events", ev.Kind, seen)
			}
			isValid(t, l.History())
			l.Model = looptest.NewModel(looptest.Say("ok"))
			end(t, l.Run(t.Context(), user("again")))
		}
	}
}

// TestPanic lets a panic of who listens through, at each event, and leaves the loop in order.
func TestPanic(t *testing.T) {
	const events = 10
	for at := range events {
		loop := &agentloop.Loop{Parallel: true, Tools: registry(t, reads("f", nil), reads("hang", hangs)),
			Model: looptest.NewModel(looptest.Call(call("a", "f", ""), call("b", "hang", "")))}
		if at < 2 || at > 4 { // otherwise nobody ends the call that hangs
			loop.Model = looptest.NewModel(looptest.Call(call("a", "f", ""), call("b", "f", "")),
				looptest.Say("ok"))
		}
		func() {
			defer func() {
				if recover() != "stop" {
					t.Errorf("event %d: no panic", at)
				}
			}()
			seen := 0
			for range loop.Run(t.Context(), user("go")) {
				if seen++; seen == at+1 {
					panic("stop")
				}
			}
		}()
		isValid(t, loop.History())
		loop.Model = looptest.NewModel(looptest.Say("ok"))
		end(t, loop.Run(t.Context(), user("again")))
	}
}

// TestParallel runs what only reads side by side and all else in its order; results are in the
// order of the calls.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf(format, args...))
		}
		gate := make(chan struct{})
		waits := func(_ context.Context, c plugins.Call) (plugins.Output, error) {
			note("begin %s", c.ID)
			<-gate
			return plugins.Output{Value: fmt.Appendf(nil, "%q", c.ID)}, nil
		}
		w := writes("w", func(_ context.Context, c plugins.Call) (plugins.Output, error) {
			note("write %s", c.ID)
			return plugins.Output{Value: fmt.Appendf(nil, "%q", c.ID)}, nil
		})
		loop := &agentloop.Loop{
			Parallel: true, Tools: registry(t, reads("r", waits), w),
			Approval: agentloop.Approval{Mode: agentloop.Never},
			Model: looptest.NewModel(looptest.Call(call("a", "r", ""), call("b", "r", ""),
				call("c", "w", ""), call("d", "r", ""), call("e", "r", ""), call("f", "nope", ""),
				call("g", "w", "")), looptest.Say("ok")),
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			end(t, loop.Run(t.Context(), user("go")))
		}()
		synctest.Wait()
		mu.Lock()
		if len(log) != 2 || slices.Contains(log, "write c") {
			t.Errorf("while the first two wait: %v", log)
		}
		mu.Unlock()
		close(gate)
		<-done
		var texts string
		for _, r := range results(loop.History()) {
			texts += r.CallID
			if r.Outcome == message.OK && r.Text != r.CallID {
				t.Errorf("call %s has the result %q", r.CallID, r.Text)
			}
		}
		if texts != "abcdefg" {
			t.Errorf("results in the order %s", texts)
		}
		at := func(s string) int { return slices.Index(log, s) }
		if at("write c") != 2 || at("write g") != 5 {
			t.Errorf("order %v", log)
		}
	})
}

// TestCancelQueued ends a run while some calls run and others wait for their turn.
func TestCancelQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, calls = 8, 10
		r := reads("r", hangs)
		loop := &agentloop.Loop{Parallel: true, Tools: registry(t, r), Model: looptest.NewModel(
			looptest.Call(slices.Repeat([]message.Call{call("", "r", "")}, calls)...))}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			drain(loop.Run(ctx, user("go")))
		}()
		synctest.Wait()
		cancel()
		<-done
		isValid(t, loop.History())
		unknown := 0
		for _, o := range outcomes(loop.History()) {
			if o == message.Unknown {
				unknown++
			}
		}
		if n := len(r.Calls()); n != most || unknown != most {
			t.Errorf("%d calls ran, %d are unknown", n, unknown)
		}
	})
}

// TestSideBySideIsBounded pins how many calls run at once.
func TestSideBySideIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, calls = 8, 20
		gate, running := make(chan struct{}), make(chan struct{}, calls)
		r := reads("r", func(context.Context, plugins.Call) (plugins.Output, error) {
			running <- struct{}{}
			<-gate
			return plugins.Output{Value: []byte("1")}, nil
		})
		list := slices.Repeat([]message.Call{call("", "r", "")}, calls)
		loop := &agentloop.Loop{Parallel: true, Tools: registry(t, r),
			Model: looptest.NewModel(looptest.Call(list...), looptest.Say("ok"))}
		done := make(chan struct{})
		go func() {
			defer close(done)
			end(t, loop.Run(t.Context(), user("go")))
		}()
		synctest.Wait()
		if n := len(running); n != most {
			t.Errorf("%d calls run at once", n)
		}
		close(gate)
		<-done
		if n := len(r.Calls()); n != calls {
			t.Errorf("%d calls ran", n)
		}
	})
}

// turner is a model that is a function.
type turner func(context.Context, message.Request) (message.Message, error)

func (f turner) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	return f(ctx, req)
}

// TestBreakStopsTheModel pins that a model is not left to speak to nobody.
func TestBreakStopsTheModel(t *testing.T) {
	loop := &agentloop.Loop{Model: turner(
		func(ctx context.Context, req message.Request) (message.Message, error) {
			req.Delta(message.Delta{Text: "well"})
			<-ctx.Done()
			req.Delta(message.Delta{Text: "then"}) // which nobody hears
			return message.Message{}, ctx.Err()
		})}
	for ev := range loop.Run(t.Context(), user("go")) {
		if ev.Text != "well" {
			t.Errorf("%+v", ev)
		}
		break
	}
	isValid(t, loop.History())
}

// TestAfterToolSeesWhatRan pins that the hook is not shown results of calls that were not run.
func TestAfterToolSeesWhatRan(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	first := reads("first", func(context.Context, plugins.Call) (plugins.Output, error) {
		stop()
		return plugins.Output{Value: []byte("1")}, nil
	})
	var seen []string
	loop := &agentloop.Loop{
		Tools: registry(t, first, reads("second", nil)),
		Model: looptest.NewModel(looptest.Call(call("a", "first", ""), call("b", "second", ""))),
		Hooks: agentloop.Hooks{
			AfterTool: func(_ context.Context, c message.Call, _ *message.Result) error {
				seen = append(seen, c.Name)
				return nil
			},
		},
	}
	if _, err := drain(loop.Run(ctx, user("go"))); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if !slices.Equal(seen, []string{"first"}) {
		t.Errorf("seen %v", seen)
	}
}
