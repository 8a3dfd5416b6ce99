package extism

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// Keys of a call's _meta, for plugins that work with them. They are those that MCP servers get.
const (
	metaKey     = "wasmagent/key"     // the idempotency key; absent when the call is not keyed
	metaAttempt = "wasmagent/attempt" // from 1
)

// listID is the request's id when no call is made.
const listID = "list"

// callParams name a tool and have its arguments.
type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// requestContext is what the second version tells about a request.
type requestContext struct {
	ID   string         `json:"id"`
	Meta map[string]any `json:"_meta"`
}

// listInput is what the plugin is given when it is asked for its tools.
func (v *hyperVersion) listInput() []byte {
	if v == &hyperV1 {
		return nil
	}
	return encode(map[string]any{"context": requestContext{listID, map[string]any{}}})
}

// callInput is what the plugin is given to call a tool by its own name for it.
func (v *hyperVersion) callInput(original string, call *plugins.Call) []byte {
	params := callParams{original, json.RawMessage("{}")}
	if len(call.Input) > 0 {
		params.Arguments = call.Input
	}
	if v == &hyperV1 {
		return encode(map[string]any{"params": params})
	}
	c := requestContext{cmp.Or(call.ID, "call"), map[string]any{metaAttempt: max(call.Attempt, 1)}}
	if call.Key != "" {
		c.Meta[metaKey] = call.Key
	}
	if call.Progress != nil {
		c.Meta["progressToken"] = c.ID
	}
	return encode(map[string]any{"request": params, "context": c})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and arguments that were checked have a form
	}
	return b
}

// checkInput holds arguments that nobody looked at against what can be carried.
func checkInput(input json.RawMessage) error {
	if len(input) == 0 {
		return nil
	}
	_, err := transcode.AppendMsgpack(nil, input)
	return err
}

// Call implements loader.Module.
func (m *hyperModule) Call(ctx context.Context, call *plugins.Call, obs *host.Observer) (
	out plugins.Output, stats host.CallStats, err error) {
	tool, ok := m.tools[call.Tool]
	if !ok {
		return out, stats, fmt.Errorf("no tool of the name %q", call.Tool)
	}
	if call.Packed == nil { // not called by a registry
		if err := checkInput(call.Input); err != nil {
			return out, stats, &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: err}
		}
	}
	input := m.version.callInput(tool.original, call)
	answer, stats, err := m.runnable(m.guest).run(ctx, m.version.call, input, obs)
	if err != nil {
		return out, stats, err
	}
	out, err = readResult(answer, tool.described)
	return out, stats, err
}
