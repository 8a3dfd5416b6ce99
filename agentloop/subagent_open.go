package agentloop

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// keepOpen keeps a subagent in the background whose end is that somebody must find out first whether
// a call of its happened: as with a call of the loop's own, it goes on from there once that is
// recorded.
func (k *child) keepOpen(err error) bool {
	if _, ok := errors.AsType[*plugins.ReconciliationError](err); !ok || k.loop.ID == "" {
		return false
	}
	t := &k.parent.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*child{}
	}
	t.open[k.lineage.ID] = k
	return true
}

// waiting lists the subagents that are kept so.
func (t *tree) waiting() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// goOnWith has such a subagent go on, now that a run has ended with its error: with its record, or
// with what it has said where there is none. When nobody has found out yet it ends in the same way.
func (l *Loop) goOnWith(ctx context.Context, id string) (plugins.Output, error) {
	gauge := &l.tree.family.gauge
	if err := gauge.Acquire(l.Subagents.maxConcurrent()); err != nil {
		return plugins.Output{}, asItIs(err)
	}
	next, err := l.reopen(ctx, id)
	if err != nil {
		gauge.Release()
		return plugins.Output{}, plugins.HostFault(err)
	}
	next.tell(message.Event{Kind: message.AgentStarted, Text: next.lineage.Task})
	return l.spawnBackground(ctx, next)
}

// reopen makes the subagent anew that was closed with its end.
func (l *Loop) reopen(ctx context.Context, id string) (*child, error) {
	t := &l.tree
	t.mu.Lock()
	last := t.open[id]
	t.mu.Unlock()
	of := &last.lineage
	next, err := l.newChild(context.WithValue(ctx, callKey{}, last.call),
		&subagents.Request{Task: of.Task, AgentType: of.AgentType, Background: true}, last.def)
	if err == nil && l.Subagents.Record == nil {
		err = next.loop.Restore(last.loop.History())
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	delete(t.open, id)
	t.mu.Unlock()
	return next, nil
}
