package extism_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// noHTTP is a grant that must not be used.
type noHTTP struct{}

func (noHTTP) Do(context.Context, *egress.Request) (*egress.Response, error) {
	panic("a request was sent")
}

// A plugin that cannot list its tools is refused with the stage, and others are none the worse.
func TestHyperHostileList(t *testing.T) {
	deep := strings.Repeat("[", abi.MaxDepth+1) + strings.Repeat("]", abi.MaxDepth+1)
	for _, c := range []struct {
		name, want string
		list       func(g *hyperGuest) asm.Instr
	}{
		{"hangs", "describe: exceeded its time limit for loading, 50ms (limits.load)",
			func(*hyperGuest) asm.Instr { return asm.Loop(asm.Br(0)) }},
		{"traps", "describe: ", func(*hyperGuest) asm.Instr { return asm.Unreachable }},
		{"fails", `describe: it failed: "returned 1, without an error text"`,
			func(*hyperGuest) asm.Instr { return asm.Seq(asm.I32Const(1), asm.Return) }},
		{"asks for a page", `describe: it failed: "http_request: `, func(g *hyperGuest) asm.Instr {
			const request = `{"url":"https://example.com"}`
			return asm.Seq(g.begin(asm.I64Const(int64(len(request)))),
				g.put(g.text(request), len(request)), asm.LocalGet(block), asm.I64Const(0),
				asm.Call(g.http), asm.Drop)
		}},
		{"silent", "manifest: describe: ", func(*hyperGuest) asm.Instr { return asm.Nop }},
		{"no JSON", "manifest: describe: at byte 0: not JSON", says("tools")},
		{"an array", "manifest: describe: want an object, have an array", says(`[]`)},
		{"no list", "manifest: describe: tools: is missing", says(`{"tool":[]}`)},
		{"a number", "manifest: describe: tools: want an array, have a number", says(`{"tools":7}`)},
		{"no tool", "tools: the plugin offers no tool", says(`{"tools":[]}`)},
		{"no good tool", `none of its tools can be offered: "é": no tool of a registry can have`,
			says(`{"tools":[{"name":"é"},{"name":"é"}]}`)},
		{"two lists", "manifest: describe: at byte 24", says(`{"tools":[{"name":"a"}],"tools":[]}`)},
		{"deep", "nest deeper than 64", says(`{"tools":[{"name":"a","inputSchema":` + deep + `}]}`)},
		{"too long", "describe: describe gave 1048577 bytes, more than 1048576",
			padded(extism.MaxListBytes + 1)},
	} {
		g := newHyperGuest()
		g.exports("describe", c.list(g)).exports("call", g.says(`{}`))
		limits := host.Limits{Load: time.Minute}
		if c.name == "hangs" {
			limits.Load = 50 * time.Millisecond
		}
		d := openHyper(t, g.Bytes(), &loader.Decision{Host: host.Policy{
			Limits: limits, Grants: host.Grants{HTTP: noHTTP{}}}})
		err := d.Plugins()[0].Err
		if _, ok := errors.AsType[*loader.LoadError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func says(text string) func(*hyperGuest) asm.Instr {
	return func(g *hyperGuest) asm.Instr { return g.says(text) }
}

// padded lists a tool in a text of as many bytes as wanted.
func padded(size int) func(*hyperGuest) asm.Instr {
	return func(g *hyperGuest) asm.Instr {
		odd := oneTool + strings.Repeat(" ", (size-len(oneTool))%8)
		return asm.Seq(g.begin(asm.I64Const(int64(size))), g.put(g.text(odd), len(odd)),
			g.fills(' ', int32(size-len(odd))/8), g.end())
	}
}

// At their limits, lists are taken.
func TestHyperListAtTheLimit(t *testing.T) {
	g := newHyperGuest()
	g.exports("describe", padded(extism.MaxListBytes)(g)).exports("call", g.says(`{}`))
	if got := listed(openHyper(t, g.Bytes(), nil)); got != "go\n" {
		t.Error(got)
	}
	for _, n := range []int{abi.MaxTools, abi.MaxTools + 1, 5000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"name":"t%d"}`, i)
		}
		dir := openHyper(t, servlet(`{"tools":[`+b.String()[1:]+`]}`, `{}`), nil)
		want := ""
		if n > abi.MaxTools {
			want = fmt.Sprintf("not t256: it is one of %d tools, and only the first 256 are offered\n", n)
		}
		if got := listed(dir); len(dir.Tools()) != abi.MaxTools || !strings.HasSuffix(got, "t255\n"+want) {
			t.Errorf("%d tools: %d offered, %.200s", n, len(dir.Tools()), got)
		}
	}
}

// One tool that cannot be offered does not hide another, also when the list is one that was kept.
func TestHyperWithheld(t *testing.T) {
	large := `{"type":"object","$comment":"` + strings.Repeat("x", 60<<10) + `"}`
	wasm := servlet(`{"tools":[{"name":"getUser","inputSchema":null},{"name":"a b"},{"name":"a-b"},
		{"name":"go"},{"name":"go"},{"name":"3d"},{"description":"x"},7,{"name":"`+
		strings.Repeat("n", abi.MaxToolNameBytes+1)+`"},{"name":"odd","inputSchema":{"type":"odd"}},
		{"name":"no","inputSchema":5},{"name":"big","inputSchema":`+large+`},
		{"name":"bigger","inputSchema":`+large+`},{"name":"last","description":"\u202eX\u0007Y"}]}`, `{}`)
	opts := hyperOptions(t, nil)
	want := listed(openWith(t, wasm, opts))
	for _, line := range []string{
		"get_user\nbig\nlast\nnot odd: ",
		"not no: ",
		"not a b: 2 of its tools come to the name a_b\nnot a-b: 2 of its tools come to the name a_b\n",
		"not go: 2 of its tools come to the name go\nnot go: 2 of its",
		"not 3d: no tool of a registry can have its name",
		"not : tools[6].name: is missing\nnot : tools[7]: want an object, have a number\n",
		"not bigger: the schemas of its tools have more than 65536 bytes together\n",
	} {
		if !strings.Contains(want, line) {
			t.Errorf("no %q in\n%s", line, want)
		}
	}
	dir := openWith(t, wasm, opts)
	if got := dir.Plugins()[0].Manifest.Tools; got[len(got)-1].Description != "XY" {
		t.Errorf("%+v", got)
	}
}

// A list that is another one each time is believed once, and no call comes of it.
func TestHyperImpure(t *testing.T) {
	g := newHyperGuest()
	const list = `{"tools":[{"name":"xxxxxxxxxxxxxxxxxxxxxxxx"}]}`
	at, name := g.text(list), int32(strings.Index(list, "xx"))
	var letters []asm.Instr
	for i := range int32(24) {
		letters = append(letters, asm.I32Const(at+name+i), asm.I32Const(at+name+i), asm.I32Load8U(0),
			asm.I32Const(15), asm.I32And, asm.I32Const('a'), asm.I32Add, asm.I32Store8(0))
	}
	g.exports("describe", asm.I32Const(at+name), asm.I32Const(24), asm.Call(g.random), asm.Drop,
		asm.Seq(letters...), g.begin(asm.I64Const(int64(len(list)))), g.put(at, len(list)), g.end())
	g.exports("call", g.says(`{"content":[]}`))
	dir := openHyper(t, g.Bytes(), nil)
	_, err := callHyper(t, good(t, dir), dir.Tools()[0].Spec().Name, `{}`)
	if plugins.FaultOf(err) != plugins.FaultHost ||
		!strings.Contains(err.Error(), "describes itself differently") {
		t.Error(err)
	}
}

// A failure with a text of a megabyte is told in a few thousand characters.
func TestHyperLongFailure(t *testing.T) {
	const before, after = `{"isError":true,"content":[{"type":"text","text":"`, `"}]}`
	g := newHyperGuest()
	g.exports("describe", g.says(oneTool))
	g.exports("call", g.begin(asm.I64Const(int64(len(before+after)+1<<20))),
		g.put(g.text(before), len(before)), g.fills('x', 1<<17),
		g.put(g.text(after), len(after)), g.end())
	_, err := callHyper(t, good(t, openHyper(t, g.Bytes(), nil)), "go", `{}`)
	f, _ := errors.AsType[*abi.Failure](err)
	if !errors.Is(err, plugins.ErrHandler) || f == nil || f.Message != strings.Repeat("x", 4095)+"…" {
		t.Errorf("%.200v", err)
	}
}

// What is no result is told with its place; nothing before it counts.
func TestHyperBadResult(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{``, "not JSON"},
		{`{"content":[{"type":"text"}]}`, "content[0].text: is missing"},
	} {
		_, err := callHyper(t, good(t, openHyper(t, servlet(oneTool, c.answer), nil)), "go", `{}`)
		if !errors.Is(err, plugins.ErrMalformedResult) || plugins.CauseOf(err) != "bad_envelope" ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.answer, err)
		}
	}
	// Arguments that nobody looked at are no text for a guest either.
	tool := openHyper(t, servlet(oneTool, `{}`), nil).Tools()[0]
	_, err := tool.Invoke(t.Context(), plugins.Call{Input: []byte("{")})
	if !errors.Is(err, plugins.ErrInvalidInput) {
		t.Error(err)
	}
}
