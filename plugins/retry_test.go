package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// retryWait is about what calls of these tests wait: between a half and one and a half of it before
// the second attempt, and twice that before the third.
const retryWait = time.Second

// noteLedger grants every call and keeps what it is told, but nothing from a caller who has left.
type noteLedger struct {
	intents []plugins.Intent
	ends    []plugins.Completion
}

func (l *noteLedger) Begin(_ context.Context, in plugins.Intent) (plugins.Begun, error) {
	l.intents = append(l.intents, in)
	return plugins.Begun{ID: "1", Key: in.Key, Place: plugins.Place{Run: "r", Position: 1}}, nil
}

func (l *noteLedger) End(ctx context.Context, _ string, c plugins.Completion) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.ends = append(l.ends, c)
	return nil
}

// failing makes a registry of one keyed tool, pay, which fails as told.
func failing(t *testing.T, effect abi.Effect, rule plugins.Rule, l plugins.Ledger,
	fail func(context.Context, plugins.Call) error) (*plugins.Registry, *pluginstest.Spy) {
	t.Helper()
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: effect},
		Reply: func(ctx context.Context, c plugins.Call) (plugins.Output, error) {
			if err := fail(ctx, c); err != nil {
				return plugins.Output{}, err
			}
			return value(`"done"`), nil
		}}
	rule.Key = "id"
	return registry(t, &plugins.Options{Ledger: l, RetryWait: retryWait,
		Rules: map[string]plugins.Rule{"pay": rule}}, spy), spy
}

// failures has every way a call can fail, and when it may be tried again.
var failures = []struct {
	name  string
	err   error
	again string // "", yes, or if the operator says so
}{
	{"any error", errDown, "yes"},
	{"wrapped", fmt.Errorf("pay: %w", errDown), "yes"},
	{"a guest's report", handler(&abi.Failure{Code: "busy"}), "yes"},
	{"an exit code", handler(&sandboxError{"exit_n", "exit code 2"}), "yes"},
	{"another tool's failure", &plugins.ToolError{Tool: "other", Kind: plugins.ErrHandler,
		Err: errDown}, "yes"},
	{"its time limit", handler(&limitError{"limit.time", context.DeadlineExceeded}), "if"},
	{"its time limit, unwrapped", handler(&sandboxError{"limit.time", "30s"}), "if"},
	{"a deadline of its own", fmt.Errorf("pay: %w", context.DeadlineExceeded), "if"},

	{"permanent", handler(&abi.Failure{Code: "declined", Permanent: true}), ""},
	{"permanent, wrapped", fmt.Errorf("pay: %w", &abi.Failure{Permanent: true}), ""},
	{"permanent, another tool's", &plugins.ToolError{Tool: "other", Kind: plugins.ErrHandler,
		Err: &abi.Failure{Permanent: true}}, ""},
	{"malformed, another tool's", &plugins.ToolError{Tool: "other", Kind: plugins.ErrMalformedResult,
		Err: errDown}, ""},
	{"a guest's refusal", &plugins.ToolError{Kind: plugins.ErrInvalidInput,
		Err: &abi.Failure{Message: "no such city"}}, ""},
	{"malformed", &plugins.ToolError{Kind: plugins.ErrMalformedResult,
		Err: &plugins.MalformedError{Name: "bad_msgpack", Detail: "cut off"}}, ""},
	{"its memory limit", &plugins.ToolError{Kind: plugins.ErrMalformedResult,
		Err: &sandboxError{"limit.memory", "129 MiB of 128"}}, ""},
	{"no JSON form", &plugins.ToolError{Kind: plugins.ErrOutputSerialization, Err: errDown}, ""},
	{"the host's", plugins.HostFault(errDown), ""},
	{"the host's, as a tool's", handler(plugins.HostFault(errDown)), ""},
}

func handler(cause error) error {
	return &plugins.ToolError{Kind: plugins.ErrHandler, Err: cause}
}

