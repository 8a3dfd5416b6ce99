package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/plugins"
)

// finish ends what a conversation that has ended with err has left at work, and says so. A write
// that it cuts off is an error: nobody knows whether it happened.
func (g *agent) finish(err error) error {
	jobs, writes := g.leftJobs()
	subagents := g.loop.RunningSubagents()
	closed := g.loop.Close()
	if len(jobs) > 0 {
		text := fmt.Sprintf("%s still at work when the conversation ended, and killed: %s",
			count(len(jobs), "background job"), strings.Join(jobs, ", "))
		if writes && g.session == nil && len(g.flags.keys) > 0 {
			text += "; " + g.app.quoted("recover") + " tells what is recorded of calls with a key"
		}
		g.heard.warn(text)
	}
	if len(subagents) > 0 {
		g.heard.warn(fmt.Sprintf("%s still at work when the conversation ended, and ended with it: %s",
			count(len(subagents), "subagent"), strings.Join(subagents, ", ")))
	}
	if err == nil {
		return closed
	}
	if lost, ok := errors.AsType[*plugins.ReconciliationError](closed); ok { // err hides it
		g.heard.warn(closed.Error() + "; " + g.app.resolveHint(lost.Place.String()))
	}
	return err
}
