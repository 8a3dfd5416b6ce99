package guest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

func tool(name string) Tool {
	return Tool{
		Spec: abi.ToolSpec{Name: name},
		Zero: func() abi.Raw { return abi.AppendNil(nil) },
		Call: func(_ Host, q *abi.Request, _ bool) abi.Reply {
			return abi.Reply{Outcome: abi.OutcomeOK, Value: q.Input}
		},
	}
}

// panics gives what f panics with, or "".
func panics(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = r.(string)
		}
	}()
	f()
	return ""
}

func TestAddAtTheLimits(t *testing.T) {
	schema := func(n int) Tool {
		s := tool("t")
		s.Spec.InputSchema = strings.Repeat("x", n/2)
		s.Spec.OutputSchema = strings.Repeat("x", n-n/2)
		return s
	}
	described := func(n int) Tool {
		s := tool("t")
		s.Spec.Description = strings.Repeat("é", n)
		return s
	}
	for _, c := range []struct {
		add  Tool
		want string // part of the panic
	}{
		{tool(""), `the tool name "" must`},
		{tool("A"), "must be a lower-case letter"},
		{tool("1a"), "must be"},
		{tool("_a"), "must be"},
		{tool("a-b"), "must be"},
		{tool("a" + strings.Repeat("_", abi.MaxToolNameBytes-1)), ""},
		{tool("a" + strings.Repeat("_", abi.MaxToolNameBytes)), "must be"},
		{described(abi.MaxTextChars), ""},
		{described(abi.MaxTextChars + 1), "more than 1024 characters"},
		{schema(abi.MaxSchemaBytes), ""},
		{schema(abi.MaxSchemaBytes + 1), "65537 bytes of the 65536"},
	} {
		var p Plugin
		got := panics(func() { p.Add(c.add) })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%.80q: panic %q, want %q", c.add.Spec.Name, got, c.want)
		}
	}
}

func TestAddCounts(t *testing.T) {
	var p Plugin
	for i := range abi.MaxTools {
		p.Add(tool("t" + strconv.Itoa(i)))
	}
	if got := panics(func() { p.Add(tool("more")) }); !strings.Contains(got, "one more than the 256") {
		t.Errorf("panic %q", got)
	}
	if got := panics(func() { p.Add(tool("t7")) }); !strings.Contains(got, `"t7" is registered twice`) {
		t.Errorf("panic %q", got)
	}
}

func TestManifest(t *testing.T) {
	var p Plugin
	if got := panics(func() { p.Manifest() }); !strings.Contains(got, "no name") {
		t.Errorf("panic %q", got)
	}
	p.Name, p.Version = "x", "1"
	if got := panics(func() { p.Manifest() }); !strings.Contains(got, "no tools") {
		t.Errorf("panic %q", got)
	}
	p.Needs.KV = &abi.KVNeed{}
	p.Add(tool("b"))
	p.Add(tool("a"))
	m := p.Manifest()
	if m.Name != "x" || m.Version != "1" || m.ABI != abi.Version || m.Needs.KV == nil ||
		len(m.Tools) != 2 || m.Tools[0].Name != "b" {
		t.Errorf("%+v", m)
	}
}

func TestServe(t *testing.T) {
	var p Plugin
	p.Add(tool("echo"))
	serve := func(q abi.Request) abi.Reply {
		b := p.Serve(nil, abi.AppendRequest(nil, &q), []byte("before"))
		r, err := abi.ParseReply(b[len("before"):])
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	in := abi.AppendInt(nil, 7)
	if r := serve(abi.Request{Tool: "echo", Input: in}); string(r.Value) != string(in) {
		t.Errorf("%+v", r)
	}
	r := serve(abi.Request{Tool: "other", Input: in})
	if r.Outcome != abi.OutcomeFailed || r.Failure.Code != "unknown_tool" || !r.Failure.Permanent {
		t.Errorf("%+v", r)
	}
	got := panics(func() { p.Serve(nil, []byte{0x80}, nil) })
	if !strings.Contains(got, "the host's request cannot be read") {
		t.Errorf("panic %q", got)
	}
}

func TestWarmSurvivesAPanic(t *testing.T) {
	var p Plugin
	warmed := 0
	first, second := tool("a"), tool("b")
	first.Zero = func() abi.Raw { panic("not made for zero values") }
	second.Call = func(_ Host, _ *abi.Request, dry bool) abi.Reply {
		if dry {
			warmed++
		}
		return abi.Reply{Outcome: abi.OutcomeOK}
	}
	p.Add(first)
	p.Add(second)
	p.Warm(nil)
	if warmed != 1 {
		t.Errorf("warmed %d tools after the one that panics", warmed)
	}
}
