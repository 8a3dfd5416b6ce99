package extism_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/kv"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// sdkCase is what one plugin of the SDK's own is called with, and what comes of it.
type sdkCase struct {
	file, export, input string
	policy              string // in words, for the page
	give                func(t *testing.T, p *host.Policy)
	functions           []host.Function
	kind                string // the operator's word, where the file does not tell

	want string // the output's JSON, or a part of the error
	fail bool
}

// sdkCases has every plugin of the SDK's module.
var sdkCases = []sdkCase{
	{file: "alloc", export: "run_test", want: `""`},
	{file: "config", export: "run_test", want: `{"config":"<unset by host>"}`},
	{file: "config", export: "run_test", policy: `config.thing = "hello"`,
		give: config("thing", "hello"), want: `{"config":"hello"}`},
	{file: "count_vowels", export: "count_vowels", input: "hello world",
		want: `{"count":3,"total":3,"vowels":"aeiouAEIOU"}`},
	{file: "count_vowels_std", export: "_start", input: "hello world",
		want: `{"count":3,"config":"<unset by host>","a":"this is var a"}`},
	{file: "exit", export: "_start", fail: true, want: "handler (failed): exit_2: exited with code 2"},
	{file: "exit", export: "_start", policy: `config.code = "500"`, give: config("code", "500"),
		fail: true, want: "handler (failed): exit_500: exited with code 500"},
	{file: "exit", export: "_start", policy: `config.code = "0"`, give: config("code", "0"),
		want: `""`},
	{file: "fail", export: "run_test", fail: true,
		want: "handler (failed): code_1: Some error message"},
	{file: "fs", export: "run_test", policy: "a directory at /mnt, writable", give: files(true),
		want: `"hello world!"`},
	{file: "fs", export: "run_test", fail: true,
		want: "handler (failed): code_1: returned 1, without an error text"},
	{file: "fs_std", export: "run_test", policy: "a directory at /mnt, writable", give: files(true),
		want: `"hello world!"`},
	{file: "hello", export: "run_test", want: `"Hello, world!"`},
	{file: "hello_haskell", export: "testing", input: "John", policy: `config.greeting = "Howdy"`,
		give: config("greeting", "Howdy"), want: `"Howdy, John"`},
	{file: "host", export: "run_test", functions: []host.Function{mult},
		policy: "mult given by the program", want: `"42 x 2 = 84"`},
	{file: "host", export: "run_test", fail: true,
		want: "contract: import extism:host/user.mult(i64, i64) -> " +
			"i64: the host has no such module; functions of its own host are given to it by the " +
			"program that loads it (extism.Options.Functions)"},
	{file: "host_memory", export: "run_test", input: "Frodo", functions: []host.Function{toUpper},
		policy: "to_upper given by the program", want: `"HELLO FRODO!"`},
	{file: "host_multiple", export: "say_green", input: "John Doe", functions: messages,
		policy: "both functions given by the program", want: `"green: 🫱 Hey from say_green John Doe"`},
	{file: "host_multiple", export: "say_purple", input: "Jane Doe", functions: messages,
		policy: "both functions given by the program",
		want:   `"purple: 👋 Hello from say_purple Jane Doe"`},
	{file: "http", export: "run_test", policy: "http jsonplaceholder.typicode.com", give: web,
		want: `{"asked":"https://jsonplaceholder.typicode.com/todos/1"}`},
	{file: "http", export: "run_test", fail: true,
		want: "handler (failed): denied: http_request: GET https://jsonplaceholder.typicode.com/todos/1: " +
			"no rule allows the host jsonplaceholder.typicode.com; to allow it: " +
			`{ host = "jsonplaceholder.typicode.com" }`},
	{file: "http_headers", export: "http_get", input: `{"url":"https://extism.org"}`,
		policy: "http extism.org", give: web, want: `{"x-many":"a,b","content-type":"application/json"}`},
	{file: "input_offset", export: "input_offset_length", input: "hello",
		want: `"\u0005\u0000\u0000\u0000\u0000\u0000\u0000\u0000"`},
	{file: "lib", export: "capitalize", fail: true, want: `function "capitalize" is (i64) -> i64, and a ` +
		`tool takes no parameters and gives nothing or an i32`},
	{file: "log", export: "run_test", want: `""`},
	{file: "main", export: "run_test", fail: true,
		want: "contract: import lib.capitalize(i64) -> i64: the host has no such module"},
	{file: "nested.c.instr", export: "_start", kind: "extism", fail: true,
		want: "contract: import dylibso_observe.instrument_enter(i32) -> (): the host has no " +
			"such module"},
	{file: "noop", export: "run_test", kind: "extism", want: `""`},
	{file: "println", export: "run_test", input: "x", want: `""`},
	{file: "read_write", export: "try_read", policy: "a directory at /mnt", give: both(files(false),
		config("path", "/mnt/test.txt")), want: `"hello world!"`},
	{file: "read_write", export: "try_write", input: "new", policy: "a directory at /mnt, read only",
		give: both(files(false), config("path", "/mnt/test.txt")), fail: true,
		want: "Failed to write file"},
	{file: "read_write", export: "try_write", input: "new", policy: "a directory at /mnt, writable",
		give: both(files(true), config("path", "/mnt/test.txt")), want: `"hello world!new"`},
	{file: "replace", export: "run_test", input: "hello", want: `"hello"`},
	{file: "sleep", export: "run_test", policy: `config.duration = "3", limits.time = "50ms"`,
		give: func(t *testing.T, p *host.Policy) {
			config("duration", "3")(t, p)
			p.Limits.Time = 50e6
		}, fail: true, want: "handler (limit.time): exceeded its time limit of 50ms (limits.time)"},
	{file: "sleep", export: "run_test", policy: `config.duration = "0"`, give: config("duration", "0"),
		want: `"slept for 0 seconds"`},
	{file: "std_command", export: "_start", input: "ben", want: `"hello ben"`},
	{file: "var", export: "run_test", want: `"a: 0"`},
}

