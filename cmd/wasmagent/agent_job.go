package main

import (
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/plugins"
)

// jobsOf is what the configuration says about background jobs; nil: there are none.
func jobsOf(c *config.Config) *jobs.Options {
	if !c.Capabilities.ToolsBackground.Enabled {
		return nil
	}
	return &jobs.Options{MaxConcurrent: c.Capabilities.ToolsBackground.MaxConcurrent}
}

// finish ends what a conversation has left at work, and says so.
func (g *agent) finish() error {
	left := g.loop.RunningJobs()
	err := g.loop.Close()
	if len(left) == 0 {
		return err
	}
	names := make([]string, len(left))
	for i, j := range left {
		names[i] = fmt.Sprintf("%s (%s)", j.ID, j.Tool)
	}
	g.heard.warn(fmt.Sprintf("%s still at work when the conversation ended, and killed: %s",
		count(len(left), "background job"), strings.Join(names, ", ")))
	return err
}

// job tells that a background job has begun or ended.
func (t *teller) job(j *message.Job) {
	state := j.State
	if j.Code != nil {
		state = fmt.Sprintf("%s with code %d", state, *j.Code)
	}
	t.line("%s %s %s %s", t.paint().bold("job"), j.ID, oneLine(j.Tool), state)
}

// alsoTell has what a tool says told here, beside whoever the call has it told already.
func (t *agentTools) alsoTell(call *plugins.Call) {
	logged, reported := call.Log, call.Progress
	toLog := t.app.guestLog(call.Tool)
	id, tool := call.ID, call.Tool
	call.Log = func(level abi.Level, text string) {
		if logged != nil {
			logged(level, text)
		}
		toLog(level, text)
	}
	call.Progress = func(p abi.Progress) {
		if reported != nil {
			reported(p)
		}
		t.heard.progress(id, tool, p)
	}
}
