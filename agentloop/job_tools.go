package agentloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/plugins"
)

// The tools for background jobs.
const (
	BackgroundExec   = "background_exec"
	BackgroundStatus = "background_status"
	BackgroundList   = "background_list"
	BackgroundKill   = "background_kill"
)

// maxJobWait is how long one status may wait for the end of a job, in seconds.
const maxJobWait = 60

// jobInput is the arguments of background_exec.
type jobInput struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// jobID is those of the tools about one job.
type jobID struct {
	ID   string  `json:"id"`
	Wait float64 `json:"wait_seconds,omitempty"` // of background_status
}

// jobReport is what a model is told of a job. The end comes first, so that it is seen when the
// output is too long to be shown whole.
type jobReport struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool,omitempty"`
	State     jobs.State      `json:"state"`
	Code      *int            `json:"code,omitempty"`
	Error     *jobError       `json:"error,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Unread    int             `json:"unread,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Output    *string         `json:"output,omitempty"`
}

// jobError is why a job has no result, in the words and names of a call's result.
type jobError struct {
	Code  string `json:"code"`
	Cause string `json:"cause,omitempty"`
	Text  string `json:"text"`
}

// report is what one of the loop's own tools gives.
func report(v any) (plugins.Output, error) { return plugins.Output{Value: encode(v)}, nil }

// encode is JSON for a model, without the escapes that pages need.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // nothing of it can fail but a result, which is JSON already
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// makeTools makes the four tools. All but the list have an effect that keeps them from being run
// twice or side by side: a status takes what it gives.
func (b *background) makeTools() []plugins.Tool {
	return []plugins.Tool{
		jobTool(BackgroundExec, abi.EffectWrite, "Calls a tool in the background and gives the id of "+
			"the job at once. Its result and what it prints come by "+BackgroundStatus+". The job ends "+
			"with this conversation at the latest.",
			`"tool":{"type":"string","description":"the tool to call"},`+
				`"arguments":{"type":"object","description":"of that tool"}`, `"tool"`, b.exec),
		jobTool(BackgroundStatus, abi.EffectWrite, "Tells how a background job goes, and what it has "+
			"printed since the last time. The status that tells its end has its result, and is given once.",
			fmt.Sprintf(`%s,"wait_seconds":{"type":"number","minimum":0,"maximum":%d,`+
				`"description":"how long to wait for its end, if it runs; 0: not at all"}`, idProperty,
				maxJobWait), `"id"`, b.status),
		jobTool(BackgroundList, abi.EffectRead, "Lists the background jobs: those that run, and those "+
			"whose end was not told yet.", "", "", b.list),
		jobTool(BackgroundKill, abi.EffectWrite, "Ends a background job and gives its last status.",
			idProperty, `"id"`, b.kill),
	}
}

const idProperty = `"id":{"type":"string","description":"the id of the job"}`

func jobTool[In any](name string, effect abi.Effect, description, properties, required string,
	f func(context.Context, In) (plugins.Output, error)) plugins.Tool {
	return ownTool(abi.ToolSpec{Name: name, Description: description, Effect: effect,
		InputSchema: object(properties, required)}, f)
}

func (b *background) status(ctx context.Context, in jobID) (plugins.Output, error) {
	s, err := b.find(ctx, in.ID, func() (jobs.Status, error) {
		return b.table.Status(ctx, in.ID, time.Duration(in.Wait*float64(time.Second)))
	})
	return b.told(ctx, s, err)
}

func (b *background) kill(ctx context.Context, in jobID) (plugins.Output, error) {
	s, err := b.find(ctx, in.ID, func() (jobs.Status, error) { return b.table.Kill(ctx, in.ID) })
	return b.told(ctx, s, err)
}

func (b *background) list(ctx context.Context, _ struct{}) (plugins.Output, error) {
	all := []jobReport{}
	for _, j := range b.loop.lostOnes() {
		if j.agent {
			continue
		}
		s, err := b.loop.endOfLost(ctx, j)
		if err != nil {
			return plugins.Output{}, asItIs(err)
		}
		all = append(all, jobReport{ID: s.ID, Tool: s.Tool, State: s.State, Code: s.Code})
	}
	for _, s := range b.table.List() {
		all = append(all, jobReport{ID: s.ID, Tool: s.Tool, State: s.State, Code: s.Code,
			Unread: s.Unseen})
	}
	return report(map[string]any{"jobs": all})
}
