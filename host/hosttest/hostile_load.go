package hosttest

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// refused is a module that does not get past a stage.
func refused(name string, wasm []byte, stage, says string) Case {
	return Case{Name: name, Wasm: wasm, Stage: stage, Says: says}
}

// changed is a plugin that is good but for a change to its module.
func changed(f func(*asm.Module)) []byte { return Plugin{Name: "t", Change: f}.Bytes() }

func brokenModules() []Case {
	tiny := Tiny("t")
	noise := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	version := func(v string) []byte { return changed(func(m *asm.Module) { m.Version(v) }) }
	return []Case{
		refused("no bytes", nil, "preflight", "not a WebAssembly module"),
		refused("random bytes", noise, "preflight", "not a WebAssembly module"),
		refused("random bytes behind a header", append([]byte("\x00asm\x01\x00\x00\x00"), noise...),
			"preflight", "section"),
		refused("version 2", version("\x02\x00\x00\x00"), "preflight", "version 02 00 00 00"),
		refused("a component", version("\x0d\x00\x01\x00"), "preflight", "a WebAssembly component"),
		refused("half of a module", tiny[:len(tiny)/2], "preflight", ""),
		refused("bytes behind the module", append(tiny[:len(tiny):len(tiny)], 0xff), "preflight", ""),
	}
}

// falseCounts declare far more than there is.
func falseCounts() (cases []Case) {
	for id, name := range map[byte]string{
		asm.SectionType: "types", asm.SectionImport: "imports", asm.SectionFunction: "functions",
		asm.SectionTable: "tables", asm.SectionMemory: "memories", asm.SectionGlobal: "globals",
		asm.SectionExport: "exports", asm.SectionElement: "elements", asm.SectionCode: "bodies",
		asm.SectionData: "data segments",
	} {
		m := asm.New()
		m.Count(id, math.MaxUint32)
		cases = append(cases, refused("2^32-1 "+name, m.Bytes(), "preflight", ""))
	}
	huge := asm.Uint(math.MaxUint32)
	return append(cases,
		refused("a function of 2^32-1 parameters",
			changed(func(m *asm.Module) { m.Section(asm.SectionType, "\x01\x60"+huge) }),
			"preflight", "type section"),
		refused("a function of 2^32-1 locals",
			changed(func(m *asm.Module) { m.FuncCode("", "\x01"+huge+"\x7f\x0b") }),
			"preflight", "the limit is 50000"),
		refused("2^32 locals in two groups",
			changed(func(m *asm.Module) { m.FuncCode("", "\x02"+huge+"\x7f\x01\x7e\x0b") }),
			"preflight", "the limit is 50000"),
		refused("a table of 2^32-1 elements",
			changed(func(m *asm.Module) { m.Table("funcref", math.MaxUint32) }),
			"preflight", "elements in all tables"),
		refused("sixty tables of 65,535 elements", changed(func(m *asm.Module) {
			for range 60 {
				m.Table("externref", 65_535)
			}
		}), "preflight", "elements in all tables"),
		refused("a memory of 4 GiB", Plugin{Name: "t", Pages: 65_536}.Bytes(), "contract",
			"past the limit of 128 MiB (limits.memory)"),
		refused("a name of 2^32-1 bytes",
			changed(func(m *asm.Module) { m.Tail("\x00\x05" + huge) }), "preflight", "custom section"))
}

