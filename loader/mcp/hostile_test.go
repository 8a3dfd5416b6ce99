package mcp_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

const ok = `{"content":[{"type":"text","text":"ok"}]}`

func tools(specs ...string) string { return `{"tools":[` + strings.Join(specs, ",") + `]}` }

func toolNamed(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// What a server says of its tools, and what is offered of it.
func TestOffers(t *testing.T) {
	long := strings.Repeat("n", 80)
	for name, c := range map[string]struct {
		server   mcp.Server
		tools    string
		offered  string
		withheld string // a word of each reason, in order
	}{
		"prefix":   {mcp.Server{Name: "gh"}, tools(toolNamed("getUser")), "gh_get_user", ""},
		"own":      {mcp.Server{Name: "gh", Prefix: "x"}, tools(toolNamed("a.b/c")), "x_a_b_c", ""},
		"bare":     {mcp.Server{Name: "gh", Bare: true}, tools(toolNamed("9")), "t_9", ""},
		"too long": {mcp.Server{Name: "gh", Bare: true}, tools(toolNamed(long)), long[:55] + "_feed930b", ""},
		"no name":  {mcp.Server{Name: "gh"}, tools(toolNamed(""), toolNamed("a")), "gh_a", "0 bytes"},
		"name at the limit": {mcp.Server{Name: "gh", Bare: true},
			tools(toolNamed(strings.Repeat("a", mcp.MaxNameBytes)),
				toolNamed(strings.Repeat("a", mcp.MaxNameBytes+1))),
			strings.Repeat("a", 55) + "_02d7160d", "257 bytes"},
		"collision": {mcp.Server{Name: "gh"}, tools(toolNamed("a-b"), toolNamed("a.b"), toolNamed("c")),
			"gh_c", "2 of the server's tools come to the name gh_a_b|2 of"},
		"one that is not fit hides none": {mcp.Server{Name: "gh"},
			tools(toolNamed("a-b"), `{"name":"a.b","inputSchema":{"type":5}}`), "gh_a_b", "input schema"},
		"twice": {mcp.Server{Name: "gh"}, tools(toolNamed("a"), toolNamed("a")), "", "2 of|2 of"},
		"allowed": {mcp.Server{Name: "gh", Tools: []string{"a", "z"}},
			tools(toolNamed("a"), toolNamed("b")), "gh_a", "has no such tool"},
		"broken schema": {mcp.Server{Name: "gh"},
			tools(toolNamed("a"), `{"name":"b","inputSchema":{"type":5}}`), "gh_a", "input schema"},
		"remote reference": {mcp.Server{Name: "gh"}, tools(toolNamed("a"),
			`{"name":"b","inputSchema":{"$ref":"https://x.example/s"}}`), "gh_a", "input schema"},
		"no schema": {mcp.Server{Name: "gh"}, tools(`{"name":"b"}`), "gh_b", ""},
		"null":      {mcp.Server{Name: "gh"}, tools(`null`, toolNamed("a")), "gh_a", ""},
		"at the limit": {mcp.Server{Name: "gh", Limits: mcp.Limits{Tools: 2}},
			tools(toolNamed("a"), toolNamed("b")), "gh_a gh_b", ""},
		"past the limit": {mcp.Server{Name: "gh", Limits: mcp.Limits{Tools: 2}},
			tools(toolNamed("a"), toolNamed("b"), toolNamed("c")), "gh_a gh_b", "more than 2"},
		"limit after the allowed": {mcp.Server{Name: "gh", Tools: []string{"c"},
			Limits: mcp.Limits{Tools: 1}},
			tools(toolNamed("a"), toolNamed("b"), toolNamed("c")), "gh_c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := over(t, c.server, nil, replies(c.tools, ok))
			if err != nil {
				t.Fatal(err)
			}
			if got := names(s); got != c.offered {
				t.Errorf("offered %q, want %q", got, c.offered)
			}
			reasons := strings.Split(c.withheld, "|")
			held := s.Withheld()
			if c.withheld == "" {
				reasons = nil
			}
			if len(held) != len(reasons) {
				t.Fatalf("withheld %v, want %q", held, c.withheld)
			}
			for i, w := range held {
				if !strings.Contains(w.String(), reasons[i]) {
					t.Errorf("%s, want %q", w, reasons[i])
				}
			}
			if c.offered != "" {
				res, err := call(t, s, strings.Fields(c.offered)[0], `{}`)
				if err != nil || res.Content[0].Text != "ok" {
					t.Errorf("%+v, %v", res, err)
				}
			}
		})
	}
}

// Ten thousand tools cost as many as may be.
func TestManyTools(t *testing.T) {
	var all []string
	for i := range 10_000 {
		all = append(all, toolNamed(fmt.Sprint("tool", i)))
	}
	s, err := over(t, mcp.Server{}, nil, replies(tools(all...), ok))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Tools()); n != mcp.DefaultTools || len(s.Withheld()) != 1 {
		t.Errorf("%d tools, withheld %v", n, s.Withheld())
	}
}

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

