package policy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
)

// What the file says of functions reaches the loader as it is.
func TestFunctions(t *testing.T) {
	w := newWorld(t)
	w.write(`[plugins.fetch]
kind = "extism"
engine = "native"
[plugins.fetch.functions.put]
description = """
Put it.
There."""
export = "put_it"
[plugins.fetch.functions.get]
takes = "text"
input_schema = { type = "object" }
output_schema = ' {"type": "string"} '
`)
	d, err := w.decide()
	if err != nil {
		t.Fatal(err)
	}
	want := []loader.Function{
		{Tool: abi.ToolSpec{Name: "get", InputSchema: `{"type":"object"}`,
			OutputSchema: `{"type": "string"}`}, Text: true},
		{Tool: abi.ToolSpec{Name: "put", Description: "Put it. There."}, Export: "put_it"},
	}
	if d.Kind != "extism" || d.Engine != "native" || !reflect.DeepEqual(d.Functions, want) {
		t.Errorf("%q %q %+v", d.Kind, d.Engine, d.Functions)
	}
}

// So does what it says of a command's arguments.
func TestFunctionsOfACommand(t *testing.T) {
	w := newWorld(t)
	w.write(`[plugins.fetch]
kind = "command"
[plugins.fetch.functions.put]
args = ["-c", "{code}", ""]
stdin = "text"
[plugins.fetch.functions.get]
args = []
`)
	d, err := w.decide()
	if err != nil {
		t.Fatal(err)
	}
	want := []loader.Function{
		{Tool: abi.ToolSpec{Name: "get"}, Args: []string{}},
		{Tool: abi.ToolSpec{Name: "put"}, Args: []string{"-c", "{code}", ""}, Stdin: "text"},
	}
	if d.Kind != "command" || d.Engine != "" || !reflect.DeepEqual(d.Functions, want) {
		t.Errorf("%q %q %+v", d.Kind, d.Engine, d.Functions)
	}
}

// Whatever a section says of kinds and functions, it is part of what a plugin was listed under, and of
// what was allowed.
func TestFunctionsCount(t *testing.T) {
	base := "[plugins.fetch]\nkv = true\nkind = \"command\"\n[plugins.fetch.functions.get]\n" +
		"description = \"a\"\nargs = [\"a\"]\nstdin = \"b\"\noutput_schema = \"{}\"\n"
	seen := map[string]string{}
	for _, c := range [][2]string{
		{}, {`kind = "command"`, ""}, {`kind = "command"`, "kind = \"command\"\nisolation = \"instantiate\""},
		{`"a"` + "\nargs", `"b"` + "\nargs"}, {`args = ["a"]`, `args = ["b"]`}, {`args = ["a"]`, "args = []"},
		{`args = ["a"]`, ""}, {`stdin = "b"`, `stdin = "c"`}, {`stdin = "b"`, `takes = "text"`},
		{`"{}"`, `"true"`}, {"functions.get", "functions.put"},
		{`stdin = "b"`, "stdin = \"b\"\ninput_schema = \"{}\""},
	} {
		changed := strings.Replace(base, c[0], c[1], 1)
		w := newWorld(t)
		w.write(base)
		w.allow(nil)
		w.write(changed)
		_, err := w.decide()
		if refused := err != nil && strings.Contains(err.Error(), "policy changed after it was allowed"); refused != (changed != base) {
			t.Errorf("%q: %v", changed, err)
		}
		first := w.plugin
		first.Digest = ""
		d, err := w.open().Decide(&first)
		if err != nil || d.Digest == "" || seen[d.Digest] != "" {
			t.Errorf("%q is listed as %q is: %s, %v", changed, seen[d.Digest], d.Digest, err)
		}
		seen[d.Digest] = changed
	}
}

// The edges of how long texts may be.
func TestProseEdges(t *testing.T) {
	long := strings.Repeat("a", maxProse)
	schema := func(n int) string { // of n bytes
		return `{"description":"` + strings.Repeat("a", n-18) + `"}`
	}
	for _, key := range []struct{ text, good, bad string }{
		{"description = %", long, long + "a"}, {"args = [%]", long, long + "a"},
		{"input_schema = %", schema(maxProse), schema(maxProse + 1)},
		{"output_schema = %", schema(maxProse), schema(maxProse + 1)},
	} {
		for value, good := range map[string]bool{key.good: true, key.bad: false} {
			text := "[plugins.a.functions.f]\n" + strings.Replace(key.text, "%", "'"+value+"'", 1)
			_, _, err := parse("f", text, nil)
			if (err == nil) != good {
				t.Errorf("%s with %d bytes: %v", key.text, len(value), err)
			}
		}
	}
}

// Without a list of kinds any may be named: the loader knows.
func TestKindsUnknown(t *testing.T) {
	text := "[plugins.a]\nkind = \"wizard\"\n"
	if _, _, err := parse("f", text, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := parse("f", text, []string{}); err == nil {
		t.Error("none but our own is known, and wizard is taken")
	}
}

// A kind without engines has no choice of them. Others say for themselves which they have.
func TestEngineWithoutChoice(t *testing.T) {
	for kind, good := range map[string]bool{"wasmagent": false, "command": false, "extism": true} {
		text := "[plugins.a]\nkind = \"" + kind + "\"\nengine = \"native\"\n"
		_, _, err := parse("f", text, nil)
		told := err != nil && strings.Contains(err.Error(), "f:3: plugins.a.engine: a plugin of the kind "+
			kind+" has no choice of engines")
		if good && err != nil || !good && !told {
			t.Error(err)
		}
	}
}
