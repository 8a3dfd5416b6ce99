package wasicmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
	"github.com/wasmagent/wasmagent/plugins"
)

// A command that the policy says nothing of is one tool, of the file's name.
func TestCommandByDefault(t *testing.T) {
	s := open(t, "My-tool.v2", command(t), loader.Decision{})
	if p := s.plugin; p.Kind != "command" || p.KindWhy != "it exports _start" {
		t.Errorf("kind %q: %s", p.Kind, p.KindWhy)
	}
	for _, c := range []struct{ input, want string }{
		{`{"args": ["args", "a b", "", "$HOME", "ü"]}`,
			`"[\"My-tool.v2\" \"args\" \"a b\" \"\" \"$HOME\" \"ü\"]"`},
		{`{}`, `""`},
		{`{"args": ["cat"], "stdin": "a text\n"}`, `"a text\n"`},
		{`{"args": ["cat"], "stdin": {"b": 1, "a": [2.50, null]}}`, `{"b":1,"a":[2.5,null]}`},
		{`{"args": ["cat"], "stdin": " [1, 2]\n"}`, `[1,2]`},
		{`{"args": ["cat"], "stdin": null}`, `""`},
		{`{"args": ["cat"]}`, `""`},
		{`{"args": ["cat"], "stdin": "{\"a\": 1, \"a\": 2}"}`, `"{\"a\": 1, \"a\": 2}"`},
		{`{"args": ["env"]}`, `""`},
	} {
		s.want("my_tool_v2", c.input, c.want)
	}
	s.fails("my_tool_v2", `{"arg": []}`, plugins.ErrInvalidInput, "schema")
	s.fails("my_tool_v2", `{"args": ["a\u0000b"]}`, plugins.ErrInvalidInput, "schema")
}

// The operator says what the arguments and standard input are made of.
func TestDeclaredTools(t *testing.T) {
	fn := func(name, schema, stdin string, args ...string) loader.Function {
		return loader.Function{Tool: abi.ToolSpec{Name: name, InputSchema: schema}, Stdin: stdin,
			Args: append([]string{}, args...)}
	}
	any := `{"type":"object"}`
	s := open(t, "tool", command(t), loader.Decision{Functions: []loader.Function{
		fn("each", "", "", "args", "{a}", "--b={b}", "{{}}"),
		fn("optional", any, "", "args", "--n={n}", "{x}{y}"),
		fn("whole", any, "", "cat"),
		fn("part", any, "code", "cat"),
		{Tool: abi.ToolSpec{Name: "text"}, Text: true, Args: []string{"cat"}},
	}})
	for _, c := range []struct{ tool, input, want string }{
		{"each", `{"a": "1; rm -rf '$x' {b}", "b": "two words"}`,
			`"[\"tool\" \"args\" \"1; rm -rf '$x' {b}\" \"--b=two words\" \"{}\"]"`},
		{"optional", `{}`, `"[\"tool\" \"args\"]"`},
		{"optional", `{"n": null, "x": "only"}`, `"[\"tool\" \"args\"]"`},
		{"optional", `{"n": 1.50, "x": ["a", 1], "y": true}`,
			`"[\"tool\" \"args\" \"--n=1.50\" \"[\\\"a\\\", 1]true\"]"`},
		{"whole", `{"a": [1]}`, `{"a":[1]}`},
		{"part", `{"code": "x = 1", "other": 2}`, `"x = 1"`},
		{"part", `{"code": {"x": 1}}`, `{"x":1}`},
		{"part", `{}`, `""`},
		{"text", `{"input": "as it is"}`, `"as it is"`},
	} {
		s.want(c.tool, c.input, c.want)
	}
	s.fails("each", `{"a": "b"}`, plugins.ErrInvalidInput, "schema")
	s.fails("each", `{"a": "b", "b": "c\u0000"}`, plugins.ErrInvalidInput, "schema")
}

