package mcp_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// A server that ends in the middle of a call fails that call as its own work, tells why, and is
// there for the next one; one that always does is given up.
func TestDies(t *testing.T) {
	lives := 0
	s, err := over(t, mcp.Server{}, nil, func(p pipes) {
		lives++
		p.greet(oneTool)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range mcp.MaxStarts {
		_, err := call(t, s, "go", `{}`)
		is(t, err, plugins.ErrHandler, "server", "the server ended its connection")
		if _, ok := errors.AsType[*mcp.ServerError](err); !ok || plugins.FaultOf(err) != plugins.FaultWorld {
			t.Errorf("%v: fault %v", err, plugins.FaultOf(err))
		}
	}
	_, err = call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "server", "started 5 times in a row without a good answer")
	if lives != mcp.MaxStarts {
		t.Errorf("%d lives", lives)
	}
}

// A read tool is tried again by the registry, over a new session.
func TestDiesOnce(t *testing.T) {
	first := true
	s, err := over(t, mcp.Server{}, nil, func(p pipes) {
		if m, called := p.greet(oneTool); called && !first {
			p.answer(m, ok)
			p.next()
		}
		first = false
	})
	if err != nil {
		t.Fatal(err)
	}
	read := abi.EffectRead
	r := registry(t, s, &plugins.Options{RetryWait: time.Millisecond,
		Rules: map[string]plugins.Rule{"go": {Effect: &read}}})
	res, err := r.Call(t.Context(), plugins.Call{Tool: "go"})
	if err != nil || res.Attempts != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A list of tools that changes all the time is looked at now and then.
func TestChangesAllTheTime(t *testing.T) {
	lists := 0
	s, err := over(t, mcp.Server{}, nil, func(p pipes) {
		for {
			m, ok := p.next()
			switch {
			case !ok:
				return
			case m.Method == "server/discover":
				p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`, m.ID)
			case m.Method == "initialize":
				p.answer(m, hello)
			case m.Method == "tools/list":
				lists++
				p.answer(m, tools(toolNamed(fmt.Sprint("v", lists)), toolNamed("go")))
			case m.Method == "tools/call":
				for range 1000 {
					p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				p.answer(m, `{"content":[{"type":"text","text":"ok"}]}`)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	changed := s.Changed()
	if _, err := call(t, s, "go", `{}`); err != nil {
		t.Fatal(err)
	}
	<-changed
	if got := names(s); got != "go v2" {
		t.Error(got)
	}
}
