package main

import (
	"fmt"

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

// leftJobs names the background jobs that are at work, and tells whether a write is among them.
func (g *agent) leftJobs() (names []string, writes bool) {
	for _, j := range g.loop.RunningJobs() {
		about := j.Tool
		if effect, _ := g.tools.effect(j.Tool); effect == abi.EffectWrite {
			about, writes = about+", which may or may not have happened", true
		}
		names = append(names, fmt.Sprintf("%s (%s)", j.ID, about))
	}
	return names, writes
}

// job tells that a background job has begun or ended.
func (t *teller) job(who string, j *message.Job) {
	state := j.State
	if j.Code != nil {
		state = fmt.Sprintf("%s with code %d", state, *j.Code)
	}
	t.line("%s%s %s %s %s", who, t.paint().bold("job"), j.ID, oneLine(j.Tool), state)
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
