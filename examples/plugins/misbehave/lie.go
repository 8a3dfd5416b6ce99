package main

import (
	"math"
	"os"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

// registerLies adds the tools whose reply is not what a reply must be.
func registerLies() {
	add("not_a_number", "Give back NaN, which JSON cannot say.",
		func(*pdk.Call, none) (map[string]any, error) {
			return map[string]any{"rows": []float64{1, math.NaN()}}, nil
		})
	value("non_string_key", "Give back a map with the key 1, which JSON cannot say.",
		pdk.Raw{0x81, 0x01, 0xc0})
	value("not_utf8", "Give back a string that is not UTF-8.", pdk.Raw{0xa2, 0xc3, 0x28})
	value("duplicate_keys", "Give back a map that has one key twice.",
		pdk.Raw{0x82, 0xa1, 'a', 0x01, 0xa1, 'a', 0x02})
	value("not_msgpack", "Give back a byte that begins no msgpack value.", pdk.Raw{0xc1})
	value("cut_off", "Give back a string that is longer than the reply.", pdk.Raw{0xd9, 0xff, 'x'})
	value("too_deep", "Give back 65 arrays inside one another.", deep(65))

	pdk.Register(pdk.Tool{Name: "wrong_output", Effect: pdk.Read,
		Description:  "Promise a number and give back a string.",
		OutputSchema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
	}, func(*pdk.Call, none) (any, error) { return map[string]any{"n": "seven"}, nil })
	add("no_such_block", "Give back content of a type that there is not.",
		func(*pdk.Call, none) (pdk.Content, error) {
			return pdk.Content{{Type: "smell", Text: "toast"}}, nil
		})

	reply("empty_reply", "Reply with no bytes at all.", nil)
	reply("no_outcome", "Reply with a map that has none of the keys of a reply.", []byte{0x80})
	reply("two_outcomes", "Reply that the call worked and that it failed.", twoOutcomes())
	reply("trailing_bytes", "Reply with a second value after the first.",
		append(append([]byte(nil), okReply...), 0xc0))
	add("two_replies", "Reply twice.", func(*pdk.Call, none) (none, error) {
		output(okReply)
		return none{}, nil // the kit sends the second
	})
	add("no_reply", "Exit with 0, as if all were done, but with no reply.",
		func(*pdk.Call, none) (none, error) {
			os.Exit(0)
			return none{}, nil
		})
}

// value adds a tool that gives back v as its result.
func value(name, description string, v pdk.Raw) {
	add(name, description, func(*pdk.Call, none) (pdk.Raw, error) { return v, nil })
}

// reply adds a tool whose whole reply is b. It exits with 0, as a plugin may once it has replied,
// since the kit would send a reply of its own after it.
func reply(name, description string, b []byte) {
	add(name, description, func(*pdk.Call, none) (none, error) {
		output(b)
		os.Exit(0)
		return none{}, nil
	})
}

// okReply is the good reply {"ok": null}.
var okReply = []byte{0x81, 0xa2, 'o', 'k', 0xc0}

func twoOutcomes() []byte {
	b := abi.AppendMapHeader(nil, 2)
	b = abi.AppendNil(abi.AppendString(b, "ok"))
	b = abi.AppendString(b, "failed")
	b = abi.AppendString(abi.AppendMapHeader(b, 1), "message")
	return abi.AppendString(b, "or did it?")
}

func deep(n int) pdk.Raw {
	var b pdk.Raw
	for range n {
		b = abi.AppendArrayHeader(b, 1)
	}
	return abi.AppendNil(b)
}
