package main

import (
	"fmt"
	"strings"
)

// finish ends what a conversation has left at work, and says so.
func (g *agent) finish() error {
	jobs, subagents := g.leftJobs(), g.loop.RunningSubagents()
	err := g.loop.Close()
	if len(jobs) > 0 {
		g.heard.warn(fmt.Sprintf("%s still at work when the conversation ended, and killed: %s",
			count(len(jobs), "background job"), strings.Join(jobs, ", ")))
	}
	if len(subagents) > 0 {
		g.heard.warn(fmt.Sprintf("%s still at work when the conversation ended, and ended with it: %s",
			count(len(subagents), "subagent"), strings.Join(subagents, ", ")))
	}
	return err
}
