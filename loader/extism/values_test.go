package extism_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/host/kv"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// memory is a guest that sets the variable v to its input, and says what that was before.
func memory(end body) []byte {
	return guest(map[string]body{
		"set": func(k *kit) asm.Instr {
			return k.put(0, "v") + k.with("var_get", asm.LocalGet(0)) + asm.LocalSet(1) +
				k.with("output_set", asm.LocalGet(1), k.with("length", asm.LocalGet(1))) +
				k.put(0, "v") + k.with("var_set", asm.LocalGet(0), k.do("input_offset")) + end(k)
		},
		"forget": func(k *kit) asm.Instr {
			return k.put(0, "v") + k.with("var_set", asm.LocalGet(0), asm.I64Const(0))
		},
		"twice": func(k *kit) asm.Instr {
			set := func(text string) asm.Instr {
				return k.with("var_set", k.put(0, "v")+k.put(1, text)+asm.LocalGet(0), asm.LocalGet(1))
			}
			return set("first") + set("second") + k.put(0, "v") + k.with("var_get", asm.LocalGet(0)) +
				asm.LocalSet(1) + k.with("output_set", asm.LocalGet(1), k.with("length", asm.LocalGet(1))) +
				k.put(0, "v") + k.with("var_set", asm.LocalGet(0), asm.I64Const(0))
		},
	})
}

func nothing(*kit) asm.Instr { return "" }

// TestVariables is how long variables live: as long as a call or, with kv, for ever.
func TestVariables(t *testing.T) {
	exit := func(code int32) body {
		return func(k *kit) asm.Instr { return k.with("proc_exit", asm.I32Const(code)) }
	}
	failing := func(k *kit) asm.Instr { return k.put(2, "no") + k.with("error_set", asm.LocalGet(2)) }
	for _, tt := range []struct {
		name  string
		end   body
		space host.KV
		want  []string // of set a, set b, forget, set c, twice, set d
	}{
		{"for a call", nothing, nil, []string{"", "", "", "", "second", ""}},
		{"for ever", nothing, kv.Memory(), []string{"", "a", "", "", "second", ""}},
		{"for ever, with an exit", exit(0), kv.Memory(), []string{"", "a", "", "", "second", ""}},
		{"not of a call that failed", failing, kv.Memory(), []string{"no", "no", "", "no", "second",
			"no"}},
		{"not of one that exited badly", exit(1), kv.Memory(), []string{"exit_1", "exit_1", "", "exit_1",
			"second", "exit_1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := loader.Decision{}
			d.Host.Grants.KV = tt.space
			dir := load(t, memory(tt.end), d, "set", "forget", "twice")
			only(t, dir)
			for i, call := range []string{"set a", "set b", "forget ", "set c", "twice ", "set d"} {
				tool, input, _ := strings.Cut(call, " ")
				got, err := invoke(t.Context(), dir, tool, input)
				if !contains(got, err, tt.want[i]) || err == nil && got != tt.want[i] {
					t.Errorf("%s: %q %v, want %q", call, got, err, tt.want[i])
				}
			}
		})
	}
}

// A variable that was set while loading, when nothing can be kept, is one until a call keeps another.
func TestVariableOfLoading(t *testing.T) {
	set := func(value string) body {
		return func(k *kit) asm.Instr {
			return k.put(1, "v") + k.put(2, value) + k.with("var_set", asm.LocalGet(1), asm.LocalGet(2))
		}
	}
	get := func(k *kit) asm.Instr {
		return k.put(1, "v") + k.with("var_get", asm.LocalGet(1)) + asm.LocalSet(0) +
			k.with("output_set", asm.LocalGet(0), k.with("length", asm.LocalGet(0)))
	}
	wasm := guest(map[string]body{
		"_initialize": set("loaded"), "get": get,
		"set": func(k *kit) asm.Instr { return set("kept")(k) + get(k) },
		"forget": func(k *kit) asm.Instr {
			return k.put(1, "v") + k.with("var_set", asm.LocalGet(1), asm.I64Const(0)) + get(k)
		},
	})
	for _, tt := range []struct {
		space host.KV
		want  string // of get, set, get, forget, get
	}{
		{nil, "loaded kept loaded  loaded"},
		{kv.Memory(), "loaded kept kept  loaded"},
	} {
		d := loader.Decision{}
		d.Host.Grants.KV = tt.space
		dir := load(t, wasm, d, "get", "set", "forget")
		var said []string
		for _, tool := range []string{"get", "set", "get", "forget", "get"} {
			got, err := invoke(t.Context(), dir, tool, "")
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, got)
		}
		if got := strings.Join(said, " "); got != tt.want {
			t.Errorf("kv %v: %q, want %q", tt.space != nil, got, tt.want)
		}
	}
}

