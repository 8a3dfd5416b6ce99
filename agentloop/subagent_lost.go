package agentloop

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// findInAgent tells whether somebody must find out first about a call of a subagent that nobody goes
// on with, or of one below it: a write of which nobody knows whether it happened.
func (l *Loop) findInAgent(ctx context.Context, id string) error {
	if l.ID == "" || l.Subagents == nil || l.Subagents.Record == nil {
		return nil
	}
	run := subagents.RunID(l.tree.family.run, id)
	record, err := l.Subagents.Record(ctx, subagents.Lineage{ID: id, Run: run, Session: l.ID})
	if err != nil {
		return fmt.Errorf("subagent %s cannot be looked at: %w", id, err)
	}
	history := record.History
	if record.Close != nil {
		if err := record.Close(); err != nil {
			return err
		}
	}
	for _, c := range uncertain(history) {
		if c.Name == SpawnSubagent {
			err = l.findInAgent(ctx, subagents.ChildID(id, c.position))
		} else if _, e := recall(ctx, l.Tools, plugins.Place{Run: run, Position: c.position}); isUnknown(e) {
			err = fmt.Errorf("subagent %s: %w", id, e)
		}
		if err != nil {
			return err
		}
	}
	for _, j := range leftJobs(history) {
		if j.agent {
			err = l.findInAgent(ctx, j.id)
		} else {
			err = l.findInJob(ctx, plugins.Place{Run: run, Position: j.position}, j.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*plugins.ReconciliationError](err)
	return ok
}

// uncertain is the calls of a history that have no result, or one that does not tell what became of
// them.
func uncertain(history []message.Message) (list []openCall) {
	position := 0
	for i := range history {
		calls := history[i].Calls
		for n, c := range calls {
			position++
			if at := i + 1 + n; at >= len(history) || history[at].Result == nil ||
				history[at].Result.Outcome == message.Unknown {
				list = append(list, openCall{c, position})
			}
		}
	}
	return list
}
