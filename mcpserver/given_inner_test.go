package mcpserver

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestGiven pins which schema a client is taken to know, and for how long those that share a session
// are taken to know none.
func TestGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offered := json.RawMessage(`"offered"`)
		for _, shared := range []bool{false, true} {
			g := &given{shared: shared}
			want := func(what, schema string, known bool) {
				t.Helper()
				have, ok := g.of("a", offered)
				if ok != known || ok && string(have) != schema {
					t.Errorf("shared %v, %s: %s, %v", shared, what, have, ok)
				}
			}
			list := func(schema string) {
				tool := &mcp.Tool{Name: "a"}
				if schema != "" {
					tool.OutputSchema = json.RawMessage(schema)
				}
				g.note([]*mcp.Tool{tool, {Name: "b"}})
			}
			want("nothing listed", `"offered"`, true)
			list(`1`)
			want("listed", `1`, true)
			list(`1`)
			want("listed again", `1`, true)
			g.note([]*mcp.Tool{{Name: "b"}})
			want("gone from the list", `1`, true)
			list(`2`)
			want("changed", `2`, !shared)
			time.Sleep(ListSettle - 1)
			want("just within the time", `2`, !shared)
			time.Sleep(time.Nanosecond)
			want("after it", `2`, true)
			list(``)
			time.Sleep(ListSettle)
			want("without a schema", ``, true)
			list(`3`)
			want("a schema where there was none", `3`, true)
		}
	})
}

// A client is not kept whatever a source of tools has ever thought of.
func TestGivenIsBounded(t *testing.T) {
	var g given
	g.note([]*mcp.Tool{{Name: "first", OutputSchema: json.RawMessage(`{}`)}})
	for i := range MaxGiven - 1 {
		g.note([]*mcp.Tool{{Name: fmt.Sprint("t", i)}})
	}
	if schema, _ := g.of("first", nil); schema == nil {
		t.Error("the first is forgotten at the limit")
	}
	g.note([]*mcp.Tool{{Name: "one more"}})
	if len(g.tools) != 1 {
		t.Errorf("%d are kept past the limit", len(g.tools))
	}
}
