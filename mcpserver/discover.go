package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// The tools of the server itself.
const (
	searchTools = "search_tools"
	callTool    = "call_tool"
	readMore    = excerpt.Name
)

// newOwn is the registry of the server's own tools: their arguments are checked and their failures
// told like any others.
func newOwn(s *Server) *plugins.Registry {
	own := plugins.NewRegistry(nil)
	if err := own.Add(searcher{s}, caller{}, reader{}); err != nil {
		panic(err) // a mistake in this file
	}
	return own
}

// reader is read_more over the outputs of the session that calls.
type reader struct{}

func (reader) Spec() abi.ToolSpec { return (&excerpt.Store{}).Tool().Spec() }

func (reader) Invoke(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	return sessionOf(ctx).outputs.Tool().Invoke(ctx, call)
}

// caller is call_tool. Its Invoke gives back the arguments, which the registry has checked.
type caller struct{}

var callerSpec = abi.ToolSpec{
	Name: callTool,
	Description: "Calls a tool by its name. " + searchTools + " finds names, and the schema that " +
		"the arguments must match.",
	InputSchema: `{"type":"object","additionalProperties":false,"required":["name"],"properties":{` +
		`"name":{"type":"string","description":"of the tool"},` +
		`"arguments":{"type":"object","description":"of the call, as the tool's schema wants them"}}}`,
}

func (caller) Spec() abi.ToolSpec { return callerSpec }

func (caller) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	return plugins.Output{Value: append(json.RawMessage{}, call.Input...)}, nil
}

// callByName carries out call_tool with arguments that were checked: the very call that a client
// makes of a tool it sees.
func (s *Server) callByName(ctx context.Context, req *mcp.CallToolRequest, args json.RawMessage) (
	*mcp.CallToolResult, error) {
	var in struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return s.failed(ctx, callTool, err)
	}
	res, err := s.run(ctx, req, in.Name, in.Arguments)
	return s.answer(ctx, in.Name, res, err)
}

// searcher is search_tools.
type searcher struct{ server *Server }

var searcherSpec = abi.ToolSpec{
	Name: searchTools,
	Description: "Finds tools by what they do. Gives the names, descriptions and schemas of those " +
		"that fit best; call_tool calls one.",
	InputSchema: fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["query"],`+
		`"properties":{"query":{"type":"string","minLength":1,"maxLength":%d,"description":`+
		`"words of a name or a description"},"limit":{"type":"integer","minimum":1,"maximum":%d,`+
		`"description":"how many tools to give; %d when absent"}}}`, MaxQuery, MaxSearchHits,
		searchHits),
	Effect: abi.EffectRead,
}

func (searcher) Spec() abi.ToolSpec { return searcherSpec }

// hit is a tool as a search gives it.
type hit struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Effect      string          `json:"effect"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // absent when there is no room for it
}

func (t searcher) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	in := struct {
		Query string
		Limit int
	}{Limit: searchHits}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return plugins.Output{}, err
	}
	x := t.server.found.Load()
	found := x.search(in.Query)
	found = found[:min(len(found), in.Limit)]
	if len(found) == 0 {
		none := fmt.Sprintf("None of the %d tools fits. Try other words, or fewer.", len(x.specs))
		return plugins.Output{Content: []abi.Block{{Type: "text", Text: none}}}, nil
	}
	return plugins.Output{Value: encode(hits(found))}, nil
}

// hits fills what a model can be shown: first the names and descriptions of all, then the schemas
// of as many as there is room for, the best first.
func hits(found []abi.ToolSpec) []hit {
	all := make([]hit, len(found))
	room := excerpt.DefaultMax
	for i, spec := range found {
		all[i] = hit{Name: spec.Name, Effect: spec.Effect.String(),
			Description: abi.CleanText(spec.Description, room/(2*len(found)*maxJSONChar))}
		room -= len(encode(all[i])) + len(`,"inputSchema":`) + 1
	}
	for i, spec := range found {
		if schema := plainSchema(spec.InputSchema); len(schema) <= room {
			all[i].InputSchema = schema
			room -= len(schema)
		}
	}
	return all
}

// maxJSONChar is how many bytes a clean character takes in JSON at most.
const maxJSONChar = 4