// pastTheEnd name an entry of each index space that would be valid if the host had added one.
func pastTheEnd() []Case {
	const far = math.MaxInt32
	in := func(code ...asm.Instr) []byte {
		return changed(func(m *asm.Module) { m.Func("", "", code...) })
	}
	next := func(f func(m *asm.Module, next asm.FuncIndex)) []byte {
		return changed(func(m *asm.Module) { f(m, m.NextFunc()) })
	}
	one := asm.I32Const(0)
	list := []struct {
		name string
		wasm []byte
	}{
		{"a call", changed(func(m *asm.Module) { m.Func("", "", asm.Call(m.NextFunc()+1)) })},
		{"a tail call", changed(func(m *asm.Module) { m.Func("", "", asm.ReturnCall(m.NextFunc()+1)) })},
		{"ref.func", changed(func(m *asm.Module) {
			m.Func("", "", asm.RefFunc(m.NextFunc()+1), asm.Drop)
		})},
		{"an exported function", next(func(m *asm.Module, n asm.FuncIndex) { m.Export("x", n) })},
		{"the start function", next(func(m *asm.Module, n asm.FuncIndex) { m.Start(n) })},
		{"an element", next(func(m *asm.Module, n asm.FuncIndex) {
			m.Table("funcref", 1)
			m.Elem(0, n)
		})},
		{"a passive element", next(func(m *asm.Module, n asm.FuncIndex) { m.PassiveElem(n) })},
		{"reading a global", in(asm.GlobalGet(0), asm.Drop)},
		{"writing a global", in(asm.I64Const(1<<62), asm.GlobalSet(0))},
		{"an exported global", changed(func(m *asm.Module) { m.ExportGlobal("x", 0) })},
		{"an exported table", changed(func(m *asm.Module) { m.ExportTable("x", 0) })},
		{"an exported memory", changed(func(m *asm.Module) { m.ExportMemory("x", 1) })},
		{"a table", in(one, asm.TableGet(0), asm.Drop)},
		{"a call through a table", in(one, asm.CallIndirect(0, 0))},
		{"the type of a call through a table", changed(func(m *asm.Module) {
			m.Table("funcref", 1)
			m.Func("", "", one, asm.CallIndirect(far, 0))
		})},
		{"a local", in(asm.LocalGet(0), asm.Drop)},
		{"a label", in(asm.Br(1))},
		{"a label in a table of labels", in(one, asm.BrTable(0, 1))},
		{"data", in(one, one, one, asm.MemoryInit(1))},
		{"dropping data", in(asm.DataDrop(1))},
		{"elements", in(asm.ElemDrop(0))},
	}
	cases := make([]Case, 0, len(list))
	for _, c := range list {
		cases = append(cases, refused("one past the end: "+c.name, c.wasm, "preflight", ""))
	}
	return cases
}

func reservedNames() []Case {
	const says = "belong to the host"
	export := func(name string) []byte {
		return changed(func(m *asm.Module) { m.Export(name, 0) })
	}
	own := Plugin{Name: "t", Import: func(k *Kit) { k.Module.ImportFunc("wasmagent_internal", "tick", "") }}
	cases := []Case{
		refused("imports what only the host may", own.Bytes(), "preflight", says),
		refused("exports a name of the fuel", export("wasmagent_internal_fuel"), "preflight", says),
		refused("exports a name of a global", export("wasmagent_internal_g0"), "preflight", says),
	}
	for _, name := range []string{"env", "wasi_snapshot_preview1", "wasmagent_v1", "wasmagent_internal"} {
		cases = append(cases, Case{Name: "calls itself " + name, Reply: Answer(Bad),
			Wasm: changed(func(m *asm.Module) { m.Name(name) })})
	}
	return cases
}

// compileBombs are small, and would keep a compiler busy for minutes.
func compileBombs() []Case {
	body := func(locals int, code asm.Instr) []byte {
		return changed(func(m *asm.Module) {
			m.FuncCode("", "\x01"+asm.Uint(uint64(locals))+"\x7f"+string(code+asm.End))
		})
	}
	nest := func(n int, open asm.Instr) asm.Instr {
		return asm.Repeat(n, open) + asm.Repeat(n, asm.End)
	}
	const block, loop = "\x02\x40", "\x03\x40"
	targets := make([]uint32, 1_000_000)
	large := refused("a module that is too large", Plugin{Name: "t", Pad: 64 << 10}.Bytes(), "preflight",
		"the limit of 64 KiB").because("limit.module")
	large.Policy.Limits.Module = 64 << 10
	return []Case{
		refused("100,000 nested blocks", body(0, nest(100_000, block)), "preflight", "the limit is 16384"),
		refused("a thousand nested loops", body(0, nest(1_000, loop)), "preflight", "the limit is 64"),
		refused("a jump table of a million targets",
			body(0, asm.I32Const(0)+asm.BrTable(targets...)), "preflight", "the limit is 32768"),
		refused("thousands of loops over thousands of locals",
			body(2_000, asm.Repeat(1_000, loop+asm.End)), "compile", "the limit is"),
		refused("ten thousand operations in a straight line, each with its checks",
			body(0, asm.Repeat(10_000, asm.Repeat(3, asm.I32Const(0))+asm.MemoryFill)), "compile",
			"units of work"),
		refused("thirty thousand branches", body(1, asm.Repeat(30_000, asm.LocalGet(0)+asm.If())), "compile",
			"units of work"),
		refused("sixty loops over thousands of locals", body(8_000, asm.Repeat(60, loop+asm.End)), "compile",
			"units of work"),
		refused("a function of two megabytes",
			body(0, asm.Repeat(2<<20, asm.Nop)), "compile", "the limit is 1048576"),
		large,
	}
}