// Texts for models and people are cleaned, in schemas too; values are left.
func TestTextsAreClean(t *testing.T) {
	dirty := `a\u001b[31mb\u202ec`
	s, err := over(t, mcp.Server{}, nil, replies(`{"tools":[{"name":"x","description":"`+dirty+
		strings.Repeat("d", 2000)+`","inputSchema":{"type":"object","description":"`+dirty+
		`","properties":{"p":{"title":"`+dirty+`","const":"`+dirty+`"}}}}]}`, ok))
	if err != nil {
		t.Fatal(err)
	}
	spec := s.Tools()[0].Spec()
	if !strings.HasPrefix(spec.Description, "abcddd") ||
		len([]rune(spec.Description)) != abi.MaxTextChars {
		t.Errorf("%.20q…", spec.Description)
	}
	if n := strings.Count(spec.InputSchema, `"abc"`); n != 2 ||
		strings.Count(spec.InputSchema, `\u001b`) != 1 {
		t.Error(spec.InputSchema)
	}
}

const shaped = `{"tools":[{"name":"go","inputSchema":{"type":"object"},` +
	`"outputSchema":{"type":"object","required":["id"]}}]}`

// What a server may answer to a call, and what becomes of it.
func TestAnswers(t *testing.T) {
	many := func(n int) string {
		return `{"content":[` + strings.Repeat(`{"type":"text","text":""},`, n-1) +
			`{"type":"text","text":"last"}]}`
	}
	for name, c := range map[string]struct {
		tools, result string
		kind          plugins.Kind // 0: it succeeds
		want          string       // its value or first text; else cause and a word
	}{
		"text":            {oneTool, ok, 0, "ok"},
		"empty":           {oneTool, `{"content":[]}`, 0, "null"},
		"structured only": {oneTool, `{"structuredContent":{"a":1}}`, 0, `{"a":1}`},
		"structured null": {oneTool, `{"content":[],"structuredContent":null}`, 0, "null"},
		"both, no schema": {oneTool, `{"content":[{"type":"text","text":"t"}],"structuredContent":{}}`,
			0, "t"},
		"both": {shaped, `{"content":[],"structuredContent":{"id":1}}`, 0, `{"id":1}`},
		"broken word": {shaped, `{"structuredContent":{}}`, plugins.ErrMalformedResult,
			"output_schema id"},
		"no structure": {shaped, ok, plugins.ErrMalformedResult,
			"output_schema content"},
		"unknown block": {oneTool, `{"content":[{"type":"smell"}]}`, 0,
			`[a block of type "smell", which is not shown]`},
		"nothing":        {oneTool, `{}`, plugins.ErrMalformedResult, "bad_envelope neither"},
		"no object":      {oneTool, `[1]`, plugins.ErrMalformedResult, "bad_envelope object"},
		"null":           {oneTool, `null`, plugins.ErrMalformedResult, "bad_envelope object"},
		"content number": {oneTool, `{"content":5}`, plugins.ErrMalformedResult, "bad_envelope read"},
		"bad base64": {oneTool, `{"content":[{"type":"image","data":"!"}]}`,
			plugins.ErrMalformedResult, "bad_envelope read"},
		"duplicate keys": {oneTool, `{"structuredContent":{"a":1,"a":2}}`,
			plugins.ErrMalformedResult, "bad_envelope structured"},
		"too deep": {oneTool, `{"structuredContent":` + strings.Repeat("[", 100) +
			strings.Repeat("]", 100) + `}`,
			plugins.ErrMalformedResult, "bad_envelope structured"},
		"blocks at the limit": {oneTool, many(mcp.MaxBlocks), 0, ""},
		"blocks past the limit": {oneTool, many(mcp.MaxBlocks + 1), plugins.ErrMalformedResult,
			"bad_envelope 1025"},
		"silent failure": {oneTool, `{"isError":true}`, plugins.ErrHandler, "failed why"},
		"asks for input": {oneTool, `{"resultType":"input_required","inputRequests":{"a":` +
			`{"method":"elicitation/create","params":{}}}}`,
			plugins.ErrMalformedResult, "contract input"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := over(t, mcp.Server{}, nil, replies(c.tools, c.result))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // and whatever it was, the server goes on
				res, err := call(t, s, "go", `{}`)
				if c.kind != 0 {
					cause, word, _ := strings.Cut(c.want, " ")
					is(t, err, c.kind, cause, word)
					continue
				}
				got := string(res.Value)
				if res.Content != nil {
					got = res.Content[0].Text
				}
				if err != nil || got != c.want {
					t.Errorf("%s, %v; want %s", got, err, c.want)
				}
			}
		})
	}
}

