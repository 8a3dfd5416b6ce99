package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// greetSchema has a property of each sort that -f has to tell apart.
const greetSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {"type": "string", "description": "Whom to greet."},
    "times": {"type": "integer", "minimum": 1, "description": "How often."},
    "loud": {"type": "boolean", "description": "Shout."},
    "tags": {"type": "array", "items": {"type": "string"}, "description": "Any words."},
    "place": {"$ref": "#/$defs/place"},
    "extra": {"description": "Any value."}
  },
  "additionalProperties": false,
  "$defs": {"place": {"type": "object", "description": "Where.",
    "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}}}}
}`

// tinies are the plugins that scripts make with the command tiny: tiny KIND FILE. The plugin is
// named after the file.
var tinies = map[string]func(name string) hosttest.Plugin{
	"greet": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{
			Name: name, Description: "Give the arguments back. There is no more to it.",
			InputSchema: greetSchema, OutputSchema: `{"type": "object"}`,
		}}}
	},
	"reads": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: name, Effect: abi.EffectRead}}}
	},
	"stamped": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Stamp: true}
	},
	"two": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: "one"}, {Name: "two"}}}
	},
	"trap": body(hosttest.Then(hosttest.Print(2, "goodbye\n"), hosttest.Trap)),
	"exit": body(hosttest.Exit(3)),
	"mute": body(hosttest.Silent),
	"grow": body(hosttest.Grow(4096)),
	"slow": body(hosttest.Then(hosttest.Log(abi.LevelInfo, "started"), hosttest.Loop)),
	"fail": body(hosttest.Fail(abi.Failure{
		Code: "no_city", Message: "there is no city \x1b[31mAtlantis\u202e", Permanent: true,
		Details: abi.AppendString(nil, "sunk"),
	})),
	"vague": body(hosttest.Fail(abi.Failure{Message: "no mean of nothing",
		Details: abi.AppendFloat64(nil, math.NaN())})),
	"picky": body(reply(&abi.Reply{Outcome: abi.OutcomeInvalidInput,
		Failure: &abi.Failure{Message: "a leap day that is none", Pointer: "/day"}})),
	"nan": body(ok(abi.AppendFloat64(nil, math.NaN()))),
	"page": func(name string) hosttest.Plugin { // 20,000 bytes, others for each name
		line := fmt.Sprintf("This is page %s, and there is more of it. ", name)
		page := strings.Repeat(line, 20_000/len(line)+1)[:20_000]
		return hosttest.Plugin{Name: name, Call: ok(abi.AppendString(nil, page))}
	},
	"text": body(ok(abi.AppendString(nil, "two\nlines \x1b[2J"))),
	"blocks": body(reply(&abi.Reply{Outcome: abi.OutcomeContent, Content: []abi.Block{
		{Type: "text", Text: "a chart:"},
		{Type: "image", MIME: "image/png", Name: "chart.png", Data: []byte("\x89PNG")},
	}})),
	"progress": body(hosttest.Then(oneOfTwo, hosttest.Log(abi.LevelWarn, "nearly there"),
		hosttest.Echo)),
	"busy": body(hosttest.Then(oneOfTwo, hosttest.Loop)),
	"needy": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Needs: abi.Needs{
			HTTP: []abi.HTTPNeed{{Host: "api.example.org"}}, KV: &abi.KVNeed{},
		}}
	},
	"bare": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{
			{Name: strings.Repeat("a", abi.WarnToolNameBytes)},
			{Name: strings.Repeat("b", abi.WarnToolNameBytes+1), Description: "Long.",
				InputSchema: `{"type": "object", "properties": {"x": {}, "w": {}}}`},
		}}
	},
	"closed": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Change: func(m *asm.Module) {
			closed := asm.New()
			closed.ImportFunc("wasmagent_v9", "telepathy", "i32 -> i32")
			closed.ExportMemory(abi.ExportMemory, closed.Memory(1))
			closed.Export(abi.ExportDescribe, closed.Func("", "", asm.Nop))
			*m = *closed
		}}
	},
	"large": func(name string) hosttest.Plugin { // a function too long for the command's own process
		return hosttest.Plugin{Name: name, Change: func(m *asm.Module) {
			m.Func("", "", asm.Repeat(1<<20, asm.Nop))
		}}
	},
	"opaque": func(name string) hosttest.Plugin { // no snapshot can put its reference back
		return hosttest.Plugin{Name: name, Change: func(m *asm.Module) {
			m.Global("externref", true, asm.RefNull("externref"))
		}}
	},
	"frail_fail":   frail(hosttest.Fail(abi.Failure{Message: "no funds"})),
	"frail_trap":   frail(hosttest.Trap),
	"frail_loop":   frail(hosttest.Loop),
	"frail_grow":   frail(hosttest.Grow(1000)),
	"frail_babble": frail(hosttest.Reply([]byte{0x81, 0xa2, 'o', 'k', 0xc1})),
	"frail_nan":    frail(ok(abi.AppendFloat64(nil, math.NaN()))),
	"chatty": body(hosttest.Then(
		hosttest.Print(1, "to stdout\n"), hosttest.Print(2, "to stderr"), hosttest.Echo)),
	"doomed": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Initialize: hosttest.Then(
			hosttest.Print(2, "panic: bad \"name\"\n\ngoroutine 1 [running]:\n"), hosttest.Trap)}
	},
	"memo": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Needs: abi.Needs{KV: &abi.KVNeed{}}}
	},
	"memo2": func(name string) hosttest.Plugin { // the same, and another file
		return hosttest.Plugin{Name: name, Needs: abi.Needs{KV: &abi.KVNeed{}},
			Tools: []abi.ToolSpec{{Name: name, Description: "Another one."}}}
	},
	"settings": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Needs: abi.Needs{Config: []abi.ValueNeed{{Name: "region"}}}}
	},
	"cat":     other(catCommand("wasi_snapshot_preview1")),
	"old_cat": other(catCommand("wasi_unstable")),
	"extism":  other(extismEcho),
	"program": other(extismProgram),
	"sockets": other(socketCommand),
	"reactor": other(reactor),
	"hollow": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{}}
	},
	"other": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: "single"}}}
	},
	"good": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: "blurred"}, {Name: "spoken"}}}
	},
	"refused": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: "spoken"}},
			Needs: abi.Needs{KV: &abi.KVNeed{}}}
	},
	"mixed": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{
			{Name: "sound"}, {Name: "blurred", InputSchema: `{"type": 7}`}}}
	},
	"unsound": func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Tools: []abi.ToolSpec{{Name: name, Description: "Bad.",
			InputSchema: `{"type": 7}`}}}
	},
}

func body(b hosttest.Body) func(string) hosttest.Plugin {
	return func(name string) hosttest.Plugin { return hosttest.Plugin{Name: name, Call: b} }
}

// oneOfTwo tells of progress.
func oneOfTwo(k *hosttest.Kit) asm.Instr {
	return k.Bytes([]byte("\x82\xa4done\x01\xa5total\x02")) + asm.Call(k.Progress)
}

// frail is a plugin that ends badly when it is called with the text hosttest.Bad, and else well.
func frail(bad hosttest.Body) func(string) hosttest.Plugin { return body(hosttest.OnBad(bad)) }

func ok(value abi.Raw) hosttest.Body {
	return reply(&abi.Reply{Outcome: abi.OutcomeOK, Value: value})
}

func reply(r *abi.Reply) hosttest.Body { return hosttest.Reply(abi.AppendReply(nil, r)) }

// tinyMain writes a tiny plugin.
func tinyMain() {
	if len(os.Args) != 3 || tinies[os.Args[1]] == nil {
		kinds := make([]string, 0, len(tinies))
		for kind := range tinies {
			kinds = append(kinds, kind)
		}
		slices.Sort(kinds)
		fmt.Fprintf(os.Stderr, "usage: tiny KIND FILE, with KIND one of %s\n", strings.Join(kinds, ", "))
		os.Exit(2)
	}
	file := os.Args[2]
	name := strings.TrimSuffix(filepath.Base(file), ".wasm")
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, tinies[os.Args[1]](name).Bytes(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
