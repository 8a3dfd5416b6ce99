package extism_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// Hostile guests, each with what its call ends with. Afterwards the same plugin answers as if
// nothing had happened.
var hostile = []struct {
	name string
	run  body
	give func(*host.Policy)
	want string
}{
	{name: "alloc of 2^63", run: func(k *kit) asm.Instr { return k.do("alloc", -1<<63) + drop },
		want: "malformed_result (limit.memory): exceeded its memory limit of 128 MiB, asking for"},
	{name: "alloc of all bits", run: func(k *kit) asm.Instr { return k.do("alloc", -1) + drop },
		want: "(limit.memory)"},
	{name: "alloc of the whole limit", run: func(k *kit) asm.Instr {
		return k.do("alloc", 1<<20) +
			drop
	},
		give: func(p *host.Policy) { p.Limits.Memory = 1 << 20 },
		want: "exceeded its memory limit of 1 MiB, asking for 1114120 bytes (1.1 MiB)"},
	{name: "alloc while linear memory has the rest", run: func(k *kit) asm.Instr {
		return asm.I32Const(14) + asm.Op(0x40, 0) + drop + k.do("alloc", 1<<17) + drop
	}, give: func(p *host.Policy) { p.Limits.Memory = 1 << 20 }, want: "(limits.memory)"},
	{name: "linear memory while blocks have the rest", run: func(k *kit) asm.Instr {
		return k.do("alloc", 1<<19) + drop + asm.I32Const(14) + asm.Op(0x40, 0) +
			asm.I32Const(-1) + asm.Op(0x46) + asm.If(asm.Unreachable)
	}, give: func(p *host.Policy) { p.Limits.Memory = 1 << 20 }, want: "(limits.memory)"},
	{name: "a million allocs", run: func(k *kit) asm.Instr {
		return times(1_000_000, k.do("alloc",
			1)+drop)
	},
		want: fmt.Sprintf("malformed_result (contract): extism: more than %d blocks at a time",
			extism.MaxBlocks)},
	{name: "a million allocs that are freed", run: func(k *kit) asm.Instr {
		return times(1_000_000, k.with("free", k.do("alloc", 100))) + answer("through")(k)
	}, want: "through"},
	{name: "growing allocs that are freed", run: func(k *kit) asm.Instr {
		return times(1_000, k.with("free", asm.LocalGet(3), k.with("alloc"))) + answer("through")(k)
	}, want: "through"},
	{name: "free of anything", run: func(k *kit) asm.Instr {
		return k.do("free", 0) + k.do("free", 1) + k.do("free", -1) + k.put(0, "x") +
			k.with("free", asm.LocalGet(0), asm.I64Const(1), add64) +
			k.with("free", asm.LocalGet(0)) + k.with("free", asm.LocalGet(0)) + answer("through")(k)
	}, want: "through"},
	{name: "twice freed is not twice given", run: func(k *kit) asm.Instr {
		return k.put(0, "x") + k.with("free", asm.LocalGet(0)) + k.with("free", asm.LocalGet(0)) +
			k.show(k.do("alloc", 1)+k.do("alloc", 1)+asm.Op(0x51)+widen) // equal
	}, want: shown(0)},
	{name: "load outside", run: func(k *kit) asm.Instr { return k.do("load_u64", 1<<40) + drop },
		want: "extism: 8 bytes at offset 1099511627776 are not in its memory of"},
	{name: "a word across the end, which Extism's pages have room for", run: func(k *kit) asm.Instr {
		return k.with("store_u64", k.do("alloc", 8)+asm.LocalTee(0), asm.I64Const(1), add64,
			asm.I64Const(0x12345678)) + k.with("alloc", asm.I64Const(8)) + drop +
			k.show(k.with("load_u64", asm.LocalGet(0), asm.I64Const(1), add64))
	}, want: shown(0x12345678)},
	{name: "a word across the end of a page", run: func(k *kit) asm.Instr {
		return k.do("alloc", 8) + drop + k.do("load_u64", 1<<16-8) + drop + k.do("load_u64", 1<<16-7) +
			drop
	}, want: "extism: 8 bytes at offset 65529 are not in its memory of 65536 bytes"},
	{name: "load at the top of all numbers", run: func(k *kit) asm.Instr {
		return k.do("load_u64",
			-4) + drop
	},
		want: "are not in its memory"},
	{name: "load of nothing", run: func(k *kit) asm.Instr { return k.do("load_u8", 0) + drop },
		want: "extism: 1 bytes at offset 0"},
	{name: "store outside", run: func(k *kit) asm.Instr {
		return k.with("store_u8", asm.I64Const(1<<32), asm.I32Const(1))
	}, want: "are not in its memory"},
	{name: "output outside", run: func(k *kit) asm.Instr { return k.do("output_set", 8, 1000) },
		want: "malformed_result (contract): extism: an output of 1000 bytes at offset 8 is not in its"},
	{name: "output that wraps", run: func(k *kit) asm.Instr { return k.do("output_set", -8, 16) },
		want: "is not in its memory"},
	{name: "output of 2^63", run: func(k *kit) asm.Instr { return k.do("output_set", 8, -1<<63) },
		want: "(limit.output)"},
	{name: "output over its limit", run: func(k *kit) asm.Instr {
		return k.with("output_set", k.do("alloc", 101), asm.I64Const(101))
	}, give: func(p *host.Policy) { p.Limits.Output = 100 },
		want: "output of 101 bytes exceeds the limit of 100 bytes (limits.output)"},
	{name: "no output at a wild place", run: func(k *kit) asm.Instr {
		return k.do("output_set", -8,
			0)
	},
		want: ""},
	{name: "output after free", run: func(k *kit) asm.Instr {
		return k.put(0, "old") + k.with("free", asm.LocalGet(0)) +
			k.with("output_set", asm.LocalGet(0), asm.I64Const(3)) + k.do("alloc", 3) + drop
	}, want: "\x00\x00\x00"},
	{name: "error of no block", run: func(k *kit) asm.Instr { return k.do("error_set", 8888) },
		want: "extism: the error at offset 8888 is no block"},
	{name: "error freed", run: func(k *kit) asm.Instr {
		return k.put(0, "gone wrong") + k.with("error_set", asm.LocalGet(0)) +
			k.with("free", asm.LocalGet(0)) + k.put(1, "other text")
	}, want: "handler (failed): gone wrong"},
	{name: "error taken back", run: func(k *kit) asm.Instr {
		return k.put(0, "gone wrong") + k.with("error_set", asm.LocalGet(0)) + k.do("error_set", 0) +
			answer("fine after all")(k)
	}, want: "fine after all"},
	{name: "error and output", run: func(k *kit) asm.Instr {
		return answer("an answer")(k) + k.put(0, "an error") + k.with("error_set", asm.LocalGet(0))
	}, want: "handler (failed): an error"},
	{name: "a code without a text", run: func(*kit) asm.Instr { return asm.I32Const(-7) + ret },
		want: "handler (failed): code_-7: returned -7, without an error text"},
	{name: "input past its end", run: func(k *kit) asm.Instr {
		return k.do("input_load_u8", 5) +
			drop
	},
		want: "extism: byte 5 of an input of 5 bytes"},
	{name: "input far past its end", run: func(k *kit) asm.Instr {
		return k.do("input_load_u64", -1) +
			drop
	},
		want: "of an input of 5 bytes"},
	{name: "input freed", run: func(k *kit) asm.Instr {
		return k.with("free", k.do("input_offset")) + k.show(k.do("input_load_u8", 0)+widen)
	}, want: shown('h')},
	{name: "a huge name", run: func(k *kit) asm.Instr {
		return k.with("config_get", k.do("alloc", extism.MaxName+1)) + drop
	}, want: fmt.Sprintf("extism: a name of %d bytes, more than %d", extism.MaxName+1,
		extism.MaxName)},
	{name: "a name at the limit", run: func(k *kit) asm.Instr {
		return k.show(k.with("config_get", k.do("alloc", extism.MaxName)))
	}, want: shown(0)},
	{name: "a name that is no block", run: func(k *kit) asm.Instr {
		return k.show(k.do("config_get",
			77))
	},
		want: shown(0)},
	{name: "a large setting", run: func(k *kit) asm.Instr {
		return k.put(0, "large") + k.with("config_get", asm.LocalGet(0)) + drop
	}, give: func(p *host.Policy) {
		p.Limits.Memory = 1 << 20
		p.Config = map[string]abi.Raw{"large": abi.AppendString(nil, strings.Repeat("x", 1<<20))}
	}, want: "(limit.memory)"},
	{name: "variables without end", run: func(k *kit) asm.Instr {
		return times(extism.MaxVarCount+1, k.with("store_u64", k.do("alloc", 8)+asm.LocalTee(0),
			asm.LocalGet(3))+k.with("var_set", asm.LocalGet(0), k.do("alloc", 8)))
	}, want: fmt.Sprintf("too_large: var_set: more than %d variables", extism.MaxVarCount)},
	{name: "variables up to the limit", run: func(k *kit) asm.Instr {
		return times(extism.MaxVarCount, k.with("store_u64", k.do("alloc", 8)+asm.LocalTee(0),
			asm.LocalGet(3))+k.with("var_set", asm.LocalGet(0), k.do("alloc", 8))) + answer("all")(k)
	}, want: "all"},
	{name: "a variable over the limit", run: func(k *kit) asm.Instr {
		return k.with("var_set", k.put(0, "v")+asm.LocalGet(0), k.do("alloc", extism.MaxVariables))
	}, want: fmt.Sprintf("too_large: var_set: all variables have %d bytes, more than %d",
		extism.MaxVariables+1, extism.MaxVariables)},
	{name: "a variable at the limit", run: func(k *kit) asm.Instr {
		return k.with("var_set", k.put(0, "v")+asm.LocalGet(0), k.do("alloc", extism.MaxVariables-1)) +
			answer("set")(k)
	}, want: "set"},
	{name: "a value for nobody", run: func(k *kit) asm.Instr {
		return k.with("var_set", k.put(0, "v")+asm.LocalGet(0), k.do("alloc", host.MaxKVValue+1))
	}, want: "too_large: var_set: a value of"},
	{name: "a request that is too long", run: func(k *kit) asm.Instr {
		return k.with("http_request", k.do("alloc", extism.MaxRequest+1), asm.I64Const(0)) + drop
	}, want: fmt.Sprintf("too_large: http_request: a request of %d bytes", extism.MaxRequest+1)},
	{name: "a request of zeros at the limit", run: func(k *kit) asm.Instr {
		return k.with("http_request", k.do("alloc", extism.MaxRequest), asm.I64Const(0)) + drop
	}, want: "http_request: the request cannot be read"},
	{name: "a body that is too long", run: func(k *kit) asm.Instr {
		return k.with("http_request", k.put(0, "{}")+asm.LocalGet(0), k.do("alloc",
			extism.MaxRequestBody+1)) +
			drop
	}, want: fmt.Sprintf("too_large: http_request: a body of %d bytes", extism.MaxRequestBody+1)},
	{name: "a body at the limit", run: func(k *kit) asm.Instr {
		return k.with("http_request", k.put(0, `{"url":"https://a.test"}`)+asm.LocalGet(0),
			k.do("alloc", extism.MaxRequestBody)) + drop
	}, want: "too_large: http_request: GET https://a.test/: the body has 16777216 bytes, more than 4194304"},
	{name: "a request that nothing allows", run: func(k *kit) asm.Instr {
		return k.with("http_request", k.put(0, `{"url":"https://a.test","method":"post"}`)+
			asm.LocalGet(0), asm.I64Const(0)) + drop
	}, want: "denied: http_request: POST https://a.test/: no rule allows the host a.test; to allow it: " +
		`{ host = "a.test", methods = ["POST"] }`},
	{name: "a loop", run: func(*kit) asm.Instr { return asm.Loop(asm.Br(0)) },
		give: func(p *host.Policy) { p.Limits.Time = 300 * time.Millisecond },
		want: "handler (limit.time): exceeded its time limit of 300ms"},
	{name: "a loop of kernel calls", run: func(k *kit) asm.Instr {
		return asm.Loop(k.do("input_length"), drop, asm.Br(0))
	}, give: func(p *host.Policy) { p.Limits.Fuel = 1_000_000 }, want: "(limit.fuel)"},
	{name: "recursion", run: func(k *kit) asm.Instr {
		return asm.Call(asm.FuncIndex(len(kernel)+1)) + drop // the first of its own
	}, give: func(p *host.Policy) { p.Limits.Fuel = 50_000_000 }, want: "malformed_result (limit."},
	{name: "a trap", run: func(*kit) asm.Instr { return asm.Unreachable },
		want: "malformed_result (trap.unreachable)"},
	{name: "exit in the middle", run: func(k *kit) asm.Instr {
		return k.with("proc_exit",
			asm.I32Const(0))
	},
		want: "malformed_result (exit): exited with code 0 before it had replied"},
	{name: "exit after its answer", run: func(k *kit) asm.Instr {
		return answer("done")(k) + k.with("proc_exit", asm.I32Const(0))
	}, want: "done"},
	{name: "exit with a code", run: func(k *kit) asm.Instr {
		return answer("done")(k) + k.with("proc_exit", asm.I32Const(3))
	}, want: "handler (failed): exit_3: exited with code 3"},
	{name: "an output that is no text", run: func(k *kit) asm.Instr {
		return k.with("store_u8", k.do("alloc", 1)+asm.LocalTee(0), asm.I32Const(0xff)) +
			k.with("output_set", asm.LocalGet(0), asm.I64Const(1))
	}, want: "output_serialization (no_json)"},
}