// An answer at the limit passes, one past it is the output limit of its call alone, wherever the
// call's number is, and the rest of a very long one is not kept.
func TestLongAnswers(t *testing.T) {
	const limit = 1 << 20
	body := func(n int) string {
		return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
	}
	size := 0
	number := map[string]string{
		"first": `{"jsonrpc":"2.0","id":%[1]s,"result":%[2]s}`,
		"last":  `{"result":%[2]s,"jsonrpc":"2.0","id":%[1]s}`,
		"mid":   `{"jsonrpc":"2.0","result":%[2]s,"id":%[1]s}`,
	}
	for name, form := range number {
		t.Run(name, func(t *testing.T) {
			s, err := over(t, mcp.Server{Name: "p", Bare: true, Limits: mcp.Limits{Output: limit}}, nil,
				each(oneTool, func(p pipes, m message) { p.say(form, m.ID, body(size)) }))
			if err != nil {
				t.Fatal(err)
			}
			size = limit
			if _, err := call(t, s, "go", `{}`); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			size = limit + 64<<10
			_, err = call(t, s, "go", `{}`)
			is(t, err, plugins.ErrMalformedResult, "limit.output", "1048576 bytes (limits.output)")
			size = 1
			if _, err := call(t, s, "go", `{}`); err != nil {
				t.Errorf("after it: %v", err)
			}
		})
	}
}

func TestHundredMegabytes(t *testing.T) {
	s, err := over(t, mcp.Server{}, nil, each(oneTool, func(p pipes, m message) {
		fmt.Fprintf(p.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
		piece := strings.Repeat("x", 1<<20)
		for range 100 {
			fmt.Fprint(p.out, piece)
		}
		p.say(`"}]}}`)
	}))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = call(t, s, "go", `{}`)
	runtime.ReadMemStats(&after)
	is(t, err, plugins.ErrMalformedResult, "limit.output", "")
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 150<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
}

// A server that never answers is cancelled at the limit, and the next call is as good as any.
func TestNeverAnswers(t *testing.T) {
	cancelled := make(chan string, 4)
	s, err := over(t, mcp.Server{Name: "p", Bare: true, Limits: mcp.Limits{Time: 50 * time.Millisecond}},
		nil, func(p pipes) {
			m, _ := p.greet(oneTool)
			for { // of the call's end it must hear
				n, ok := p.next()
				if !ok {
					return
				}
				if n.Method == "notifications/cancelled" {
					cancelled <- fmt.Sprint(string(n.Params.RequestID) == string(m.ID))
					break
				}
			}
			p.answer(m, ok) // late: for nobody
			each(oneTool, func(p pipes, m message) { p.answer(m, ok) })(p)
		})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "limit.time", "50ms limit (limits.time)")
	if got := <-cancelled; got != "true" {
		t.Error("another call is cancelled")
	}
	var last error
	eventually(t, "a call succeeds", func() bool {
		_, last = call(t, s, "go", `{}`)
		return last == nil
	})
}

// An answer that comes twice, or to nothing, and what is no message, harm nobody.
func TestNoise(t *testing.T) {
	var j journal
	s, err := over(t, mcp.Server{}, j.options(), each(oneTool, func(p pipes, m message) {
		p.say("listening on \x1b[31m:8080")
		p.say(`[1,2]`)
		p.say(`{"jsonrpc":"2.0"}`)
		p.say(`{"jsonrpc":"2.0","id":99,"result":%s}`, ok)
		p.say(strings.Repeat("[", 1<<20))
		p.say(`{"jsonrpc":"2.0","id":98,"result":%s}`, strings.Repeat("[", 1<<20))
		p.answer(m, `{"content":[{"type":"text","text":"one"}]}`)
		p.answer(m, `{"content":[{"type":"text","text":"two"}]}`)
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		res, err := call(t, s, "go", `{}`)
		if err != nil || res.Content[0].Text != "one" {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if text := j.String(); !strings.Contains(text, "not a message: listening on :8080") {
		t.Error(text)
	}
}

// What a client might offer is refused, and a flood of it is not even answered.
func TestAsks(t *testing.T) {
	refused := make(chan int, 4096)
	s, err := over(t, mcp.Server{}, nil, each(oneTool, func(p pipes, m message) {
		for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list",
			"made/up"} {
			p.say(`{"jsonrpc":"2.0","id":"a%d","method":%q,"params":{"messages":[],"maxTokens":1,`+
				`"message":"m","requestedSchema":{"type":"object","properties":{}}}}`, i, method)
			n, _ := p.next()
			if n.Error == nil {
				refused <- 0
				continue
			}
			refused <- n.Error.Code
		}
		for i := range 1000 {
			p.say(`{"jsonrpc":"2.0","id":"b%d","method":"roots/list"}`, i)
			if i < mcp.MaxAsks-4 {
				n, _ := p.next()
				refused <- n.Error.Code
			}
		}
		p.answer(m, ok)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, s, "go", `{}`); err != nil {
		t.Fatal(err)
	}
	for range mcp.MaxAsks {
		if code := <-refused; code != -32601 {
			t.Fatalf("code %d", code)
		}
	}
}
