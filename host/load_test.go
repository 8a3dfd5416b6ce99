package host_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// refuse compiles a module that must be refused, and gives the error.
func refuse(t *testing.T, wasm []byte, p host.Policy) *host.LoadError {
	t.Helper()
	m, err := hosttest.Engine(t).Compile(t.Context(), wasm, p)
	load, ok := errors.AsType[*host.LoadError](err)
	if !ok {
		t.Fatalf("module %v, error %v", m, err)
	}
	return load
}

// Modules that break the contract are refused before anything of theirs is compiled.
func TestContract(t *testing.T) {
	change := func(f func(*asm.Module)) []byte {
		return hosttest.Plugin{Name: "t", Change: f}.Bytes()
	}
	imports := func(f func(*asm.Module)) []byte { // of a module that is otherwise empty
		m := asm.New()
		f(m)
		return m.Bytes()
	}
	bare := func(exports ...string) []byte {
		m := asm.New()
		f := m.Func("", "")
		for _, name := range exports {
			m.Export(name, f)
		}
		return m.Bytes()
	}
	for _, c := range []struct {
		name string
		wasm []byte
		want []string
	}{
		{"nothing", nil, []string{"preflight: header", "not a WebAssembly module"}},
		{"text", []byte("(module)"), []string{"preflight: header", "not a WebAssembly module"}},
		{"version 2", change(func(m *asm.Module) { m.Version("\x02\x00\x00\x00") }),
			[]string{"preflight: header", "version 02 00 00 00"}},
		{"component", change(func(m *asm.Module) { m.Version("\x0d\x00\x01\x00") }),
			[]string{"preflight: header", "a WebAssembly component", "wasm32-wasip1"}},
		{"empty module", asm.New().Bytes(), []string{"contract: export wasmagent_describe is missing",
			"export wasmagent_call is missing", "export memory, its memory, is missing",
			"a plugin defines one memory of its own"}},
		{"command", bare("_start"), []string{"it exports _start: a command"}},
		{"imports", imports(func(m *asm.Module) {
			m.ImportFunc("wasmagent_v1", "outputs", "i32 i32")
			m.ImportFunc("wasmagent_v1", "input", "i32 i64 -> i32")
			m.ImportFunc("wasmagent_v2", "input", "i32 i32 -> i32")
			m.ImportFunc("wasi_snapshot_preview1", "fork", "-> i32")
			m.ImportFunc("env", "print\x1b[2J", "f64")
			m.ImportMemory("env", "memory", 1)
			m.ImportTable("env", "table", 1)
			m.ImportGlobal("env", "global", "i32", false)
		}), []string{
			"import wasmagent_v1.outputs(i32, i32) -> (): there is no such function",
			"import wasmagent_v1.input(i32, i64) -> i32: the function is (i32, i32) -> i32",
			"import wasmagent_v2.input(i32, i32) -> i32: this host speaks version 1",
			"import wasi_snapshot_preview1.fork() -> i32: there is no such function",
			`import env."print"(f64) -> (): the host has no such module`,
			"import env.memory: a plugin cannot import a memory",
			"import env.table: a plugin cannot import a table",
			"import env.global: a plugin cannot import a global",
		}},
		{"signature of an export", imports(func(m *asm.Module) {
			f := m.Func("i32 -> i32", "", asm.LocalGet(0))
			m.Export("wasmagent_call", f)
			m.Export("_initialize", f)
			m.ExportMemory("wasmagent_describe", m.Memory(1))
		}), []string{
			"export wasmagent_call must be a function () -> (), and is func (i32) -> i32",
			"export _initialize must be a function () -> (), and is func (i32) -> i32",
			"export wasmagent_describe must be a function () -> (), and is memory",
			"export memory, its memory, is missing",
		}},
		{"reserved export", change(func(m *asm.Module) { m.Export("wasmagent_internal_g0", 0) }),
			[]string{"preflight: export section", `"wasmagent_internal_g0"`, "belong to the host"}},
		{"two memories", change(func(m *asm.Module) { m.Memory(1) }),
			[]string{"preflight: memory section", "more than one memory"}},
		{"shared memory", change(func(m *asm.Module) { m.Section(asm.SectionMemory, "\x01\x03\x01\x02") }),
			[]string{"not supported: threads"}},
		{"64-bit memory", change(func(m *asm.Module) { m.Section(asm.SectionMemory, "\x01\x04\x01") }),
			[]string{"not supported: 64-bit memory"}},
		{"pages of one byte",
			change(func(m *asm.Module) { m.Section(asm.SectionMemory, "\x01\x08\x01\x00") }),
			[]string{"preflight: memory section", "flags 0x08"}},
		{"exceptions", tagged(hosttest.Tiny("t")), []string{"not supported: exceptions"}},
		{"garbage-collected types",
			change(func(m *asm.Module) { m.Section(asm.SectionType, "\x01\x5f\x00") }),
			[]string{"preflight: type section", "0x5f"}},
		{"typed references",
			[]byte("\x00asm\x01\x00\x00\x00\x01\x06\x01\x60\x01\x64\x70\x00"),
			[]string{"not supported: typed references"}},
		{"invalid code", change(func(m *asm.Module) { m.Func("-> i32", "") }), []string{"compile: "}},
	} {
		text := refuse(t, c.wasm, host.Policy{}).Error()
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
		if strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("%s: the text is not one clean line: %q", c.name, text)
		}
	}
}