// deadlines has what the caller's deadline allows, given waits of at most 1.5 and 3 seconds and a
// tool that takes as long as said.
var deadlines = []struct {
	name     string
	deadline time.Duration // 0: none
	takes    time.Duration // each attempt
	most     int           // attempts
}{
	{"none", 0, 0, plugins.MaxAttempts},
	{"far", time.Hour, time.Minute, plugins.MaxAttempts},
	{"before the second attempt", retryWait / 2, 0, 1},
	{"during the first attempt", retryWait, 2 * retryWait, 1},
	{"before the third attempt", 10 * retryWait, 8 * retryWait, 2},
}

// TestRetries has how often a tool runs: by its effect, the way it fails, what its operator says of
// time-outs and its caller's deadline.
func TestRetries(t *testing.T) {
	for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
		for _, f := range failures {
			for _, timeouts := range []bool{false, true} {
				for _, d := range deadlines {
					want := 1
					if effect != abi.EffectWrite && (f.again == "yes" || f.again == "if" && timeouts) {
						want = d.most
					}
					name := fmt.Sprintf("%v/%s/timeouts=%v/%s", effect, f.name, timeouts, d.name)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							runsSoOften(t, effect, f.err, timeouts, d.deadline, d.takes, want)
						})
					})
				}
			}
		}
	}
}

func runsSoOften(t *testing.T, effect abi.Effect, fail error, timeouts bool,
	deadline, takes time.Duration, want int) {
	l := new(noteLedger)
	r, spy := failing(t, effect, plugins.Rule{RetryTimeouts: timeouts}, l,
		func(context.Context, plugins.Call) error { time.Sleep(takes); return fail })
	ctx := t.Context()
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	began := time.Now()
	_, err := r.Call(ctx, plugins.Call{Tool: "pay", Input: []byte(`{"id":1}`)})
	waited := time.Since(began) - time.Duration(want)*takes

	if calls := spy.Calls(); len(calls) != want {
		t.Fatalf("%d attempts, want %d: %v", len(calls), want, err)
	}
	for i, c := range spy.Calls() {
		if c.Attempt != i+1 || c.Key != "pay:1" {
			t.Errorf("attempt %d saw the number %d and the key %q", i+1, c.Attempt, c.Key)
		}
	}
	least := []time.Duration{0, retryWait / 2, retryWait/2 + retryWait}[want-1]
	if waited < least || waited > 3*least {
		t.Errorf("waited %v, want %v to %v", waited, least, 3*least)
	}
	if plugins.FaultOf(err) != plugins.FaultHost {
		tellsAttempts(t, err, want)
	}
	onePair(t, l, effect, want)
}

// tellsAttempts checks that a tool's error and its operator's text, but not the model's, say how
// often the tool was run.
func tellsAttempts(t *testing.T, err error, want int) {
	t.Helper()
	tool, ok := errors.AsType[*plugins.ToolError](err)
	if !ok || tool.Attempts != want {
		t.Errorf("want a *ToolError of %d attempts, have %#v", want, err)
	}
	if strings.Contains(err.Error(), fmt.Sprintf(" after %d attempts", want)) != (want > 1) ||
		strings.Contains(plugins.ModelText(err), "attempts") {
		t.Errorf("texts:\n%v\n%s", err, plugins.ModelText(err))
	}
}

// onePair checks that all attempts of a call lie inside one intent and one completion, which only a
// tool that reads does without.
func onePair(t *testing.T, l *noteLedger, effect abi.Effect, attempts int) {
	t.Helper()
	want := 1
	if effect == abi.EffectRead {
		want = 0
	}
	if len(l.intents) != want || len(l.ends) != want {
		t.Fatalf("%d intents and %d completions, want %d", len(l.intents), len(l.ends), want)
	}
	if want == 1 && l.ends[0].Attempts != attempts {
		t.Errorf("%d attempts are recorded, want %d", l.ends[0].Attempts, attempts)
	}
}

func TestRetryThatSucceeds(t *testing.T) {
	for good := 1; good <= plugins.MaxAttempts; good++ {
		synctest.Test(t, func(t *testing.T) {
			l := new(noteLedger)
			r, spy := failing(t, abi.EffectIdempotent, plugins.Rule{}, l,
				func(_ context.Context, c plugins.Call) error {
					if c.Attempt < good {
						return errDown
					}
					return nil
				})
			res, err := call(t, r, "pay", `{"id":1}`)
			if err != nil || res.Attempts != good || len(spy.Calls()) != good {
				t.Errorf("good at %d: %+v after %d runs, %v", good, res, len(spy.Calls()), err)
			}
			onePair(t, l, abi.EffectIdempotent, good)
			if l.ends[0].State != plugins.Done || string(l.ends[0].Output.Value) != `"done"` {
				t.Errorf("good at %d: recorded %+v", good, l.ends[0])
			}
		})
	}
}

