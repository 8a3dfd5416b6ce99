//lint:file-ignore SA1019 Clients of the older era hear what a tool logs in no other way.

package mcpserver

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
)

// sent is what a client hears, and when.
type sent struct {
	steps []mcp.ProgressNotificationParams
	at    []time.Time
	lines []string
}

func newTestReport(out *sent, slow time.Duration) *report {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	params := &mcp.CallToolParamsRaw{}
	params.SetProgressToken("t")
	r := s.newReport(context.Background(), &mcp.CallToolRequest{Params: params}, "tool")
	r.send = func(p *mcp.ProgressNotificationParams, lines []*mcp.LoggingMessageParams) {
		time.Sleep(slow)
		if p != nil {
			out.steps = append(out.steps, *p)
			out.at = append(out.at, time.Now())
		}
		for _, line := range lines {
			out.lines = append(out.lines, line.Data.(string))
		}
	}
	return r
}

// TestProgressIsPaced pins that a tool that reports all the time neither floods a client nor waits
// for a slow one, and that the last word is told.
func TestProgressIsPaced(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var out sent
			r := newTestReport(&out, slow)
			began := time.Now()
			for i := range 1000 {
				r.progress()(abi.Progress{Done: float64(i)})
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(began); took != time.Second {
				t.Errorf("the tool waited: %v", took)
			}
			r.close()
			for i := 1; i < len(out.at); i++ {
				if d := out.at[i].Sub(out.at[i-1]); d < ProgressEvery && i < len(out.at)-1 {
					t.Errorf("two after %v", d)
				}
			}
			if last := out.steps[len(out.steps)-1]; last.Progress != 999 {
				t.Errorf("the last step was %v", last.Progress)
			}
		})
	}
}

func TestProgressMakesSense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sent
		r := newTestReport(&out, 0)
		for _, p := range []abi.Progress{
			{Done: 1, Total: math.Inf(1), Message: "\x1b[31mred\u202e " + strings.Repeat("x", 600)},
			{Done: 1}, {Done: 0.5}, {Done: math.NaN()}, {Done: math.Inf(1)},
			{Done: 2, Total: -1}, {Done: 3, Total: math.NaN()}, {Done: 4, Total: 8},
		} {
			r.progress()(p)
			time.Sleep(ProgressEvery)
		}
		r.close()
		r.progress()(abi.Progress{Done: 9})
		r.log(abi.LevelError, "too late")
		synctest.Wait()
		var have []float64
		for _, p := range out.steps {
			have = append(have, p.Progress, p.Total)
		}
		if want := []float64{1, 0, 2, 0, 3, 0, 4, 8}; !slices.Equal(have, want) {
			t.Errorf("have %v", have)
		}
		if m := out.steps[0].Message; !strings.HasPrefix(m, "red xxx") || len([]rune(m)) != MaxProgressChars {
			t.Errorf("the message is %q", m)
		}
		if len(out.lines) > 0 {
			t.Errorf("after the result: %v", out.lines)
		}
	})
}

func TestLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sent
		r := newTestReport(&out, time.Second)
		r.log(abi.LevelInfo, "the one that is being sent")
		synctest.Wait()
		for range maxPendingLogs + 1 {
			r.log(abi.Level(9), strings.Repeat("é", MaxLogChars+1))
		}
		r.close()
		if len(out.lines) != 1+maxPendingLogs {
			t.Errorf("%d lines were sent", len(out.lines))
		}
		if n := len([]rune(out.lines[1])); n != MaxLogChars {
			t.Errorf("a line has %d characters", n)
		}
	})
}

// TestQuietToolCostsNothing pins that a call without a word starts no goroutine.
func TestQuietToolCostsNothing(t *testing.T) {
	var out sent
	r := newTestReport(&out, 0)
	r.close()
	if r.started || len(out.steps) > 0 {
		t.Error("something was sent")
	}
}