// tagged puts a tag section where it belongs, before the exports.
func tagged(wasm []byte) []byte {
	const export, tags = 7, "\x0d\x03\x01\x00\x00"
	at := 8
	for wasm[at] < export {
		size, n := binary.Uvarint(wasm[at+1:])
		at += 1 + n + int(size)
	}
	return slices.Concat(wasm[:at], []byte(tags), wasm[at:])
}

// Vectors that claim to be longer than they are, and more than any plugin needs.
func TestCountsAreBounded(t *testing.T) {
	for _, section := range []byte{asm.SectionType, asm.SectionImport, asm.SectionFunction,
		asm.SectionMemory, asm.SectionExport} {
		m := asm.New()
		m.Count(section, 1<<32-1)
		text := refuse(t, m.Bytes(), host.Policy{}).Error()
		if !strings.Contains(text, "4294967295 ") {
			t.Errorf("section %d: %s", section, text)
		}
	}
	types := func(params int) []byte {
		m := asm.New()
		m.Type(strings.Repeat("i32 ", params))
		return m.Bytes()
	}
	if text := refuse(t, types(1001), host.Policy{}).Error(); !strings.Contains(text, "the limit is 1000") {
		t.Error(text)
	}
	if load := refuse(t, types(1000), host.Policy{}); load.Stage != "contract" {
		t.Errorf("1,000 parameters: %v", load)
	}
}

// A plugin cut at any byte, and one with any byte changed, gives a typed error or loads: no panic.
func TestDamagedModules(t *testing.T) {
	onCores(t, testDamagedModules)
}

func testDamagedModules(t *testing.T) {
	e := verified(t)
	wasm := hosttest.Tiny("t")
	try := func(name string, at int, b []byte) {
		limits := host.Limits{Load: 100 * time.Millisecond}
		m, err := e.Compile(t.Context(), b, host.Policy{Limits: limits})
		if err == nil {
			m.Close(t.Context())
		} else if _, ok := errors.AsType[*host.LoadError](err); !ok {
			t.Errorf("%s at %d: %v", name, at, err)
		}
	}
	for i := range wasm {
		try("cut", i, wasm[:i])
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		i, b := r.IntN(len(wasm)), slices.Clone(wasm)
		b[i] ^= byte(1 << r.IntN(8))
		try("changed", i, b)
	}
}