func (c Case) because(cause string) Case {
	c.Cause = cause
	return c
}

func badContracts() []Case {
	lacks := func(section byte, text string) Case {
		wasm := changed(func(m *asm.Module) { m.Section(section, "\x00") })
		return refused("has no "+text, wasm, "contract", "is missing")
	}
	imports := func(name, module, function, sig, says string) Case {
		p := Plugin{Name: "t", Import: func(k *Kit) { k.Module.ImportFunc(module, function, sig) }}
		return refused("imports "+name, p.Bytes(), "contract", says)
	}
	needs := Plugin{Name: "t", Needs: abi.Needs{KV: &abi.KVNeed{},
		HTTP: []abi.HTTPNeed{{Host: "example.com"}}}}
	other := changed(func(m *asm.Module) { m.Export("_initialize", m.Func("i32", "")) })
	return []Case{
		lacks(asm.SectionExport, "exports"),
		refused("exports _initialize with another signature", other, "contract",
			"export _initialize must be a function () -> ()"),
		imports("from nowhere", "env", "system", "i32 -> i32", "the host has no such module"),
		imports("from the future", "wasmagent_v2", "input", "i32 i32 -> i32", "speaks version 1"),
		imports("an unknown function", "wasmagent_v1", "exec", "i32", "there is no such function"),
		imports("a known function with another signature", "wasmagent_v1", "log", "i32 i64",
			"the function is (i32, i32, i32) -> ()"),
		refused("needs what is not granted", needs.Bytes(), "grants", "http example.com, kv"),
		refused("describes itself in no msgpack", Plugin{Name: "t", Manifest: []byte{0xc1}}.Bytes(),
			"manifest", ""),
		refused("has a manifest that claims 2^32-1 tools",
			Plugin{Name: "t", Manifest: []byte("\x81\xa5tools\xdd\xff\xff\xff\xff")}.Bytes(), "manifest", ""),
		refused("has a manifest that is nested too deep",
			Plugin{Name: "t", Manifest: []byte(strings.Repeat("\x91", 20_000))}.Bytes(), "manifest", ""),
		refused("names its tool by a terminal's escapes", Plugin{Name: "t",
			Tools: []abi.ToolSpec{{Name: "\x1b]0;\x07\x1b[2J\u202e"}}}.Bytes(), "manifest", ""),
		{Name: "hides its needs from its section", Stage: "manifest", Says: "stamp it again",
			Wasm: Plugin{Name: "t", Stamp: true, Describe: Reply(abi.AppendManifest(nil,
				&abi.Manifest{Name: "t", Version: "2", ABI: 1, Tools: []abi.ToolSpec{{Name: "t"}}}))}.Bytes()},
	}
}

// badLoads misbehave in a stage of loading.
func badLoads() (cases []Case) {
	for _, stage := range []struct {
		name, stage string
		put         func(*Plugin, Body)
	}{
		{"start", "instantiate", func(p *Plugin, b Body) { p.Start = b }},
		{"_initialize", "initialize", func(p *Plugin, b Body) { p.Initialize = b }},
		{"wasmagent_describe", "describe", func(p *Plugin, b Body) { p.Describe = b }},
		{"wasmagent_warmup", "warmup", func(p *Plugin, b Body) { p.Warmup = b }},
	} {
		for _, bad := range []struct {
			does  string
			body  Body
			cause string
		}{
			{"loops", Loop, "limit.load"},
			{"traps", Trap, "trap.unreachable"},
			{"recurses for ever", Recurse, "limit.stack"},
			{"sleeps for ever", Sleep(math.MaxInt64), "limit.load"},
			{"exits", Exit(3), "exit"},
			{"wants too much memory", Grow(1 << 15), "limit.memory"},
			{"asks for a wild range", ReplyRange(math.MaxUint32, math.MaxUint32), "contract"},
		} {
			p := Plugin{Name: "t"}
			stage.put(&p, bad.body)
			c := Case{Name: stage.name + " " + bad.does, Wasm: p.Bytes(), Stage: stage.stage,
				Cause: bad.cause, Policy: host.Policy{Limits: host.Limits{Memory: 2 << 20}}}
			if bad.cause == "limit.load" {
				c = c.within(shortly)
			}
			cases = append(cases, c)
		}
	}
	return cases
}
