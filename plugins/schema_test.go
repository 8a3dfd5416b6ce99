package plugins_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// TestTakenArguments: key, ledger and tool see the same arguments, which are what the caller's
// plainly meant, and the caller is told, also when the result is a copy.
func TestTakenArguments(t *testing.T) {
	spy := replies("pay", abi.EffectWrite, value("1"), nil)
	spy.Is.InputSchema = `{"type":"object","properties":{"id":{"type":"string"},` +
		`"n":{"type":"integer"},"note":{"type":"string"}}}`
	r := keyed(t, new(ledger.Memory), spy)
	const slips = `{"id":1.10, "n":"5", "note":null, "x":1}`
	notes := []string{
		`/id: 1.10 taken as "1.10"`,
		`/n: "5" taken as 5`,
		`/note: null left out, since the field is optional`,
		`/x: the tool does not declare this field; it has "id", "n", "note"`,
	}
	res, err := call(t, r, "pay", slips)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(res.Notes, notes) || res.Key != "pay:1.10" {
		t.Errorf("key %s, notes %q", res.Key, res.Notes)
	}
	seen := spy.Calls()[0]
	if want := `{"id":"1.10","n":5,"x":1}`; string(seen.Input) != want {
		t.Errorf("the tool saw %s, want %s", seen.Input, want)
	}
	for _, same := range []string{slips, `{"x":1,"n":5.0,"id":"1.10"}`} {
		if res, err = call(t, r, "pay", same); err != nil || !res.Copied || len(res.Notes) == 0 {
			t.Errorf("%s: %+v, %v", same, res, err)
		}
	}
	if len(spy.Calls()) != 1 {
		t.Errorf("it ran %d times", len(spy.Calls()))
	}
}

// TestTakenArgumentsPacked: what a guest is handed is what a Go tool is.
func TestTakenArgumentsPacked(t *testing.T) {
	spy := replies("f", abi.EffectRead, value("1"), nil)
	spy.Is.InputSchema = `{"type":"object","properties":{"n":{"type":"array"}}}`
	var packed []byte
	spy.Reply = func(_ context.Context, call plugins.Call) (plugins.Output, error) {
		packed = slices.Clone(call.Packed)
		return value("1"), nil
	}
	res, err := call(t, registry(t, nil, spy), "f", `{"n":"[1,2.50]"}`)
	if err != nil || len(res.Notes) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	text, err := transcode.AppendJSON(nil, packed)
	if seen := spy.Calls()[0].Input; err != nil || string(text) != `{"n":[1,2.5]}` ||
		string(seen) != `{"n":[1,2.50]}` {
		t.Errorf("packed %s, as text %s: %v", text, seen, err)
	}
}

// TestNothingToTell: arguments that are right are the very bytes that came, without a note.
func TestNothingToTell(t *testing.T) {
	spy := replies("f", abi.EffectRead, value("1"), nil)
	spy.Is.InputSchema = `{"type":"object","properties":{"n":{"type":"number"}}}`
	const right = ` {"n" : 1.50} `
	res, err := call(t, registry(t, nil, spy), "f", right)
	if err != nil || res.Notes != nil || string(spy.Calls()[0].Input) != right {
		t.Errorf("%+v, %v, the tool saw %s", res, err, spy.Calls()[0].Input)
	}
}

// TestOfferedSchemas: what Specs offers is what calls are held against, and one tool whose schema
// cannot be mended keeps no other out.
func TestOfferedSchemas(t *testing.T) {
	tool := func(name, input, output string) plugins.Tool {
		spy := replies(name, abi.EffectRead, value("null"), nil)
		spy.Is.InputSchema, spy.Is.OutputSchema = input, output
		return spy
	}
	r := plugins.NewRegistry(nil)
	err := r.Add(
		tool("bare", "", "null"),
		tool("lost", `{"properties":{"a":{"$ref":"#/a"}}}`, ""),
		tool("old", `{"properties":{"a":{"type":"string","required":true,"nullable":true}}}`,
			`{"type":"string","nullable":true}`),
		tool("text", `{"type":"string"}`, ""),
	)
	want := `tool "lost": input schema: at /properties/a/$ref: it refers to #/a, which is not there
tool "text": input schema: arguments are an object, and it allows none: at the top: want a string`
	if err == nil || err.Error() != want {
		t.Errorf("have %v,\nwant %s", err, want)
	}
	var offered []string
	for spec := range r.Specs() {
		offered = append(offered, spec.Name, spec.InputSchema, spec.OutputSchema)
	}
	if want := []string{
		"bare", `{"type":"object","properties":{}}`, "",
		"old", `{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`,
		`{"type":["string","null"]}`,
	}; !slices.Equal(offered, want) {
		t.Errorf("have %q", offered)
	}
	if _, err := call(t, r, "old", `{"a":null}`); err != nil {
		t.Error(err)
	}
	_, err = call(t, r, "old", `{}`)
	if invalid, ok := errors.AsType[*plugins.SchemaError](err); !ok ||
		!strings.Contains(invalid.Error(), `"a" is missing`) {
		t.Errorf("have %v", err)
	}
}

// TestResultsAreNotTaken: a tool keeps to its own word to the letter.
func TestResultsAreNotTaken(t *testing.T) {
	spy := replies("f", abi.EffectRead, value(`"5"`), nil)
	spy.Is.OutputSchema = `{"type":"integer"}`
	if _, err := call(t, registry(t, nil, spy), "f", "{}"); !errors.Is(err, plugins.ErrMalformedResult) {
		t.Errorf("have %v", err)
	}
}
