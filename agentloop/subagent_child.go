package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// child is a subagent: a loop that works on one task, and is closed with that.
type child struct {
	loop    *Loop
	lineage subagents.Lineage
	def     *subagents.Definition
	call    *call // that began it
	parent  *Loop
	close   func() error // its record; nil: there is none
}

// newChild makes a subagent, and opens its record.
func (l *Loop) newChild(ctx context.Context, req *subagents.Request,
	def *subagents.Definition) (*child, error) {
	c := callOf(ctx)
	sub := l.heir()
	t := &sub.tree
	t.agent = subagents.ChildID(l.tree.agent, c.position)
	t.offers = l.tree.narrowedBy(def)
	if sub.Tools != nil && def.Tools != nil {
		sub.Tools = narrowed{sub.Tools, def.Offers}
	}
	sub.ID = subagents.RunID(t.family.run, t.agent)
	if def.System != "" {
		sub.System = def.System
	}
	if def.Model != "" {
		if err := sub.useModel(def.Model); err != nil {
			return nil, fmt.Errorf("agent type %s: %w", req.AgentType, err)
		}
	}
	sub.Approval.Ask = l.askInForeground()
	if req.Background {
		sub.Approval.Ask = l.askInBackground()
	}
	k := &child{loop: sub, parent: l, def: def, call: c, lineage: subagents.Lineage{
		ID: t.agent, Run: sub.ID, Session: l.ID, Parent: l.tree.agent, Call: c.ID, Depth: t.depth,
		AgentType: req.AgentType, Task: req.Task, Background: req.Background, Time: l.now().UTC(),
		Model: sub.ModelName,
	}}
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	c.meta = k.meta()
	return k, nil
}

// heir is a loop one level down with all that a subagent has from its parent: the fields that are
// not named here are its own. What it spends counts for those above it, and their budgets for it.
func (l *Loop) heir() *Loop {
	sub := &Loop{
		Model: l.Model, ModelName: l.ModelName, Tools: l.Tools, System: l.System,
		MaxTurns: l.MaxTurns, ContextLimit: l.ContextLimit, Parallel: l.Parallel,
		OutputCap: l.OutputCap, Approval: l.Approval, Hooks: l.Hooks, Now: l.Now,
		Jobs: l.Jobs, Subagents: l.Subagents, Budget: Budget{Prices: l.Budget.Prices},
	}
	if r := l.Reduction; r != nil {
		sub.Reduction = &Reduction{Policy: r.Policy} // its log is of another conversation
	}
	sub.tree.parent, sub.tree.family, sub.tree.depth = l, l.tree.family, l.tree.depth+1
	return sub
}

// useModel gives a subagent the model that its definition names.
func (l *Loop) useModel(name string) error {
	m, err := l.Subagents.Model(name)
	if err != nil {
		return err
	}
	for a := l; a != nil; a = a.tree.parent {
		if a.Budget.Dollars > 0 && m.Prices == (Prices{}) {
			return &SdkError{SdkInvalidArgument,
				fmt.Errorf("a budget in dollars needs the prices of the model %s, and there are none", name)}
		}
	}
	l.Model, l.ModelName, l.ContextLimit, l.Budget.Prices = m.Model, name, m.ContextLimit, m.Prices
	return nil
}

// open opens the record of the conversation, and takes up what is in it.
func (k *child) open(ctx context.Context) error {
	open := k.loop.Subagents.Record
	if open == nil {
		return nil
	}
	record, err := open(ctx, k.lineage)
	if err != nil {
		return fmt.Errorf("subagent %s cannot be recorded: %w", k.lineage.ID, err)
	}
	k.loop.Store, k.close = record.Store, record.Close
	if err := k.loop.Restore(record.History); err != nil {
		return errors.Join(fmt.Errorf("subagent %s: %w", k.lineage.ID, err), k.end())
	}
	if k.loop.Reduction == nil {
		return nil
	}
	k.loop.Reduction.Save = record.Save
	if err := k.loop.RestoreReductions(record.Reductions); err != nil {
		k.tell(message.Event{Kind: message.Warning,
			Text: fmt.Sprintf("%v; what the model is shown is reduced anew", err)})
	}
	return nil
}

// end closes a subagent: its own subagents end with it.
func (k *child) end() error {
	err := k.loop.Close()
	for _, ev := range k.loop.Untold() {
		k.tell(ev)
	}
	if k.close != nil {
		err = errors.Join(err, k.close())
	}
	return err
}