// What fails in a stage of loading is named by the stage.
func TestStages(t *testing.T) {
	bad := func(f func(*hosttest.Plugin)) []byte {
		p := hosttest.Plugin{Name: "t"}
		f(&p)
		return p.Bytes()
	}
	for _, c := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"start traps", bad(func(p *hosttest.Plugin) { p.Start = hosttest.Trap }),
			`instantiate: trapped: unreachable in function "start"`},
		{"start loops", bad(func(p *hosttest.Plugin) { p.Start = hosttest.Loop }),
			"instantiate: exceeded its time limit for loading, 50ms (limits.load)"},
		{"start exits", bad(func(p *hosttest.Plugin) { p.Start = hosttest.Exit(0) }),
			"instantiate: exited with code 0 before it had replied"},
		{"data past memory", bad(func(p *hosttest.Plugin) {
			p.Change = func(m *asm.Module) { m.Data(65536, "x") }
		}), "instantiate: data segment 1: 1 bytes at 65536 do not fit"},
		{"initialize traps", bad(func(p *hosttest.Plugin) { p.Initialize = hosttest.Trap }),
			`initialize: trapped: unreachable in function "_initialize"`},
		{"initialize loops", bad(func(p *hosttest.Plugin) { p.Initialize = hosttest.Loop }),
			"initialize: exceeded its time limit for loading, 50ms (limits.load)"},
		{"initialize sleeps", bad(func(p *hosttest.Plugin) { p.Initialize = hosttest.Sleep(1 << 62) }),
			"initialize: exceeded its time limit for loading, 50ms (limits.load)"},
		{"initialize replies", bad(func(p *hosttest.Plugin) { p.Initialize = hosttest.OK }),
			"initialize: output is not for initialize"},
		{"describe traps", bad(func(p *hosttest.Plugin) { p.Describe = hosttest.Trap }),
			`describe: trapped: unreachable in function "wasmagent_describe"`},
		{"describe pushes nothing", bad(func(p *hosttest.Plugin) { p.Describe = hosttest.Silent }),
			"manifest: wasmagent_describe pushed no manifest"},
		{"describe pushes twice", bad(func(p *hosttest.Plugin) {
			p.Describe = hosttest.Then(hosttest.OK, hosttest.OK)
		}), "describe: a second output"},
		{"describe pushes too much", bad(func(p *hosttest.Plugin) {
			p.Pages, p.Describe = 5, hosttest.ReplyRange(0, abi.MaxManifestBytes+1)
		}), "describe: a manifest of 262145 bytes, the limit is 256 KiB"},
		{"describe exits", bad(func(p *hosttest.Plugin) {
			p.Describe = hosttest.Then(hosttest.OK, hosttest.Exit(0))
		}), "describe: exited with code 0 before it had replied"},
		{"manifest is no msgpack", bad(func(p *hosttest.Plugin) { p.Manifest = []byte{0xc1} }),
			"manifest: "},
		{"section differs", bad(func(p *hosttest.Plugin) { p.Stamp, p.Describe = true, hosttest.OK }),
			"manifest: "},
		{"warmup traps", bad(func(p *hosttest.Plugin) { p.Warmup = hosttest.Trap }),
			`warmup: trapped: unreachable in function "wasmagent_warmup"`},
		{"warmup replies", bad(func(p *hosttest.Plugin) { p.Warmup = hosttest.OK }),
			"warmup: output is not for warmup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limits := host.Limits{Load: time.Hour}
			if strings.Contains(c.want, "50ms") {
				limits.Load = 50 * time.Millisecond
			}
			load := refuse(t, c.wasm, host.Policy{Limits: limits})
			if !strings.HasPrefix(load.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", load, c.want)
			}
		})
	}
}

// The section and what describe pushes must be the same bytes, since the section is believed
// without running the plugin.
func TestStampedManifest(t *testing.T) {
	e := hosttest.Engine(t)
	stamped := hosttest.Plugin{Name: "t", Stamp: true}
	m := hosttest.Compile(t, e, stamped.Bytes(), host.Policy{})
	if m.Manifest().Name != "t" {
		t.Errorf("%+v", m.Manifest())
	}
	other := hosttest.Plugin{Name: "other", Stamp: true}
	other.Describe = hosttest.Reply(abi.AppendManifest(nil, &abi.Manifest{Name: "t", Version: "1.0.0",
		ABI: 1, Tools: []abi.ToolSpec{{Name: "t"}}}))
	load := refuse(t, other.Bytes(), host.Policy{})
	if load.Stage != "manifest" || !strings.Contains(load.Error(), "stamp it again") {
		t.Error(load)
	}
}

