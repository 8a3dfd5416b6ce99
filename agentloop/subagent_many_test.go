package agentloop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// crowd is a model for a tree of many. The top agent begins one more in the background than may be,
// while none of them ends; then branches, each of which begins leaves, one after another, and
// answers.
type crowd struct {
	most, want              int64
	working, peak           atomic.Int64
	begun, refused, spawned atomic.Int64

	hold chan struct{} // closed when the first ones may end
	left chan struct{} // has something when one has ended
}

func (c *crowd) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	task, last := req.Messages[0].Text, req.Messages[len(req.Messages)-1]
	if r := last.Result; r != nil && r.Code == "subagent_concurrency_exceeded" {
		c.refused.Add(1)
	}
	top := task == "go"
	switch {
	case top && len(req.Messages) == 1:
		var turn message.Message
		for i := range c.most + 1 {
			turn.Calls = append(turn.Calls, background(fmt.Sprint(i), "held"))
		}
		return turn, nil
	case top && len(req.Messages) == 2+int(c.most)+1:
		close(c.hold)
	case task == "held":
		<-c.hold
	}
	for top && c.working.Load() == c.most { // it need not ask in vain all the time
		<-c.left
	}
	if c.begun.Load() >= c.want || !top && !strings.HasPrefix(task, "branch") ||
		!top && last.Result != nil {
		return message.Message{Text: "ok", Finish: message.FinishStop}, ctx.Err()
	}
	turn := message.Message{Finish: message.FinishCalls}
	for i := range 4 {
		n := c.spawned.Add(1) // no call is as an earlier one
		if top {
			turn.Calls = append(turn.Calls, background(fmt.Sprint(i), fmt.Sprint("branch ", n)))
		} else {
			turn.Calls = append(turn.Calls, spawn(fmt.Sprint(i), fmt.Sprint("leaf ", n)))
		}
	}
	return turn, nil
}

// enter is where a subagent begins, as far as it can be seen from outside.
func (c *crowd) enter(context.Context, subagents.Lineage) (*agentloop.Record, error) {
	n := c.working.Add(1)
	c.begun.Add(1)
	for p := c.peak.Load(); n > p && !c.peak.CompareAndSwap(p, n); p = c.peak.Load() {
	}
	return &agentloop.Record{Close: func() error {
		c.working.Add(-1)
		select {
		case c.left <- struct{}{}:
		default:
		}
		return nil
	}}, nil
}

// TestManySubagents has a thousand subagents in a tree ask for eight places: there are never more
// of them at work, those that are refused are told, and nothing is left.
func TestManySubagents(t *testing.T) {
	began := time.Now()
	c := &crowd{most: 8, want: 1000, hold: make(chan struct{}), left: make(chan struct{}, 1)}
	loop := &agentloop.Loop{Model: c, MaxTurns: 1 << 20, Subagents: &agentloop.Subagents{
		MaxConcurrent: int(c.most), Background: subagents.AutoPolicy, Record: c.enter}}
	end(t, loop.Run(t.Context(), user("go")))
	closed(t, loop)
	t.Logf("%d subagents, at most %d at a time, %d refused, %v", c.begun.Load(), c.peak.Load(),
		c.refused.Load(), time.Since(began).Round(time.Millisecond))
	if c.begun.Load() < c.want || c.peak.Load() != c.most || c.working.Load() != 0 {
		t.Errorf("%d begun, %d at a time, %d left", c.begun.Load(), c.peak.Load(), c.working.Load())
	}
	if c.refused.Load() == 0 {
		t.Error("nothing was refused")
	}
}
