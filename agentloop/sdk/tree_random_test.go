package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// TestAnyTreeDriving has callers drive an agent whose subagents, before the run and behind it, and
// whose jobs ask, too. Whatever is answered, withdrawn, said, interrupted and closed, and in
// whichever order: each question has one end, the conversation is whole, and the agent closes.
func TestAnyTreeDriving(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		loop := &agentloop.Loop{Model: &begins{rand: rand.New(rand.NewPCG(seed, 1))}, Tools: tools(t),
			MaxTurns: 4, Jobs: &jobs.Options{}, Budget: agentloop.Budget{Steps: 60},
			Subagents: &agentloop.Subagents{Background: rapid.SampledFrom([]subagents.Policy{
				subagents.AutoPolicy, subagents.Parent}).Draw(rt, "policy")}}
		a := sdk.New(gives(loop), &sdk.Options{Ask: true, Lockstep: rapid.Bool().Draw(rt, "lockstep")})
		defer a.Close()
		if _, err := a.Start(t.Context(), nil); err != nil {
			rt.Fatal(err)
		}
		answer := rapid.Bool().Draw(rt, "answers")
		var work sync.WaitGroup
		var wrong atomic.Pointer[string]
		work.Go(func() {
			open := map[string]bool{}
			for ev, err := range a.Events(context.Background(), 0) {
				switch {
				case err != nil:
					if len(open) > 0 {
						wrong.Store(new(fmt.Sprint("questions without an end: ", open)))
					}
					return
				case ev.Kind == sdk.Asked:
					open[ev.Question.ID] = true
					if answer {
						_ = a.Respond(ev.Question.ID, agentloop.Answer(ev.Seq%3)) // or it was withdrawn
					}
				case ev.Kind == sdk.Answered:
					if !open[ev.Question.ID] {
						wrong.Store(new("an answer to no question"))
					}
					delete(open, ev.Question.ID)
				}
			}
		})
		for i := range 3 {
			acts := rapid.SliceOfN(rapid.IntRange(0, 30), 5, 30).Draw(rt, fmt.Sprint("acts ", i))
			work.Go(func() {
				for n, act := range acts {
					var err error
					switch act {
					case 0, 1:
						err = a.Input(context.Background(), user("go"))
					case 2:
						err = a.Interrupt(nil)
					case 3:
						err = a.Steer(user("no, wait"))
					case 4:
						err = a.Respond(fmt.Sprintf("q-%d", n), agentloop.Answer(n%3))
					case 5:
						err = a.Export(io.Discard, "")
					default:
						for range 50 {
							_, err = letRun(a, n)
						}
					}
					if err != nil && agentloop.Code(err) != "sdk" {
						wrong.Store(new(fmt.Sprint("an error without a name: ", err)))
					}
				}
				if i == 0 {
					_ = a.Close() // what the tree ends with is not its callers' fault
				}
			})
		}
		work.Wait()
		if w := wrong.Load(); w != nil {
			rt.Error(*w)
		}
		if err := message.Check(loop.History()); err != nil {
			rt.Error(err)
		}
	})
}

// begins is a model that begins subagents and jobs, pays, fails and answers, by chance.
type begins struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (b *begins) n(most int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rand.IntN(most)
}

func (b *begins) Turn(_ context.Context, req message.Request) (message.Message, error) {
	if err := message.Check(req.Messages); err != nil {
		panic(err)
	}
	reply := message.Message{Text: "hm", Finish: message.FinishStop}
	switch b.n(10) {
	case 0:
		return reply, errors.New("it fails")
	case 1, 2:
		return reply, nil
	}
	for i := range 1 + b.n(3) {
		n := b.n(100)
		c := []message.Call{
			call("", "pay", fmt.Sprintf(`{"n":%d}`, n)),
			call("", "look", `{}`),
			call("", agentloop.SpawnSubagent, fmt.Sprintf(`{"task":"%d"}`, n)),
			call("", agentloop.SpawnSubagent, fmt.Sprintf(`{"task":"%d","background":true}`, n)),
			call("", agentloop.BackgroundExec, fmt.Sprintf(`{"tool":"pay","arguments":{"n":%d}}`, n)),
			call("", agentloop.SubagentStatus, fmt.Sprintf(`{"id":"s%d"}`, n%9)),
		}[b.n(6)]
		c.ID = fmt.Sprint(i)
		reply.Calls = append(reply.Calls, c)
	}
	return reply, nil
}