// What needs a grant is refused, all that is missing in one list; what calls it optional loads and
// is told "denied".
func TestGrants(t *testing.T) {
	needs := abi.Needs{HTTP: []abi.HTTPNeed{{Host: "example.com"}}, KV: &abi.KVNeed{},
		Files: []abi.FileNeed{{Guest: "/data", Mode: "ro"},
			{Guest: "/tmp", Mode: "rw", Optional: true}},
		Env:     []abi.ValueNeed{{Name: "HOME"}, {Name: "LANG", Default: "C"}},
		Config:  []abi.ValueNeed{{Name: "depth"}},
		Secrets: []abi.ValueNeed{{Name: "API_KEY"}}}
	err := refuse(t, hosttest.Plugin{Name: "t", Needs: needs}.Bytes(), host.Policy{})
	grant, ok := errors.AsType[*host.GrantError](err)
	want := []string{"config depth", "env HOME", "files /data ro", "http example.com", "kv",
		"secret API_KEY"}
	if !ok || !slices.Equal(grant.Missing, want) {
		t.Errorf("%v", err)
	}

	policy := host.Policy{Config: map[string]abi.Raw{"depth": abi.AppendInt(nil, 7)}}
	if got := policy.Missing(&needs); !slices.Equal(got, want[1:]) {
		t.Errorf("with its config: %q is missing, want %q", got, want[1:])
	}

	undeclared := hosttest.Plugin{Name: "t", Needs: needs}
	undeclared.Manifest = abi.AppendManifest(nil, &abi.Manifest{Name: "t", Version: "1", ABI: 1,
		Tools: []abi.ToolSpec{{Name: "t"}}})
	err = refuse(t, undeclared.Bytes(), host.Policy{})
	grant, ok = errors.AsType[*host.GrantError](err)
	if !ok || !slices.Equal(grant.Missing, []string{"http", "kv"}) {
		t.Errorf("imports that the manifest does not name: %v", err)
	}

	ask := func(k *hosttest.Kit) asm.Instr {
		return k.Bytes([]byte{0x80}) + asm.Call(k.HTTP) + asm.LocalSet(1) +
			asm.I32Const(hosttest.Scratch) + asm.LocalGet(1) + asm.Call(k.Result) + asm.LocalSet(2) +
			asm.I32Const(hosttest.Scratch) + asm.LocalGet(2) + asm.Call(k.Output)
	}
	optional := hosttest.Plugin{Name: "t", Call: ask, Needs: abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "example.com", Optional: true}}, KV: &abi.KVNeed{Optional: true}}}
	m := hosttest.Compile(t, hosttest.Engine(t), optional.Bytes(), host.Policy{})
	reply, err2 := call(t.Context(), m, "", nil)
	if err2 != nil || !strings.Contains(string(reply), "\xa4kind\xa6denied") {
		t.Errorf("%q, %v", reply, err2)
	}

	optional.Call = nil
	optional.Describe = ask // what is pushed is no manifest, but says what was answered
	load := refuse(t, optional.Bytes(), host.Policy{})
	if load.Stage != "manifest" {
		t.Error(load)
	}
}

// A guest's name for itself meets no other's.
func TestModuleNames(t *testing.T) {
	e := hosttest.Engine(t)
	for _, name := range []string{"env", "wasi_snapshot_preview1", "wasmagent_v1", ""} {
		wasm := hosttest.Plugin{Name: "t", Call: hosttest.OnBad(hosttest.Trap),
			Change: func(m *asm.Module) { m.Name(name) }}.Bytes()
		m := hosttest.Compile(t, e, wasm, host.Policy{})
		if reply, err := call(t.Context(), m, "hi", nil); string(reply) != okReply("hi") {
			t.Errorf("%q: %q, %v", name, reply, err)
		}
		_, err := call(t.Context(), m, "bad", nil)
		trap, ok := errors.AsType[*host.TrapError](err)
		if !ok || trap.Function != "wasmagent_call" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Who gives up while a plugin loads gets the own context's cause and no fault of the plugin's.
func TestCompileCancelled(t *testing.T) {
	e := hosttest.Engine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("changed my mind")
	cancel(mine)
	p := host.Policy{Limits: host.Limits{Load: time.Hour, Grace: 1}}
	_, err := e.Compile(ctx, hosttest.Plugin{Name: "t", Initialize: hosttest.Loop}.Bytes(), p)
	if _, ok := errors.AsType[*host.LoadError](err); ok || !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

func TestInspect(t *testing.T) {
	facts, err := host.Inspect(hosttest.Plugin{Name: "t", Pages: 3, Start: hosttest.Silent}.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	wantImport := host.Import{Module: "wasmagent_v1", Name: "input", Kind: "func",
		Type: "(i32, i32) -> i32"}
	wantExport := host.Export{Name: "wasmagent_call", Kind: "func", Type: "() -> ()"}
	if !slices.Contains(facts.Imports, wantImport) || !slices.Contains(facts.Exports, wantExport) ||
		!slices.Equal(facts.Memories, []host.Memory{{Min: 3}}) || !facts.Start {
		t.Errorf("%+v", facts)
	}
	if _, err := host.Inspect([]byte("no")); err == nil {
		t.Error("no error")
	}
}
