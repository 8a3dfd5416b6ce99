package mcp_test

import (
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// The operator's rules go by the server's own names, and reach the registry with the tools.
func TestRules(t *testing.T) {
	read := abi.EffectRead
	server := mcp.Server{Name: "gh", Rules: map[string]plugins.Rule{
		"getUser": {Effect: &read}, "put": {Key: "id"}}}
	s, err := over(t, server, nil, replies(tools(toolNamed("getUser"), toolNamed("put")), ok))
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, s, "gh_put", `{}`)
	if !errors.Is(err, plugins.ErrMissingIdempotencyKey) {
		t.Errorf("a call without its key: %v", err)
	}
	for _, tool := range s.Tools() {
		rule, effect := tool.(plugins.Ruler).Rule(), tool.Spec().Effect
		switch name := tool.Spec().Name; name {
		case "gh_get_user":
			if effect != abi.EffectRead || rule.Effect == nil || rule.Key != "" {
				t.Errorf("%s: %v, %+v", name, effect, rule)
			}
		default:
			if effect != abi.EffectWrite || rule.Effect != nil || rule.Key != "id" {
				t.Errorf("%s: %v, %+v", name, effect, rule)
			}
		}
	}
}

// A rule for a tool that is not there was meant for one that is.
func TestRuleForNoTool(t *testing.T) {
	for name, c := range map[string]struct {
		server mcp.Server
		good   bool
	}{
		"mistyped": {mcp.Server{Rules: map[string]plugins.Rule{"puts": {}}}, false},
		"allowed and not there": {mcp.Server{Tools: []string{"puts"},
			Rules: map[string]plugins.Rule{"puts": {}}}, false},
		"past the limit, which nobody read": {mcp.Server{Limits: mcp.Limits{Tools: 1},
			Rules: map[string]plugins.Rule{"puts": {}}}, true},
		"withheld": {mcp.Server{Rules: map[string]plugins.Rule{"bad": {}}}, true},
	} {
		c.server.Name = "gh"
		_, err := over(t, c.server, nil, replies(tools(toolNamed("put"), toolNamed("get"),
			`{"name":"bad","inputSchema":{"type":5}}`), ok))
		wrong, is := errors.AsType[*mcp.ConfigError](err)
		if c.good != (err == nil) || !c.good && (!is || wrong.Field != "tools") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMayOffer(t *testing.T) {
	for _, c := range []struct {
		server mcp.Server
		tool   string
		want   bool
	}{
		{mcp.Server{Name: "gh"}, "gh_put", true},
		{mcp.Server{Name: "gh"}, "ghput", false},
		{mcp.Server{Name: "gh"}, "put", false},
		{mcp.Server{Name: "gh", Prefix: "x"}, "x_put", true},
		{mcp.Server{Name: "gh", Prefix: "x"}, "gh_put", false},
		{mcp.Server{Name: "gh", Bare: true}, "put", true},
	} {
		if have := c.server.MayOffer(c.tool); have != c.want {
			t.Errorf("%+v, %s: %v", c.server, c.tool, have)
		}
	}
}