func TestBadDeclarations(t *testing.T) {
	for _, c := range []struct {
		fn   loader.Function
		want string
	}{
		{loader.Function{Export: "main"}, "leave export out"},
		{loader.Function{Args: []string{"a", "{b"}}, `args[1]: at "{b"`},
		{loader.Function{Args: []string{"a\x00"}}, "zero byte"},
		{loader.Function{Text: true, Args: []string{"{a}", "{b}"}}, "say with stdin which one it reads"},
	} {
		c.fn.Tool.Name = "tool"
		s := tryOpen(t, "tool", prints(""), loader.Decision{Functions: []loader.Function{c.fn}})
		if err := s.plugin.Err; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// To exit with another code than 0 is a command's own report, in the words of its stderr.
func TestExit(t *testing.T) {
	s := open(t, "tool", command(t), loader.Decision{})
	err := s.fails("tool", `{"args": ["exit"]}`, plugins.ErrHandler, "failed")
	f, ok := errors.AsType[*abi.Failure](err)
	if !ok || f.Code != "exit_3" || f.Message != "no such city: Atlantis" || !f.Permanent {
		t.Errorf("%+v", f)
	}
	err = s.fails("tool", `{"args": ["panic"]}`, plugins.ErrHandler, "failed")
	if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Code != "exit_2" ||
		!strings.Contains(f.Message, "a mistake") {
		t.Errorf("%+v", f)
	}
	s.want("tool", `{"args": ["cat"], "stdin": 1}`, "1") // as if nothing had happened
}

// hider is a grant with a secret.
type hider string

func (hider) Do(context.Context, *egress.Request) (*egress.Response, error) { return nil, nil }
func (h hider) Secrets() []string                                           { return []string{string(h)} }
func (h hider) Scrub(s string) string                                       { return strings.ReplaceAll(s, string(h), "[hidden]") }

// A secret that a command has got hold of is not in its answer.
func TestAnswerWithoutSecrets(t *testing.T) {
	var d loader.Decision
	d.Host.Grants.HTTP = hider("hush")
	s := open(t, "tool", prints("it is hush"), d)
	s.want("tool", `{}`, `"it is [hidden]"`)
}

// What a command says before it exits: on stderr, else on stdout, else nothing.
func TestExitWords(t *testing.T) {
	exits := func(code int32, text string) []byte {
		return small("wasi_snapshot_preview1", func(m *asm.Module, write, exit asm.FuncIndex) asm.Instr {
			return asm.Seq(print(m, write, text), asm.I32Const(code), asm.Call(exit))
		})
	}
	for _, c := range []struct {
		wasm []byte
		want string
	}{
		{exits(1, "on stdout\n"), "on stdout"},
		{exits(-1, ""), "exited with code 4294967295 and said nothing"},
		{exits(7, " \xff\n"), "exited with code 7 and said nothing"},
	} {
		s := open(t, "tool", c.wasm, loader.Decision{})
		err := s.fails("tool", `{}`, plugins.ErrHandler, "failed")
		if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Message != c.want {
			t.Errorf("%+v\nwant %s", f, c.want)
		}
	}
	open(t, "tool", exits(0, "[1]"), loader.Decision{}).want("tool", `{}`, `[1]`)
}

// No call sees what another left: in memory or in a scratch directory.
func TestFreshState(t *testing.T) {
	d := loader.Decision{}
	d.Host.Grants.Files = []host.Mount{{Guest: "/tmp", Scratch: true}}
	s := open(t, "tool", command(t), d)
	for range 3 {
		s.want("tool", `{"args": ["leave"]}`, `"nothing, <nil>"`)
	}
}

func TestGrants(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("granted "), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, "tool", command(t), loader.Decision{})
	s.want("tool", `{"args": ["env"]}`, `""`)
	if out, _ := s.call("tool", `{"args": ["read", "/data/a"]}`); strings.Contains(out, "granted") {
		t.Errorf("without a grant: %s", out)
	}
	d := loader.Decision{}
	d.Host.Grants.Env = map[string]string{"PLACE": "here"}
	d.Host.Grants.Files = []host.Mount{{Host: dir, Guest: "/data"}}
	s = open(t, "tool", command(t), d)
	s.want("tool", `{"args": ["env"]}`, `"PLACE=here"`)
	s.want("tool", `{"args": ["read", "/data/a"]}`, `"granted <nil>"`)
	if out, _ := s.call("tool", `{"args": ["read", "/etc/passwd"]}`); strings.Contains(out, "root") {
		t.Error(out)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		do, cause string
		kind      plugins.Kind
		limits    host.Limits
	}{
		{"loop", "limit.time", plugins.ErrHandler, host.Limits{Time: 200 * time.Millisecond}},
		{"loop", "limit.fuel", plugins.ErrMalformedResult, host.Limits{Fuel: 1 << 28}},
		{"flood", "limit.output", plugins.ErrMalformedResult, host.Limits{Output: 1 << 20}},
		{"grow", "limit.memory", plugins.ErrMalformedResult, host.Limits{Memory: 32 << 20}},
	} {
		t.Run(c.cause, func(t *testing.T) {
			d := loader.Decision{}
			d.Host.Limits = c.limits
			s := open(t, "tool", command(t), d)
			s.fails("tool", `{"args": ["`+c.do+`"]}`, c.kind, c.cause)
			s.want("tool", `{"args": ["cat"], "stdin": 1}`, "1")
		})
	}
}

// The limits are met to the byte: of what is printed, and of arguments and stdin together.
func TestLimitEdges(t *testing.T) {
	limits := host.Limits{Output: 8, Request: 40}
	s := open(t, "tool", prints("12345678"), loader.Decision{Host: host.Policy{Limits: limits}})
	s.want("tool", `{}`, "12345678")
	input := func(n int) string { // the name is 4+9 bytes, the argument a byte and 9
		b, _ := json.Marshal(map[string]any{"args": []string{"a"}, "stdin": strings.Repeat("x", n)})
		return string(b)
	}
	s.want("tool", input(40-13-10), "12345678")
	s.fails("tool", input(40-13-10+1), plugins.ErrInvalidInput, "limit.request")
	s = open(t, "tool", prints("123456789"), loader.Decision{Host: host.Policy{Limits: limits}})
	s.fails("tool", `{}`, plugins.ErrMalformedResult, "limit.output")
}

func TestBadOutput(t *testing.T) {
	s := open(t, "tool", prints("\xff\xfe"), loader.Decision{})
	s.fails("tool", `{}`, plugins.ErrOutputSerialization, "no_json")
	trap := small("wasi_snapshot_preview1", func(m *asm.Module, write, _ asm.FuncIndex) asm.Instr {
		return asm.Seq(print(m, write, "half"), asm.Unreachable)
	})
	s = open(t, "tool", trap, loader.Decision{})
	s.fails("tool", `{}`, plugins.ErrMalformedResult, "trap.unreachable")
}

// What is no command is not taken for one.
func TestRecognize(t *testing.T) {
	foreign := asm.New()
	foreign.ImportFunc("env", "abort", "")
	foreign.ExportMemory("memory", foreign.Memory(1))
	foreign.Export("_start", foreign.Func("", ""))
	signature := asm.New()
	signature.ExportMemory("memory", signature.Memory(1))
	signature.Export("_start", signature.Func("i32", ""))
	reactor := asm.New()
	reactor.ExportMemory("memory", reactor.Memory(1))
	reactor.Export("_initialize", reactor.Func("", ""))
	for name, m := range map[string]*asm.Module{
		"foreign": foreign, "signature": signature, "reactor": reactor,
	} {
		s := tryOpen(t, name, m.Bytes(), loader.Decision{})
		if s.plugin.Kind != "" || s.plugin.Err == nil {
			t.Errorf("%s is of the kind %q, %v", name, s.plugin.Kind, s.plugin.Err)
		}
		s = tryOpen(t, name, m.Bytes(), loader.Decision{Kind: "command"})
		if e, ok := errors.AsType[*host.LoadError](s.plugin.Err); !ok || e.Stage != "contract" {
			t.Errorf("%s, when the policy says that it is a command: %v", name, s.plugin.Err)
		}
	}
}

func TestToolName(t *testing.T) {
	for of, want := range map[string]string{
		"jq": "jq", "My-tool.v2": "my_tool_v2", "7z": "run_7z", "_start": "run_start", "": "run_",
		"ünï": "run_n_", strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): strings.Repeat("a", 64),
	} {
		have := wasicmd.ToolName(of)
		if err := plugins.CheckSpec(abi.ToolSpec{Name: have}); err != nil || have != want {
			t.Errorf("%q: %q, %v", of, have, err)
		}
	}
}
