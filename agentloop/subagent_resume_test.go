package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// process is one that dies at a step: from then on nothing that it does has an effect.
type process struct {
	left   int // steps to live; 0: for ever
	dead   bool
	ledger plugins.Ledger
}

var errDead = errors.New("the process is dead")

func (p *process) step() error {
	if p.left > 0 {
		if p.left--; p.left == 0 {
			p.dead = true
		}
	}
	if p.dead {
		return errDead
	}
	return nil
}

func (p *process) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	if err := p.step(); err != nil {
		return plugins.Begun{}, err
	}
	begun, err := p.ledger.Begin(ctx, in)
	return begun, errors.Join(err, p.step())
}

func (p *process) End(ctx context.Context, id string, c plugins.Completion) error {
	if err := p.step(); err != nil {
		return err
	}
	return errors.Join(p.ledger.End(ctx, id, c), p.step())
}

// disk is what outlives a process: the records of the conversations, and what has been paid.
type disk struct {
	logs map[string]*record // by agent
	paid map[int]int        // how often
}

// log is an agent's record as a process writes it.
type log struct {
	*process
	*record
}

func (l log) Append(ctx context.Context, list ...message.Message) error {
	if err := l.step(); err != nil {
		return err
	}
	return errors.Join(l.record.Append(ctx, list...), l.step())
}

func (d *disk) of(agent string) *record {
	if d.logs[agent] == nil {
		d.logs[agent] = &record{}
	}
	return d.logs[agent]
}

// payer goes by what it is told alone, as a model does that is as good as ever: the top agent has a
// subagent pay 1 and 2, and pays 3 itself.
func payer(p *process) actor {
	return func(_ context.Context, req message.Request) (message.Message, error) {
		if err := p.step(); err != nil {
			return message.Message{}, err
		}
		n := len(results(req.Messages))
		pay := func(i int) looptest.Turn {
			return looptest.Call(call(fmt.Sprint("p", i), "pay", fmt.Sprintf(`{"n":%d}`, i)))
		}
		turns := []looptest.Turn{looptest.Call(spawn("a", "pay")), pay(3), looptest.Say("done")}
		if req.Messages[0].Text == "pay" {
			turns = []looptest.Turn{pay(1), pay(2), looptest.Say("paid")}
		}
		turn := turns[n].Message
		turn.Calls = append([]message.Call{}, turn.Calls...)
		return turn, nil
	}
}

// live has a process begin or go on with the conversation.
func (d *disk) live(t *testing.T, l plugins.Ledger, steps int, recorded bool) (*process, error) {
	t.Helper()
	p := &process{left: steps, ledger: l}
	tools := plugins.NewRegistry(&plugins.Options{Ledger: p})
	pay := writes("pay", func(_ context.Context, c plugins.Call) (plugins.Output, error) {
		var in struct{ N int }
		if err := errors.Join(p.step(), json.Unmarshal(c.Input, &in)); err != nil {
			return plugins.Output{}, err
		}
		d.paid[in.N]++
		return plugins.Output{Value: []byte(`"paid"`)}, p.step()
	})
	if err := tools.Add(pay); err != nil {
		t.Fatal(err)
	}
	loop := &agentloop.Loop{ID: "conversation", Tools: tools, Model: payer(p), Store: log{p, d.of("")},
		Approval: agentloop.Approval{Mode: agentloop.Never}, Subagents: &agentloop.Subagents{}}
	if recorded {
		loop.Subagents.Record = func(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
			return &agentloop.Record{Store: log{p, d.of(of.ID)}, History: d.of(of.ID).messages}, p.step()
		}
	}
	history := d.of("").messages
	if err := loop.Restore(history); err != nil {
		t.Fatal(err)
	}
	var input []message.Message
	if n := len(history); n == 0 {
		input = []message.Message{user("go")}
	} else if last := history[n-1]; last.Role == message.Assistant && len(last.Calls) == 0 {
		return p, nil
	}
	_, err := drain(loop.Run(t.Context(), input...))
	closed(t, loop)
	return p, err
}

// TestResumedSubagent kills the process at each of its steps, goes on in another one, and has a
// person find out about what is not known: nothing is ever paid twice, and the conversations come
// to their ends as if nothing had happened. Without a record of its own, the subagent begins anew
// and comes to the same places.
func TestResumedSubagent(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		for steps := 1; ; steps++ {
			if died := resumed(t, steps, recorded); !died {
				if steps < 25 {
					t.Errorf("only %d steps", steps)
				}
				break
			}
		}
	}
}

func resumed(t *testing.T, steps int, recorded bool) (died bool) {
	t.Helper()
	d := &disk{map[string]*record{}, map[int]int{}}
	file := filepath.Join(t.TempDir(), "ledger")
	open := func() *ledger.SQLite {
		l, err := ledger.Open(t.Context(), file, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	p, err := d.live(t, l, steps, recorded)
	if !p.dead && err != nil {
		t.Fatal(err)
	}
	undone := map[int]bool{}
	for range 3 { // another process, and once more when a person had to find out
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open()
		_, err = d.live(t, l, 0, recorded)
		unknown, ok := errors.AsType[*plugins.ReconciliationError](err)
		if !ok {
			break
		}
		var in struct{ N int }
		if err := json.Unmarshal(unknown.Input, &in); err != nil {
			t.Fatal(err)
		}
		how := ledger.Resolution{Happened: d.paid[in.N] > 0, Reason: "looked"}
		undone[in.N] = !how.Happened
		if err := l.Resolve(t.Context(), unknown.Place, how); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Errorf("step %d: %v", steps, err)
	}
	for n := 1; n <= 3; n++ {
		if times := d.paid[n]; times > 1 || times == 0 && !undone[n] {
			t.Errorf("step %d: %d was paid %d times", steps, n, times)
		}
	}
	for agent, log := range d.logs {
		isValid(t, log.messages)
		if last := log.messages[len(log.messages)-1]; last.Role != message.Assistant || last.Text == "" {
			t.Errorf("step %d: agent %q ends with %+v", steps, agent, last)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return p.dead
}

// TestDivergedSubagent pins that a subagent which begins anew and does something else than before
// ends the run: whether that is right, a person must say.
func TestDivergedSubagent(t *testing.T) {
	diverged := &plugins.DivergedError{Place: plugins.Place{Run: "r.s1", Position: 1}}
	loop := &agentloop.Loop{ID: "r", Tools: failing{diverged}, Subagents: &agentloop.Subagents{},
		Model: cast{"it": plays(looptest.Call(call("x", "f", ""))),
			"go": plays(looptest.Call(spawn("a", "it")))}}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if have, ok := errors.AsType[*plugins.DivergedError](err); !ok || have != diverged {
		t.Errorf("%v", err)
	}
	if r := results(loop.History())[0]; r.Outcome != message.Unknown {
		t.Errorf("%+v", r)
	}
	closed(t, loop)
}