// tell tells the parent's run of an event.
func (k *child) tell(ev message.Event) {
	if ev.Agent == "" {
		ev.Agent = k.lineage.ID
	}
	k.parent.tree.inbox.Put(ev)
}

// work has the subagent do its task, and gives its answer. However that ends, the subagent is
// closed then, ended is called, and after that its end is told.
func (k *child) work(ctx context.Context, ended func(answer string, err error)) (answer string,
	err error) {
	err = errors.New("it ended its goroutine (runtime.Goexit)")
	defer func() {
		if v := recover(); v != nil {
			err = &plugins.PanicError{Value: v, Stack: debug.Stack()}
		}
		if e := k.end(); err == nil {
			err = e
		}
		ended(answer, err)
		k.tellEnd(err)
	}()
	return k.converse(ctx)
}

// tellEnd tells the parent's run how the subagent has ended.
func (k *child) tellEnd(err error) {
	end := message.Event{Kind: message.AgentEnded, End: message.EndAnswer}
	if err != nil {
		end.End, end.Text = "", err.Error()
	}
	if stopped, ok := errors.AsType[*noAnswerError](err); ok {
		end.End, end.Text = stopped.end, stopped.why
	}
	k.tell(end)
}

// converse runs the subagent's loop until it has an answer.
func (k *child) converse(ctx context.Context) (answer string, err error) {
	if last := k.answered(); last != nil {
		return answerOf(last), k.loop.findJobs(ctx)
	}
	for ev, err := range k.loop.Run(ctx, k.input()...) {
		switch {
		case err != nil:
			return "", err
		case ev.Kind != message.Ended:
			k.tell(ev)
		case ev.End != message.EndAnswer:
			return "", &noAnswerError{ev.End, ev.Text}
		default:
			answer = answerOf(ev.Message)
		}
	}
	return answer, nil
}

// answered is the answer of a subagent that had ended before its parent could note that.
func (k *child) answered() *message.Message {
	if n := len(k.loop.history); n > 0 {
		last := &k.loop.history[n-1]
		if last.Role == message.Assistant && len(last.Calls) == 0 && last.Finish != message.FinishPause {
			return last
		}
	}
	return nil
}

// input is what a subagent is told, if it has not been told already.
func (k *child) input() []message.Message {
	if len(k.loop.history) > 0 {
		return nil
	}
	return []message.Message{{Role: message.User, Text: k.lineage.Task, Meta: k.meta()}}
}

func (k *child) meta() map[string]json.RawMessage {
	text, err := json.Marshal(&k.lineage)
	if err != nil {
		panic(err) // its fields have a form
	}
	return map[string]json.RawMessage{MetaSubagent: text}
}

// answerOf is a subagent's answer for its parent's model.
func answerOf(m *message.Message) string {
	switch m.Finish {
	case message.FinishLength:
		return m.Text + "\n[cut off: the subagent's answer reached its model's length limit]"
	case message.FinishRefusal:
		return m.Text + "\n[the subagent's model, or a filter before it, refused to go on]"
	}
	return m.Text
}

// noAnswerError is a subagent that was stopped by a budget, or by its own repetition.
type noAnswerError struct {
	end message.End
	why string
}

func (e *noAnswerError) Error() string { return "it ended without an answer: " + e.why }

// asToolError is a subagent's error as its parent has it. The parent's model is told of what went
// wrong with the task; what a person has to look at, such as a ledger that cannot go on, ends the
// parent's run, too.
func (k *child) asToolError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	err = k.named(err)
	if failedAtTask(err) {
		return &ToolError{Kind: plugins.ErrHandler, Err: err}
	}
	return plugins.HostFault(err)
}

// named is an error that says whose it is.
func (k *child) named(err error) error { return fmt.Errorf("subagent %s: %w", k.lineage.ID, err) }

// failedAtTask tells a subagent's failure from what a person has to look at.
func failedAtTask(err error) bool {
	if _, ok := errors.AsType[*noAnswerError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*plugins.PanicError](err); ok {
		return true
	}
	if other, ok := errors.AsType[*OtherError](err); ok {
		return other.Where == "model"
	}
	switch Code(err) {
	case "http", "provider", "decode", "max_iterations", "context_limit_exceeded":
		return true
	}
	return false
}
