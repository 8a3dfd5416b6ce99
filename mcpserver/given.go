package mcpserver

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// promise is a tool's output schema as clients see it.
type promise struct {
	spec    string          // as the registry has it; "": the tool promises nothing
	schema  json.RawMessage // nil: the tool promises nothing
	wrapped bool            // in {"result": …}, since the tool's value need not be an object
}

func promiseOf(spec string) promise {
	p := promise{spec: spec}
	if spec != "" {
		p.schema, p.wrapped = outputSchema(spec)
	}
	return p
}

// structure is the structured content for a value that was held against the schema, or nil.
func (p promise) structure(value json.RawMessage) json.RawMessage {
	switch {
	case p.schema == nil || value == nil:
		return nil
	case p.wrapped:
		return bytes.Join([][]byte{[]byte(`{"result":`), value, []byte(`}`)}, nil)
	}
	return value
}

// given are the output schemas of the tools that a session's client was given, by its own lists.
type given struct {
	shared bool // between clients that cannot be told apart

	mu    sync.Mutex
	tools map[string]givenSchema
}

type givenSchema struct {
	schema  json.RawMessage // nil: none
	changed time.Time       // when it took the place of another schema; zero: never
}

// note remembers what a list gives. Tools that it does not have stay, MaxGiven at most: there may
// be more pages, and a client that still knows a tool which has gone knows its schema too.
func (g *given) note(tools []*mcp.Tool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tools == nil || len(g.tools) >= MaxGiven {
		g.tools = map[string]givenSchema{}
	}
	for _, tool := range tools {
		schema, _ := tool.OutputSchema.(json.RawMessage) // as this package sets it
		known, ok := g.tools[tool.Name]
		if ok && known.schema != nil && !bytes.Equal(known.schema, schema) {
			known.changed = time.Now() // who knows of no schema holds nothing against one
		}
		known.schema = schema
		g.tools[tool.Name] = known
	}
}

// of is the schema that the client holds a tool's results against, and whether that is known. A
// client that has listed nothing is taken for one that knows what is offered now.
func (g *given) of(tool string, offered json.RawMessage) (schema json.RawMessage, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	has, ok := g.tools[tool]
	switch {
	case !ok:
		return offered, true
	case g.shared && !has.changed.IsZero() && time.Since(has.changed) < ListSettle:
		return nil, false
	}
	return has.schema, true
}
