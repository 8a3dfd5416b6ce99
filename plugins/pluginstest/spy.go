package pluginstest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Spy is a tool that remembers how it was called. It is safe for concurrent use.
type Spy struct {
	// Is is the tool's spec.
	Is abi.ToolSpec

	// Reply answers a call; nil answers null.
	Reply func(ctx context.Context, call plugins.Call) (plugins.Output, error)

	mu    sync.Mutex
	calls []plugins.Call
}

// Spec implements plugins.Tool.
func (s *Spy) Spec() abi.ToolSpec { return s.Is }

// Invoke implements plugins.Tool.
func (s *Spy) Invoke(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	seen := call
	seen.Input = bytes.Clone(call.Input)
	s.mu.Lock()
	s.calls = append(s.calls, seen)
	s.mu.Unlock()
	if s.Reply == nil {
		return plugins.Output{Value: json.RawMessage("null")}, nil
	}
	return s.Reply(ctx, call)
}

// Calls lists the calls so far, in the order they came.
func (s *Spy) Calls() []plugins.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}
