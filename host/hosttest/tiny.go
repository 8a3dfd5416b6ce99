package hosttest

import (
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Plugin is a small plugin to be made. Its zero value, but for the name, echoes.
type Plugin struct {
	Name    string
	Version string         // "1.0.0" when empty
	Tools   []abi.ToolSpec // one with the plugin's name and no schemas when nil
	Needs   abi.Needs

	Call       Body   // what a call does; nil is Echo
	Initialize Body   // nil: not exported
	Describe   Body   // nil pushes the manifest
	Manifest   []byte // nil is made of the fields above
	Warmup     Body   // nil: not exported
	Start      Body   // nil: no start section

	Import func(*Kit)        // imports more functions, for bodies to call
	Stamp  bool              // the manifest lies in a custom section too
	Pad    int               // bytes added, to be as large as real plugins are
	Pages  int               // of memory, 1 when 0
	Change func(*asm.Module) // the last word, before the bytes are made
}

// Tiny is a plugin of about 800 bytes that answers every call of its tools with the arguments.
// Without tools it has one, of its own name. Plugins of different names have different digests.
func Tiny(name string, tools ...string) []byte {
	p := Plugin{Name: name}
	for _, t := range tools {
		p.Tools = append(p.Tools, abi.ToolSpec{Name: t, Description: "Gives its arguments back."})
	}
	return p.Bytes()
}

// Body is what an export of a small plugin does: instructions, given the functions that it can call
// and a place for its data.
type Body func(k *Kit) asm.Instr

// Instrs is a body of plain instructions.
func Instrs(in ...asm.Instr) Body { return func(*Kit) asm.Instr { return asm.Seq(in...) } }

// Then does one thing after the other.
func Then(bodies ...Body) Body {
	return func(k *Kit) asm.Instr {
		var in asm.Instr
		for _, b := range bodies {
			in += b(k)
		}
		return in
	}
}

// Kit is what a body is made with. The functions are those of the contract.
type Kit struct {
	Module *asm.Module

	Input, Output, Log, Progress, Cancelled, Config, Result asm.FuncIndex
	HTTP, KV                                                asm.FuncIndex // when the plugin needs them
	Exit, Write, Random, Poll, ReadFD                       asm.FuncIndex // WASI

	data int32
}

// Where things lie in a small plugin's memory. Local 0 to 3 of every body are i32.
const (
	dataAt  = 16       // constant bytes, upwards
	dataEnd = 32 << 10 // and no further
	Scratch = 32 << 10 // free for a body
	inputAt = 40 << 10 // requests, to the end of memory
)

// Bytes puts constant bytes into the plugin's memory and tells where: the two arguments, pointer
// and length, of most host functions.
func (k *Kit) Bytes(b []byte) asm.Instr {
	at := k.data
	if k.data += int32(len(b)); k.data > dataEnd {
		panic("hosttest: more than 32 KiB of constants")
	}
	k.Module.Data(at, string(b))
	return asm.I32Const(at) + asm.I32Const(int32(len(b)))
}

// Bytes makes the module.
func (p Plugin) Bytes() []byte {
	m := asm.New()
	k := &Kit{Module: m, data: dataAt}
	p.link(k)
	m.ExportMemory(abi.ExportMemory, m.Memory(uint64(max(p.Pages, 1))))
	manifest := p.manifest()
	export := func(name string, b Body) {
		if b != nil {
			m.Export(name, p.function(k, name, b))
		}
	}
	describe, call := p.Describe, p.Call
	if describe == nil {
		describe = Reply(manifest)
	}
	if call == nil {
		call = Echo
	}
	export(abi.ExportInitialize, p.Initialize)
	export(abi.ExportDescribe, describe)
	export(abi.ExportWarmup, p.Warmup)
	export(abi.ExportCall, call)
	if p.Start != nil {
		m.Start(p.function(k, "start", p.Start))
	}
	if p.Stamp {
		m.Custom(abi.ManifestSection, string(manifest))
	}
	if p.Pad > 0 {
		m.Custom("pad", strings.Repeat("wasmagent ", p.Pad/10+1)[:p.Pad])
	}
	if p.Change != nil {
		p.Change(m)
	}
	return m.Bytes()
}

func (p Plugin) function(k *Kit, name string, b Body) asm.FuncIndex {
	body := b(k) // it may define functions of its own, so it comes first
	f := k.Module.Func("", "i32 i32 i32 i32", body)
	k.Module.NameFunc(f, name)
	return f
}

func (p Plugin) link(k *Kit) {
	own := func(name, sig string) asm.FuncIndex {
		return k.Module.ImportFunc(abi.ImportModule, name, sig)
	}
	wasi := func(name, sig string) asm.FuncIndex {
		return k.Module.ImportFunc("wasi_snapshot_preview1", name, sig)
	}
	k.Input = own("input", "i32 i32 -> i32")
	k.Output = own("output", "i32 i32")
	k.Log = own("log", "i32 i32 i32")
	k.Progress = own("progress", "i32 i32")
	k.Cancelled = own("cancelled", "-> i32")
	k.Config = own("config", "i32 i32 -> i32")
	k.Result = own("result", "i32 i32 -> i32")
	if len(p.Needs.HTTP) > 0 {
		k.HTTP = own("http", "i32 i32 -> i32")
	}
	if p.Needs.KV != nil {
		k.KV = own("kv", "i32 i32 -> i32")
	}
	k.Exit = wasi("proc_exit", "i32")
	k.Write = wasi("fd_write", "i32 i32 i32 i32 -> i32")
	k.Random = wasi("random_get", "i32 i32 -> i32")
	k.Poll = wasi("poll_oneoff", "i32 i32 i32 i32 -> i32")
	k.ReadFD = wasi("fd_read", "i32 i32 i32 i32 -> i32")
	if p.Import != nil {
		p.Import(k)
	}
}

func (p Plugin) manifest() []byte {
	if p.Manifest != nil {
		return p.Manifest
	}
	m := abi.Manifest{Name: p.Name, Version: p.Version, ABI: abi.Version, Tools: p.Tools,
		Needs: p.Needs}
	if m.Version == "" {
		m.Version = "1.0.0"
	}
	if m.Tools == nil {
		m.Tools = []abi.ToolSpec{{Name: p.Name, Description: "A tool of the test kit."}}
	}
	return abi.AppendManifest(nil, &m)
}