// TestRetryEndsWithTheLastFailure: a later attempt may fail in another way, which then counts.
func TestRetryEndsWithTheLastFailure(t *testing.T) {
	for _, kind := range []plugins.Kind{plugins.ErrInvalidInput, plugins.ErrMalformedResult,
		plugins.ErrOutputSerialization} {
		synctest.Test(t, func(t *testing.T) {
			r, spy := failing(t, abi.EffectIdempotent, plugins.Rule{}, new(noteLedger),
				func(_ context.Context, c plugins.Call) error {
					if c.Attempt == 1 {
						return errDown
					}
					return &plugins.ToolError{Kind: kind, Err: errors.New("no")}
				})
			_, err := call(t, r, "pay", `{"id":1}`)
			tool, ok := errors.AsType[*plugins.ToolError](err)
			if !ok || tool.Kind != kind || tool.Attempts != 2 || len(spy.Calls()) != 2 {
				t.Errorf("%v: %d runs, %v", kind, len(spy.Calls()), err)
			}
		})
	}
}

// TestCancelBetweenAttempts: a caller that leaves while the call waits ends it at once. That is no
// failure of the tool's, so that a run which comes back tries again.
func TestCancelBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("the user pressed stop")
		l := new(noteLedger)
		r, spy := failing(t, abi.EffectIdempotent, plugins.Rule{}, l,
			func(context.Context, plugins.Call) error { return errDown })
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(retryWait/4, func() { cancel(mine) })
		began := time.Now()
		_, err := r.Call(ctx, plugins.Call{Tool: "pay", Input: []byte(`{"id":1}`)})
		if waited := time.Since(began); waited != retryWait/4 || len(spy.Calls()) != 1 {
			t.Errorf("ended after %v and %d runs", waited, len(spy.Calls()))
		}
		notATool(t, err, mine)
		const want = `tool "pay": the user pressed stop, while it waited to be tried again: ` +
			`the bank is down`
		if err.Error() != want {
			t.Errorf("text %q, want %q", err, want)
		}
		end := l.ends[0]
		if _, tools := errors.AsType[*plugins.ToolError](end.Err); tools || end.Attempts != 1 ||
			end.State != plugins.Released {
			t.Errorf("recorded %+v", end)
		}
	})
}

// TestFailureWinsOverTheCallersEnd: a failure that is there when its caller has left is the call's,
// as a result would be.
func TestFailureWinsOverTheCallersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, spy := failing(t, abi.EffectIdempotent, plugins.Rule{}, new(noteLedger),
			func(context.Context, plugins.Call) error { cancel(); return errDown })
		_, err := r.Call(ctx, plugins.Call{Tool: "pay", Input: []byte(`{"id":1}`)})
		if !errors.Is(err, plugins.ErrHandler) || !errors.Is(err, errDown) || len(spy.Calls()) != 1 {
			t.Errorf("%v after %d runs", err, len(spy.Calls()))
		}
	})
}

// TestRetryWaits: by default a call waits about half a second and then about a second, never twice
// the same.
func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "look", Effect: abi.EffectRead},
			Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
				at = append(at, time.Now())
				return plugins.Output{}, errDown
			}}
		r := registry(t, nil, spy)
		seen := map[time.Duration]bool{}
		for range 20 {
			at = nil
			call(t, r, "look", "{}")
			for i, about := range []time.Duration{plugins.DefaultRetryWait, 2 * plugins.DefaultRetryWait} {
				wait := at[i+1].Sub(at[i])
				if wait < about/2 || wait > about*3/2+1 {
					t.Errorf("wait %d is %v, want about %v", i+1, wait, about)
				}
				seen[wait] = true
			}
		}
		if len(seen) < 30 {
			t.Errorf("40 waits have only %d lengths", len(seen))
		}
	})
}
