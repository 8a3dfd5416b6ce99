package extism_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// What a plugin is asked is what its version's hosts ask.
func TestHyperAsks(t *testing.T) {
	const input = `{"a":[1,{"b":"<é>"}]}`
	for _, c := range []struct{ name, list, call, want string }{
		{"first", "describe", "call", `{"params":{"name":"say-It","arguments":` + input + `}}`},
		{"second", "list_tools", "call_tool", `{"context":{"id":"c1","_meta":` +
			`{"progressToken":"c1","wasmagent/attempt":1}},` +
			`"request":{"name":"say-It","arguments":` + input + `}}`},
	} {
		g := newHyperGuest()
		g.exports(c.list, g.says(`{"tools":[{"name":"say-It"}]}`)).exports(c.call, g.echoes())
		r := good(t, openHyper(t, g.Bytes(), nil))
		res, err := r.Call(t.Context(), plugins.Call{ID: "c1", Tool: "say_it", Input: []byte(input),
			Progress: func(abi.Progress) {}})
		var got, want any
		if err == nil {
			err = errors.Join(json.Unmarshal(res.Value, &got), json.Unmarshal([]byte(c.want), &want))
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if err != nil || string(a) != string(b) {
			t.Errorf("%s: %s, %v\nwant %s", c.name, a, err, b)
		}
	}
}

// A plugin is known by what it exports, and one that is more besides is told of.
func TestHyperRecognized(t *testing.T) {
	for _, c := range []struct {
		exports, kind, why string
	}{
		{"describe call", "hyper-mcp", "it exports describe and call, as servlets"},
		{"list_tools call_tool", "hyper-mcp", "it exports list_tools and call_tool, as plugins of"},
		{"describe call list_tools call_tool", "hyper-mcp", "it exports describe and call,"},
		{"list_tools call_tool get_prompt read_resource x", "hyper-mcp",
			"do; not used, since they are no tools: get_prompt, read_resource"},
		{"describe call_tool", "extism", "it imports from extism:host/env"},
	} {
		g := newHyperGuest()
		for name := range strings.FieldsSeq(c.exports) {
			g.exports(name, g.says(oneTool))
		}
		p := openHyper(t, g.Bytes(), nil).Plugins()[0]
		if p.Kind != c.kind || !strings.Contains(p.KindWhy, c.why) {
			t.Errorf("%s: %s, %s", c.exports, p.Kind, p.KindWhy)
		}
	}
}

// An operator's word that could not be kept is not passed over.
func TestHyperRefusesWords(t *testing.T) {
	none := newHyperGuest().exports("describe").Bytes()
	for _, c := range []struct {
		wasm []byte
		d    loader.Decision
		want string
	}{
		{servlet(oneTool, ""), loader.Decision{Functions: []loader.Function{
			{Tool: abi.ToolSpec{Name: "f"}, Export: "call"}}}, "leave functions out"},
		{servlet(oneTool, ""), loader.Decision{Engine: "extism-sdk"}, "have only one"},
		{servlet(`{}`, ""), loader.Decision{Engine: "native"}, "manifest: describe: tools: is missing"},
		{none, loader.Decision{Kind: "hyper-mcp"}, "contract: it exports neither describe and call nor"},
	} {
		err := openHyper(t, c.wasm, &c.d).Plugins()[0].Err
		if _, ok := errors.AsType[*loader.LoadError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A plugin as mcp.run has them, through its whole life.
func TestHyperServlet(t *testing.T) {
	wasm := goGuest(t, "servlet")
	data := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(data, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := openHyper(t, wasm, &loader.Decision{Host: host.Policy{
		Config: map[string]abi.Raw{"region": abi.AppendString(nil, "north")},
		Grants: host.Grants{
			Env:   map[string]string{"WHERE": "here"},
			Files: []host.Mount{{Host: filepath.Dir(data), Guest: "/data"}},
		},
	}})
	r := good(t, dir)
	// While it lists its tools it has nothing of that.
	if got := dir.Tools()[0].Spec().Description; got != "sees unset, unmounted, env" {
		t.Errorf("it describes itself with %q", got)
	}
	for _, c := range []struct{ tool, input, want string }{
		{"say_hello", `{"name":"Ada"}`, "Hello, Ada"},
		{"sees", `{}`, "north, mounted, env here"},
		{"counts", `{}`, "1"},
		{"counts", `{}`, "1"}, // each call begins as the first one did
	} {
		res, err := callHyper(t, r, c.tool, c.input)
		if err != nil || len(res.Content) != 1 || res.Content[0].Text != c.want {
			t.Errorf("%s: %+v, %v", c.tool, res.Content, err)
		}
	}
	for _, c := range []struct {
		tool, input string
		kind        plugins.Kind
		want        string
	}{
		{"say_hello", `{}`, plugins.ErrInvalidInput, "name"},
		{"fails", `{}`, plugins.ErrHandler, "the disk is full"},
		{"breaks", `{}`, plugins.ErrHandler, "no such luck"},
		{"panics", `{}`, plugins.ErrMalformedResult, "oh no"},
	} {
		_, err := callHyper(t, r, c.tool, c.input)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.tool, err)
		}
	}
}

// A plugin of hyper-mcp's second version, with all that it can give back.
func TestHyperSecond(t *testing.T) {
	dir := openHyper(t, goGuest(t, "hyper2"), &loader.Decision{TrustEffects: true, Host: host.Policy{
		Config: map[string]abi.Raw{"keyring/api/me": abi.AppendString(nil, "s3cret")},
		Grants: host.Grants{HTTP: noHTTP{}}, // else no tool could do more than read
	}})
	r := good(t, dir)
	effects := ""
	for _, tool := range dir.Tools() {
		effects += tool.Spec().Name + " " + tool.Spec().Effect.String() + "\n"
	}
	if effects != "draw read\nweigh idempotent\nfails write\ntells write\nasks write\ncontext write\n" {
		t.Errorf("%s", effects)
	}
	if got := dir.Tools()[0].Spec().Description; got != "Draw" {
		t.Errorf("description %q", got)
	}
	t.Run("blocks", func(t *testing.T) { hyperBlocks(t, r) })
	t.Run("values", func(t *testing.T) { hyperValues(t, r) })
	t.Run("tells", func(t *testing.T) { hyperTells(t, r) })
	t.Run("asks", func(t *testing.T) { hyperAnswers(t, r) })
}

func hyperBlocks(t *testing.T, r *plugins.Registry) {
	res, err := callHyper(t, r, "draw", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []abi.Block{
		{Type: "text", Text: "look"},
		{Type: "image", Data: []byte("png"), MIME: "image/png"},
		{Type: "audio", Data: []byte("beep"), MIME: "audio/wav"},
		{Type: "file", Text: "hi", Name: "a://b"},
		{Type: "file", Data: []byte{0}, Name: "a://c"},
		{Type: "text", Text: `[a link to "x": https://x.example/]`},
		{Type: "text", Text: `[a block of type "hologram", which is not shown]`},
		{Type: "text", Text: `{"width":2}`},
	}
	got, _ := json.Marshal(res.Content)
	if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
		t.Errorf("%s\nwant\n%s", got, wanted)
	}
}

func hyperValues(t *testing.T, r *plugins.Registry) {
	res, err := callHyper(t, r, "weigh", `{}`)
	if err != nil || string(res.Value) != `{"grams":9007199254740993}` {
		t.Errorf("%s, %v", res.Value, err)
	}
	_, err = callHyper(t, r, "fails", `{}`)
	f, _ := errors.AsType[*abi.Failure](err)
	if !errors.Is(err, plugins.ErrHandler) || f == nil || f.Message != "the disk\nis full" ||
		string(f.Details) != "\x81\xa4free\x00" {
		t.Errorf("%v: %+v", err, f)
	}
	res, err = callHyper(t, r, "context", `{}`)
	if err != nil || res.Content[0].Text != `{"id":"c1","_meta":{"wasmagent/attempt":1}}` {
		t.Errorf("%+v, %v", res.Content, err)
	}
}

// What there is a place for gets there; the rest goes nowhere and breaks nothing.
func hyperTells(t *testing.T, r *plugins.Registry) {
	var lines []string
	var reports []abi.Progress
	_, err := r.Call(t.Context(), plugins.Call{Tool: "tells",
		Log:      func(l abi.Level, text string) { lines = append(lines, fmt.Sprint(l, " ", text)) },
		Progress: func(p abi.Progress) { reports = append(reports, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprint(abi.LevelWarn, " disk: nearly full"), fmt.Sprint(abi.LevelDebug, ` {"free":1}`),
		fmt.Sprint(abi.LevelInfo, " no JSON"),
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	if want := []abi.Progress{{Done: 1, Total: 2, Message: "one half"}}; !slices.Equal(reports, want) {
		t.Errorf("%+v", reports)
	}
}

// What there is nothing for is refused as a value, which the plugin goes on with.
func hyperAnswers(t *testing.T, r *plugins.Registry) {
	var lines []string
	res, err := r.Call(t.Context(), plugins.Call{Tool: "asks",
		Log: func(_ abi.Level, text string) { lines = append(lines, text) }})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"action":"decline","content":{"error":"nobody can be asked: this host has no elicitation"}}`,
		`{"role":"assistant","content":{"type":"text","text":"this host has no sampling"},"model":"",` +
			`"stopReason":"error"}`,
		`{"Error":"this host gets no tokens for plugins: its operator can have a secret sent with requests"}`,
		`{"roots":[]}`,
		"s3cret", "", "",
	}
	if got := strings.Split(strings.TrimSuffix(res.Content[0].Text, "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i, name := range []string{"keyring/api/root", "keyring//"} {
		if len(lines) != 2 || !strings.Contains(lines[i], `no setting "`+name+`"`) {
			t.Errorf("logged %q", lines)
		}
	}
}