func TestHostileGuests(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			for _, isolation := range []host.Isolation{host.Snapshot, host.Instantiate} {
				d := loader.Decision{Kind: "extism", Host: host.Policy{Isolation: isolation}}
				if tt.give != nil {
					tt.give(&d.Host)
				}
				dir := load(t, guest(map[string]body{"run": tt.run}), d, "run")
				only(t, dir)
				for range 2 {
					got, err := invoke(t.Context(), dir, "run", "hello")
					if !contains(got, err, tt.want) || err == nil && got != tt.want {
						t.Errorf("%v: %q %v, want %s", isolation, got, err, tt.want)
					}
					if got, err := invoke(t.Context(), dir, "ok", ""); got != "fine" || err != nil {
						t.Errorf("%v: afterwards %q %v, want fine", isolation, got, err)
					}
				}
			}
		})
	}
}

// Guests that are hostile while they load.
var hostileLoads = []struct {
	name string
	init body
	want string
}{
	{"a loop", func(*kit) asm.Instr { return asm.Loop(asm.Br(0)) },
		"exceeded its time limit for loading"},
	{"a trap", func(*kit) asm.Instr { return asm.Unreachable }, "initialize: trapped: unreachable"},
	{"too much left behind", func(k *kit) asm.Instr {
		return k.do("alloc", extism.MaxLoadedBytes) +
			drop
	},
		fmt.Sprintf("extism: more than %d bytes of blocks", extism.MaxLoadedBytes)},
	{"too many blocks", func(k *kit) asm.Instr {
		return times(extism.MaxLoadedBlocks+1, k.do("alloc", 1)+drop)
	}, fmt.Sprintf("extism: more than %d blocks at a time", extism.MaxLoadedBlocks)},
	{"a request", func(k *kit) asm.Instr {
		return k.with("http_request", k.put(0, `{"url":"https://a.test"}`)+asm.LocalGet(0),
			asm.I64Const(0)) + drop
	}, "http_request: not while the plugin loads"},
	{"an exit", func(k *kit) asm.Instr { return k.with("proc_exit", asm.I32Const(0)) },
		"exited with code 0"},
	{"an input", func(k *kit) asm.Instr { return k.do("input_load_u8", 0) + drop },
		"of an input of 0 bytes"},
}

func TestHostileLoads(t *testing.T) {
	for _, tt := range hostileLoads {
		t.Run(tt.name, func(t *testing.T) {
			d := loader.Decision{}
			d.Host.Limits.Load = 500 * time.Millisecond
			wasm := guest(map[string]body{"_initialize": func(k *kit) asm.Instr {
				return tt.init(k)
			}})
			p := load(t, wasm, d).Plugins()[0]
			if p.Err == nil || !strings.Contains(p.Err.Error(), tt.want) {
				t.Errorf("%v, want %s", p.Err, tt.want)
			}
		})
	}
}
