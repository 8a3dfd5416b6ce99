package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// bomb is a tool of somebody's own making that panics.
type bomb struct{ runs int }

func (b *bomb) Spec() abi.ToolSpec { return abi.ToolSpec{Name: "bomb"} }
func (b *bomb) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	b.runs++
	panic("boom")
}

// TestPanicOfAnyTool: a tool that is not made by Func and panics is a broken tool, its call is
// recorded as over, and the process lives.
func TestPanicOfAnyTool(t *testing.T) {
	tool := &bomb{}
	r := registry(t, &plugins.Options{Ledger: new(ledger.Memory),
		Rules: map[string]plugins.Rule{"bomb": {Key: "id"}}}, tool)
	call := plugins.Call{ID: "1", Tool: "bomb", Input: []byte(`{"id":1}`)}
	_, err := r.Call(t.Context(), call)
	if !errors.Is(err, plugins.ErrMalformedResult) || plugins.CauseOf(err) != "panic" {
		t.Fatalf("have %v", err)
	}
	_, err = r.Call(t.Context(), call)
	if inFlight, ok := errors.AsType[*plugins.InFlightError](err); !ok || !inFlight.Unresolved {
		t.Errorf("the second call: %v", err)
	}
	if tool.runs != 1 {
		t.Errorf("it ran %d times", tool.runs)
	}
}

// TestToolEndsItsGoroutine: such a tool takes its caller with it, and its call is recorded as over.
func TestToolEndsItsGoroutine(t *testing.T) {
	for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectWrite} {
		l := new(noteLedger)
		spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "bomb", Effect: effect},
			Reply: func(context.Context, plugins.Call) (plugins.Output, error) {
				runtime.Goexit()
				return value("1"), nil
			}}
		var log bytes.Buffer
		r := registry(t, &plugins.Options{Ledger: l,
			Logger: slog.New(slog.NewTextHandler(&log, nil))}, spy)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := r.Call(t.Context(), plugins.Call{Tool: "bomb", Run: "r", Position: 1})
			t.Errorf("it returned %v", err)
		})
		wg.Wait()
		if len(l.ends) != 1 {
			t.Fatalf("recorded %+v", l.ends)
		}
		end := l.ends[0]
		want := map[abi.Effect]plugins.State{abi.EffectRead: plugins.Released}[effect]
		gone, ok := errors.AsType[*plugins.PanicError](end.Err)
		if !ok || !errors.Is(end.Err, plugins.ErrMalformedResult) || end.State != want ||
			end.Attempts != 1 || len(gone.Stack) == 0 {
			t.Errorf("recorded %+v", end)
		}
		if tool, ok := end.Err.(*plugins.ToolError); !ok || tool.Tool != "bomb" || tool.Attempts != 1 {
			t.Errorf("recorded %+v", end.Err)
		}
		if !strings.Contains(log.String(), "cause=panic attempts=1") {
			t.Errorf("logged %s", &log)
		}
	}
}