func config(key, value string) func(*testing.T, *host.Policy) {
	return func(_ *testing.T, p *host.Policy) {
		if p.Config == nil {
			p.Config = map[string]abi.Raw{}
		}
		p.Config[key] = abi.AppendString(nil, value)
	}
}

func files(writable bool) func(*testing.T, *host.Policy) {
	return func(t *testing.T, p *host.Policy) {
		dir := t.TempDir()
		write(t, dir, "test.txt", []byte("hello world!"))
		p.Grants.Files = []host.Mount{{Host: dir, Guest: "/mnt", Write: writable}}
	}
}

func both(all ...func(*testing.T, *host.Policy)) func(*testing.T, *host.Policy) {
	return func(t *testing.T, p *host.Policy) {
		for _, give := range all {
			give(t, p)
		}
	}
}

// web answers every request with what was asked.
func web(_ *testing.T, p *host.Policy) { p.Grants.HTTP = answers{} }

type answers struct{}

func (answers) Do(_ context.Context, req *egress.Request) (*egress.Response, error) {
	return &egress.Response{Status: 200, Body: fmt.Appendf(nil, `{"asked":%q}`, req.URL),
		Headers: []egress.Header{{Name: "Content-Type", Value: "application/json"},
			{Name: "X-Many", Value: "a"}, {Name: "X-Many", Value: "b"}}}, nil
}

var mult = host.Function{Module: "extism:host/user", Name: "mult",
	Params: []host.ValueType{host.I64, host.I64}, Results: []host.ValueType{host.I64},
	Call: func(_ *host.Guest, stack []uint64) { stack[0] *= stack[1] }}

var toUpper = mapping("host", "to_upper", bytes.ToUpper)

var messages = []host.Function{
	mapping("extism:host/user", "hostGreenMessage", func(b []byte) []byte {
		return append([]byte("green: "), b...)
	}),
	mapping("extism:host/user", "hostPurpleMessage", func(b []byte) []byte {
		return append([]byte("purple: "), b...)
	}),
}

// mapping is a function from a block to another.
func mapping(module, name string, do func([]byte) []byte) host.Function {
	return host.Function{Module: module, Name: name,
		Params: []host.ValueType{host.I64}, Results: []host.ValueType{host.I64},
		Call: func(g *host.Guest, stack []uint64) {
			result := do(extism.Read(g, stack[0]))
			extism.Free(g, stack[0])
			stack[0] = extism.Write(g, result)
		}}
}

// TestSDKModules calls every plugin that the SDK's module has for its own tests.
func TestSDKModules(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under -race; the full run has it")
	}
	dir := sdkDir(t)
	all, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil || len(all) != 27 {
		t.Fatalf("%d plugins in %s, want 27 (%v)", len(all), dir, err)
	}
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), ".wasm")
		if !slices.ContainsFunc(sdkCases, func(c sdkCase) bool { return c.file == name }) {
			t.Errorf("no case calls %s", name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "extism.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range sdkCases {
		t.Run(c.file, func(t *testing.T) {
			got, why, err := c.call(t, dir)
			if row := c.row(why); !strings.Contains(string(page), row) {
				t.Errorf("docs/extism.md has no\n%s", row)
			}
			switch {
			case c.fail && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s %v, want an error with %s", got, err, c.want)
			case !c.fail && (err != nil || got != c.want):
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
}

// call loads the plugin and calls it once.
func (c *sdkCase) call(t *testing.T, dir string) (got, why string, err error) {
	d := loader.Decision{Kind: c.kind, Functions: []loader.Function{
		{Tool: abi.ToolSpec{Name: "f"}, Export: c.export, Text: true},
	}}
	if c.give != nil {
		c.give(t, &d.Host)
	}
	kind := extism.New(&extism.Options{Functions: c.functions})
	opened := openFile(t, filepath.Join(dir, c.file+".wasm"), kind, d)
	p := opened.Plugins()[0]
	if p.Err != nil {
		return "", p.KindWhy, p.Err
	}
	got, err = text(t, opened.Tools()[0], c.input)
	return got, p.KindWhy, err
}

var _ = kv.Open

// row is what the page says of a case.
func (c *sdkCase) row(why string) string {
	result := "`" + c.want + "`"
	if c.fail {
		result = "fails: " + result
	}
	call := c.export
	if c.input != "" {
		call += "(" + c.input + ")"
	}
	return fmt.Sprintf("| %s | %s | `%s` | %s | %s |", c.file, why, call, cmp.Or(c.policy, "–"),
		result)
}

// Two of them are one program, linked: only Extism's own engine does that.
func TestLinkedModules(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lib.wasm", "main.wasm"} {
		code, err := os.ReadFile(filepath.Join(sdkDir(t), name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, code)
	}
	path := write(t, dir, "linked.extism.json",
		[]byte(`{"wasm":[{"name":"lib","path":"lib.wasm"},{"name":"main","path":"main.wasm"}]}`))
	p := openFile(t, path, extism.New(nil),
		loader.Decision{Functions: functionsOf("run_test")}).Plugins()[0]
	const want = `which only Extism's own engine does: engine = "extism-sdk" in its policy`
	if p.Err == nil || !strings.Contains(p.Err.Error(), want) {
		t.Errorf("%v, want %s", p.Err, want)
	}
}
