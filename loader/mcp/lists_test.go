package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/loader/mcp"
)

// A list that never ends is read to its limit.
func TestEndlessPages(t *testing.T) {
	page := `{"tools":[],"nextCursor":"more"}`
	s, err := over(t, mcp.Server{}, nil, replies(page, ok))
	if err != nil {
		t.Fatal(err)
	}
	if held := s.Withheld(); len(held) != 1 || !strings.Contains(held[0].Reason, "64 pages") {
		t.Error(held)
	}
}

// A list is read up to a size, whatever is in it: a tool at the limit passes.
func TestBigLists(t *testing.T) {
	tool := &sdk.Tool{Name: "go", InputSchema: map[string]any{"type": "object"}, Description: "x"}
	short, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	for past, want := range []string{"go", ""} {
		tool.Description = strings.Repeat("x", mcp.MaxListBytes-len(short)+1+past)
		text, _ := json.Marshal(tool)
		s, err := over(t, mcp.Server{}, nil, replies(tools(string(text)), ok))
		if err != nil {
			t.Fatal(err)
		}
		if got := names(s); got != want || len(s.Withheld()) != past {
			t.Errorf("%d bytes past the limit: offered %q, withheld %v", past, got, s.Withheld())
		}
	}
}

// A server that never answers what does not matter is used all the same.
func TestSilenceAboutItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := strings.Replace(hello, `"capabilities":{`, `"capabilities":{"logging":{},`, 1)
		s, err := over(t, mcp.Server{}, nil, func(p pipes) {
			for m, ok := p.next(); ok; m, ok = p.next() {
				switch m.Method {
				case "initialize":
					p.answer(m, logs)
				case "tools/list":
					p.answer(m, oneTool)
				}
			}
		})
		if err != nil || names(s) != "go" {
			t.Error(err)
		}
	})
}
