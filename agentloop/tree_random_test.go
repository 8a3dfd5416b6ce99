package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestAnyTree has everything at once: subagents of subagents, before the run and behind it, jobs of
// theirs, views that are reduced, a user who says more, people who are asked, and an end by whoever
// started the run or listens. Whatever happens, no provider would refuse a request, every
// conversation is whole and as its store has it, what an agent was shown less can be undone, who
// began has ended, and nothing is at work once the loop is closed.
func TestAnyTree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &wild{rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)),
			stores: map[string]*kept{}}
		tool := func(ctx context.Context, c plugins.Call) (plugins.Output, error) { return w.tool(ctx, &c) }
		loop := &agentloop.Loop{
			Model: w, Tools: registry(t, reads("look", tool), writes("do", tool)), MaxTurns: 5,
			Store:    w.store(""),
			Parallel: rapid.Bool().Draw(rt, "parallel"),
			Jobs:     &jobs.Options{MaxConcurrent: 2},
			Budget:   agentloop.Budget{Steps: 60},
			Approval: agentloop.Approval{Ask: func(ctx context.Context, _ agentloop.Question) (
				agentloop.Answer, error) {
				return agentloop.Answer(w.n(3)), nil
			}},
			Subagents: &agentloop.Subagents{MaxConcurrent: 3,
				Background: rapid.SampledFrom([]subagents.Policy{subagents.AutoPolicy, subagents.Parent}).
					Draw(rt, "policy"),
				Agents: map[string]subagents.Definition{"reader": {Tools: []string{"look"}}},
				Record: func(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
					return &agentloop.Record{Store: w.store(of.ID)}, nil
				}},
		}
		if rapid.Bool().Draw(rt, "reduction") {
			loop.ContextLimit = 20_000
			loop.Reduction = &agentloop.Reduction{Policy: reduce.Policy{Trigger: 1000, Keep: 100}}
		}
		if rapid.Bool().Draw(rt, "cap") {
			loop.OutputCap = 1024
		}
		begun := map[string]int{}
		heard := true
		for range rapid.IntRange(1, 3).Draw(rt, "runs") {
			ctx, stop := context.WithCancel(t.Context())
			loop.Steering = new(agentloop.Steering)
			said := make(chan struct{})
			go func() {
				defer close(said)
				for range w.n(4) {
					_ = loop.Steering.Say(user("no, wait")) // it may have ended
				}
			}()
			stopAt := rapid.IntRange(1, 150).Draw(rt, "stop")
			leaveAt := rapid.IntRange(1, 300).Draw(rt, "leave")
			n := 0
			for ev := range loop.Run(ctx, user("go")) {
				switch ev.Kind {
				case message.AgentStarted:
					begun[ev.Agent]++
				case message.AgentEnded:
					begun[ev.Agent]--
				}
				if n++; n == stopAt {
					stop()
				}
				if n == leaveAt {
					heard = false
					break
				}
			}
			stop()
			<-said
			checkAll(rt, loop.History(), w.store("").list())
		}
		if err := loop.Close(); err != nil {
			rt.Error(err)
		}
		if len(loop.RunningJobs())+len(loop.RunningSubagents()) > 0 {
			rt.Error("something is at work still")
		}
		for id, n := range begun {
			if n < 0 || n > 0 && heard && slices.Contains(w.foreground, id) {
				rt.Errorf("%s began %d times more than it ended", id, n)
			}
		}
		for _, fault := range reduce.Verify(loop.History(), loop.Reductions()) {
			rt.Error(fault)
		}
		for id, s := range w.stores {
			if err := message.Check(s.list()); err != nil {
				rt.Errorf("%q: %v", id, err)
			}
		}
		if w.wrong != nil {
			rt.Error(w.wrong)
		}
	})
}

// wild is a model of many agents, and what their tools do. What comes of it is left to chance.
type wild struct {
	mu         sync.Mutex
	rand       *rand.Rand
	stores     map[string]*kept
	foreground []string
	wrong      error
}

func (w *wild) n(most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(most)
}

func (w *wild) tool(ctx context.Context, c *plugins.Call) (plugins.Output, error) {
	switch w.n(8) {
	case 0:
		return plugins.Output{}, errors.New("broken")
	case 1:
		if c.Started != nil { // a job, which somebody ends
			<-ctx.Done()
			return plugins.Output{}, ctx.Err()
		}
	case 2, 3:
		text := fmt.Sprintf("[reduced output r%04d-0000: 1 of 2 bytes left out]", w.n(20))
		return plugins.Output{Value: []byte(`"` + strings.Repeat("done ", 3000) + `\n` + text + `"`)}, nil
	}
	return plugins.Output{Value: []byte(`"done"`)}, nil
}

func (w *wild) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	if err := message.Check(req.Messages); err != nil {
		w.mu.Lock()
		w.wrong = err
		w.mu.Unlock()
	}
	reply := message.Message{Text: "hm", Finish: message.FinishStop}
	switch w.n(12) {
	case 0:
		return reply, errors.New("it fails")
	case 1, 2:
		return reply, nil
	}
	for range 1 + w.n(4) {
		c := message.Call{Name: "look", Arguments: fmt.Sprintf(`{"n":%d}`, w.n(1000))}
		if w.n(3) > 0 {
			tool := req.Tools[w.n(len(req.Tools))]
			c.Name, c.Arguments = tool.Name, w.arguments(tool.Name)
		}
		reply.Calls = append(reply.Calls, c)
	}
	return reply, nil
}

func (w *wild) arguments(tool string) string {
	id := fmt.Sprintf("s%d", w.n(20))
	var arguments any
	switch tool {
	case agentloop.SpawnSubagent:
		arguments = map[string]any{"task": fmt.Sprint("t", w.n(1000)), "background": w.n(2) == 0}
		if w.n(3) == 0 {
			arguments = map[string]any{"task": "t", "agent_type": "reader"}
		}
	case agentloop.BackgroundExec:
		arguments = map[string]any{"tool": []string{"look", "do", "nope"}[w.n(3)]}
	case "sidecar_search":
		arguments = map[string]any{"text": "done"}
	case "expand_reduction":
		arguments = map[string]any{"id": fmt.Sprintf("r%04d-0000", w.n(20))}
	case "look", "do", agentloop.BackgroundList:
		arguments = map[string]any{}
	default:
		arguments = map[string]any{"id": id}
	}
	text, _ := json.Marshal(arguments) // they are maps of words
	return string(text)
}

func (w *wild) store(agent string) *kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stores[agent] == nil {
		w.stores[agent] = &kept{}
	}
	return w.stores[agent]
}

// kept is a store that may be looked at while it is written.
type kept struct {
	mu   sync.Mutex
	have []message.Message
}

func (k *kept) Append(_ context.Context, list ...message.Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.have = append(k.have, list...)
	return nil
}

func (k *kept) list() []message.Message {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.have)
}
