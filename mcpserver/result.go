package mcpserver

import (
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

	// OtherSchema: what ran has not the output schema that the client was given, so there is no
	// structured content. The list of tools has changed, or is about to.
	OtherSchema bool `json:"otherSchema,omitempty"`
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

// result is what a client gets for a good call: with structured content if that matches the output
// schema that the client knows.
func result(s *session, res plugins.Result, structured json.RawMessage, unknown bool) (
	out *mcp.CallToolResult) {
	out = &mcp.CallToolResult{Content: content(s, res.Output)}
	if res.Copied || res.Attempts > 1 || len(res.Notes) > 0 || unknown {
		out.Meta = mcp.Meta{MetaResult: resultMeta{res.Notes, res.Attempts, res.Copied, unknown}}
	}
	if structured != nil {
		out.StructuredContent = structured
	}
	return out
}
