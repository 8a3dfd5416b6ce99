package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestStatsSideBySide pins that the log line of a call has what that call took, also while others
// of the same tool and the same ID run.
func TestStatsSideBySide(t *testing.T) {
	const calls = 4
	var ended sync.WaitGroup // none is logged before all have taken what they take
	ended.Add(calls)
	tool := &pluginstest.Spy{Is: abi.ToolSpec{Name: "f", Effect: abi.EffectRead},
		Reply: func(ctx context.Context, c plugins.Call) (plugins.Output, error) {
			called(ctx, "", "f", host.CallStats{Memory: int64(len(c.Input))})
			ended.Done()
			ended.Wait()
			return plugins.Output{Value: []byte("1")}, nil
		}}
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(tool); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	a := &app{log: slog.New(slog.NewTextHandler(&text, nil))}
	var work sync.WaitGroup
	for n := range calls {
		input := `{` + strings.Repeat(" ", n) + `}`
		work.Go(func() {
			_, err := a.callLogged(t.Context(), registry, &loader.Plugin{Name: fmt.Sprint("p", len(input))},
				plugins.Call{ID: "call-1", Tool: "f", Input: []byte(input)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for n := range calls {
		if want := fmt.Sprintf("plugin=p%d digest=\"\"", n+2); !strings.Contains(text.String(), want) {
			t.Errorf("no %s in %s", want, text.String())
		}
	}
	for line := range strings.Lines(text.String()) {
		var size int
		_, rest, _ := strings.Cut(line, "plugin=p")
		if _, err := fmt.Sscan(rest, &size); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("memory_bytes=%d", size); !strings.Contains(line, want) {
			t.Errorf("want %s: %s", want, line)
		}
	}
}