// brokenSpace is a space that cannot be used.
type brokenSpace struct{}

func (brokenSpace) Begin(context.Context) (host.KVTx, error) {
	return nil,
		errors.New("disk on fire")
}

// What keeps a variable from being kept is told, and the disk's troubles are not.
func TestVariablesOfABrokenSpace(t *testing.T) {
	d := loader.Decision{}
	d.Host.Grants.KV = brokenSpace{}
	dir := load(t, memory(nothing), d, "set", "forget")
	for tool, want := range map[string]string{
		"set":    "handler (failed)",
		"forget": "internal: var_set: the key-value space cannot be used now",
	} {
		_, err := invoke(t.Context(), dir, tool, "x")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "fire") {
			t.Errorf("%s: %v, want %s", tool, err, want)
		}
	}
}

// Settings that are no texts are JSON for the guest; those that have no JSON form end the call.
func TestSettings(t *testing.T) {
	number := abi.AppendInt(nil, 7)
	for want, value := range map[string]abi.Raw{
		"plain": abi.AppendString(nil, "plain"), "7": number, `[7]`: append(abi.AppendArrayHeader(nil,
			1), number...),
		"config color has no form for Extism": abi.AppendBin(nil, nil)[:1],
	} {
		d := loader.Decision{}
		d.Host.Config = map[string]abi.Raw{"color": value}
		dir := load(t, settings(), d, "config")
		only(t, dir)
		if got, err := invoke(t.Context(), dir, "config", ""); !contains(got, err, want) {
			t.Errorf("%x: %q %v, want %s", value, got, err, want)
		}
	}
}

// TestArguments is what a function that takes one string is called with.
func TestArguments(t *testing.T) {
	wasm := guest(map[string]body{"run": func(k *kit) asm.Instr {
		return k.with("output_set", k.do("input_offset"), k.do("input_length"))
	}})
	d := loader.Decision{}
	d.Host.Limits.Request, d.Host.Limits.Output = 100, 200
	text := load(t, wasm, d, "run")
	d.Functions = []loader.Function{{Tool: abi.ToolSpec{Name: "run"}}}
	whole := load(t, wasm, d, "ok")
	for _, tt := range []struct {
		dir         *loader.Dir
		input, want string
	}{
		{text, `{"input":"hello"}`, `"hello"`},
		{text, `{"other":"hello"}`, `"hello"`},
		{text, `{"input":"[1, 2]"}`, `[1,2]`},
		{text, `{"input":"[1, 2"}`, `"[1, 2"`},
		{text, `{"input":"{\"a\":1,\"a\":2}"}`, `"{\"a\":1,\"a\":2}"`},
		{text, `{"input":""}`, `""`},
		{text, `{}`, "invalid_input"},
		{text, `{}`, "the function takes one string, and there are 0 arguments"},
		{text, `{"a":"","b":""}`, "the function takes one string, and there are 2 arguments"},
		{text, `{"a":5}`, `the function takes one string, and "a" is none`},
		{text, `[]`, "the function takes an object with one string"},
		{text, `{"a":"` + strings.Repeat("x", 100) + `"}`, `"` + strings.Repeat("x", 100) + `"`},
		{text, `{"a":"` + strings.Repeat("x", 101) + `"}`,
			"invalid_input (limit.request): request of 101 bytes exceeds the limit of 100 bytes"},
		{whole, `{"a": 5}`, `{"a":5}`},
	} {
		for _, tool := range tt.dir.Tools() {
			if tool.Spec().Name != "run" {
				continue
			}
			out, err := tool.Invoke(t.Context(), plugins.Call{Tool: "run", Input: []byte(tt.input)})
			if !contains(string(out.Value), err, tt.want) {
				t.Errorf("%s: %s %v, want %s", tt.input, out.Value, err, tt.want)
			}
		}
	}
}

