package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/plugins"
)

// Keys of a result's _meta.
const (
	MetaError  = "wasmagent/error"  // of a failed call: kind, cause, fault, attempts
	MetaResult = "wasmagent/result" // of a good one, where there is something to tell
)

// errorMeta is what a program can act on when a call has failed. Its words are those of package
// plugins, and stable.
type errorMeta struct {
	Kind     string `json:"kind,omitempty"` // such as invalid_input; absent when no tool was at work
	Cause    string `json:"cause,omitempty"`
	Fault    string `json:"fault"` // who must act: caller, world, tool or host
	Attempts int    `json:"attempts"`
}

// resultMeta is what is worth knowing about a good call.
type resultMeta struct {
	Notes    []string `json:"notes,omitempty"` // on what was done to the arguments
	Attempts int      `json:"attempts"`
	Copied   bool     `json:"copied,omitempty"` // from the record of an earlier call of this key
}

func metaOf(err error) errorMeta {
	m := errorMeta{Cause: plugins.CauseOf(err), Fault: plugins.FaultOf(err).String()}
	if tool, ok := errors.AsType[*plugins.ToolError](err); ok {
		m.Kind, m.Attempts = tool.Kind.Error(), tool.Attempts
	}
	if m.Fault == plugins.FaultHost.String() {
		m = errorMeta{Fault: m.Fault} // what is wrong with the host is for its operator
	}
	return m
}

// failure is a failed call. It never has structured content: clients hold that against the output
// schema, which no error matches.
func failure(text string, meta errorMeta) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Meta:    mcp.Meta{MetaError: meta},
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		IsError: true,
	}
}

// shape is what a tool's results look like to clients.
type shape struct {
	structured bool // there is an output schema
	wrapped    bool // in {"result": …}, since the tool's value need not be an object
}

func result(s *session, res plugins.Result, show shape) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: content(s, res.Output)}
	if res.Copied || res.Attempts > 1 || len(res.Notes) > 0 {
		out.Meta = mcp.Meta{MetaResult: resultMeta{res.Notes, res.Attempts, res.Copied}}
	}
	if v := show.structure(res.Value); v != nil {
		out.StructuredContent = v
	}
	return out
}

// structure is the structured content for a tool's value, or nil. A tool may just have been
// replaced by one that gives something else than clients were told: what is no object stays away.
func (s shape) structure(value json.RawMessage) json.RawMessage {
	switch {
	case !s.structured || value == nil:
		return nil
	case s.wrapped:
		return bytes.Join([][]byte{[]byte(`{"result":`), value, []byte(`}`)}, nil)
	case bytes.TrimSpace(value)[0] != '{':
		return nil
	}
	return value
}