// echoing answers a request with what it was.
type echoing struct{ asked **egress.Request }

func (e echoing) Do(_ context.Context, req *egress.Request) (*egress.Response, error) {
	*e.asked = req
	return &egress.Response{Status: 204}, nil
}

// A request is sent as the guest says it. An answer without a body is no block, and has a status.
func TestRequest(t *testing.T) {
	var asked *egress.Request
	d := loader.Decision{}
	d.Host.Grants.HTTP = echoing{&asked}
	dir := load(t, guest(map[string]body{
		"send": func(k *kit) asm.Instr {
			return k.put(0, `{"url":"https://a.test/x","method":"post","headers":{"X-A":"1"}}`) + k.put(1,
				"body") +
				k.show(k.with("http_request", asm.LocalGet(0), asm.LocalGet(1))+
					k.with("http_status_code")+widen+add64+
					k.with("length", k.with("http_headers"))+asm.I64Const(16)+asm.Op(0x86)+add64)
		},
		"unasked": func(k *kit) asm.Instr {
			return k.show(k.with("http_headers") + k.with("http_status_code") + widen + add64)
		},
		"level": func(k *kit) asm.Instr { return k.show(k.with("get_log_level") + widen) },
		"report": func(k *kit) asm.Instr {
			return k.put(0, "x") + k.with("error_set", asm.LocalGet(0)) + k.do("output_set", 8, 1) +
				k.with("error_get") + k.with("output_offset") + k.with("output_length") + add64 + sub64 +
				asm.LocalSet(1) + k.do("error_set", 0) + k.show(asm.LocalGet(1))
		},
	}), d, "send", "unasked", "level", "report")
	only(t, dir)
	for tool, want := range map[string]string{
		"send": shown(2<<16 + 204), "unasked": shown(0), "level": shown(1), "report": shown(1<<32 - 1),
	} {
		if got, err := invoke(t.Context(), dir, tool, ""); got != want || err != nil {
			t.Errorf("%s: %q %v, want %q", tool, got, err, want)
		}
	}
	if asked == nil || asked.Method != "POST" || asked.URL != "https://a.test/x" ||
		string(asked.Body) != "body" || len(asked.Headers) != 1 || asked.Headers[0].Name != "X-A" {
		t.Errorf("sent: %+v", asked)
	}
}

// A policy that names no functions, or wrong ones, is told what there is.
func TestFunctionsOfAPolicy(t *testing.T) {
	for _, tt := range []struct {
		functions []loader.Function
		want      string
	}{
		{nil,
			"an Extism plugin does not describe its functions, and no policy says which are " +
				"tools: it exports ok, run"},
		{functionsOf("gone"), `no function "gone": it exports ok, run`},
		{functionsOf("memory"), `no function "memory": it exports ok, run`},
		{functionsOf("Ok"), `no function "Ok": it exports ok, run`},
		{[]loader.Function{{Tool: abi.ToolSpec{Name: "Bad-Name"}, Export: "ok"}}, "Bad-Name"},
	} {
		path := write(t, t.TempDir(), "p.wasm", guest(map[string]body{"run": nothing,
			"_initialize": nothing}))
		err := openFile(t, path, extism.New(nil),
			loader.Decision{Functions: tt.functions}).Plugins()[0].Err
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	m := asm.New()
	m.ImportFunc("extism:host/env", "alloc", "i64 -> i64")
	m.ExportMemory("memory", m.Memory(1))
	path := write(t, t.TempDir(), "p.wasm", m.Bytes())
	err := openFile(t, path, extism.New(nil), loader.Decision{}).Plugins()[0].Err
	if err == nil || !strings.Contains(err.Error(), "it exports no function that could be one") {
		t.Errorf("%v", err)
	}
}
