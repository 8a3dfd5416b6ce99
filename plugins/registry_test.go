package plugins_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestDuplicateIsRefusedAndTheFirstStays(t *testing.T) {
	first, second := replies("a", 0, value("1"), nil), replies("a", 0, value("2"), nil)
	r := registry(t, nil, first)
	err := r.Add(second, replies("b", 0, value("3"), nil))
	if add, ok := errors.AsType[*plugins.AddError](err); !ok || add.Tool != "a" {
		t.Errorf("have %v", err)
	}
	if !errors.Is(err, plugins.ErrDuplicate) {
		t.Errorf("have %v", err)
	}
	if res, err := call(t, r, "a", "{}"); err != nil || string(res.Value) != "1" {
		t.Errorf("the first tool gives %s, %v", res.Value, err)
	}
	if res, err := call(t, r, "b", "{}"); err != nil || string(res.Value) != "3" {
		t.Errorf("the tool beside the second gives %s, %v", res.Value, err)
	}
}

func TestSpecsAreSorted(t *testing.T) {
	r := plugins.NewRegistry(nil)
	for _, name := range []string{"m", "z", "a", "b_2", "b"} {
		if err := r.Add(replies(name, 0, value("1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for spec := range r.Specs() {
		if names = append(names, spec.Name); len(names) == 4 {
			break
		}
	}
	if want := []string{"a", "b", "b_2", "m"}; !slices.Equal(names, want) {
		t.Errorf("have %v, want %v", names, want)
	}
}

func TestWhatAddRefuses(t *testing.T) {
	fill := func(n int) string {
		return `{"title":"` + strings.Repeat("x", n-len(`{"title":""}`)) + `"}`
	}
	nest := func(n int) string {
		return strings.Repeat(`{"not":`, n-1) + "{}" + strings.Repeat("}", n-1)
	}
	patterns := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"pattern":".{999}%d"}`, i)
		}
		return strings.Join(list, ",")
	}
	tests := []struct {
		name          string
		tool          string
		input, output string
		key           string
		text          string // of the error; "" when the tool is taken
	}{
		{"longest name", strings.Repeat("a", 64), "", "", "", ""},
		{"name too long", strings.Repeat("a", 65), "", "", "", "want a name like"},
		{"no name", "", "", "", "", "want a name like"},
		{"upper case", "Pay", "", "", "", "want a name like"},
		{"dot", "a.b", "", "", "", "want a name like"},
		{"not JSON", "a", "{", "", "", "input schema: "},
		{"not a schema", "a", `{"type":"text"}`, "", "", "input schema: "},
		{"bad output schema", "a", "", `{"minimum":"1"}`, "", "output schema: "},
		{"bad pattern", "a", `{"pattern":"("}`, "", "", "input schema: "},
		{"largest schema", "a", fill(plugins.MaxSchemaBytes), "", "", ""},
		{"schema too large", "a", fill(plugins.MaxSchemaBytes + 1), "", "",
			"65537 bytes, at most 65536"},
		{"deepest schema", "a", nest(plugins.MaxSchemaDepth), "", "", ""},
		{"schema too deep", "a", nest(plugins.MaxSchemaDepth + 1), "", "", "input schema: "},
		{"longest number", "a", `{"maximum":0.` + strings.Repeat("1", 62) + `}`, "", "", ""},
		{"number too long", "a", `{"maximum":0.` + strings.Repeat("1", 63) + `}`, "", "",
			"65 characters, at most 64"},
		{"tiny number", "a", `{"items":{"enum":[[1e-1000000]]}}`, "", "", "no 64-bit float"},
		{"large patterns", "a", `{"allOf":[` + patterns(31) + `]}`, "", "", ""},
		{"patterns too large", "a", `{"allOf":[` + patterns(33) + `]}`, "", "",
			"more than 32768 instructions"},
		{"a field twice", "a", `{"type":"object","type":"array"}`, "", "", "input schema: "},
		{"remote", "a", `{"$ref":"https://example.org/s.json"}`, "", "", "another document"},
		{"file", "a", `{"$ref":"file:///etc/passwd"}`, "", "", "another document"},
		{"relative", "a", `{"$ref":"other.json"}`, "", "", "another document"},
		{"remote dialect", "a", `{"$schema":"https://example.org/dialect"}`, "", "",
			"another document"},
		{"within itself", "a", `{"$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":` +
			`"#/$defs/n"}}}`, "", "", ""},
		{"draft 7", "a", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
			"", "", ""},
		{"good key path", "a", "", "", "order.id", ""},
		{"bad key path", "a", "", "", "order..id", `idempotency path "order..id": name 2 of 3`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opts := &plugins.Options{Rules: map[string]plugins.Rule{}}
			if test.key != "" {
				opts.Rules[test.tool] = plugins.Rule{Key: test.key}
			}
			err := plugins.NewRegistry(opts).Add(&pluginstest.Spy{Is: abi.ToolSpec{
				Name: test.tool, InputSchema: test.input, OutputSchema: test.output}})
			switch {
			case test.text == "" && err != nil:
				t.Error(err)
			case test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)):
				t.Errorf("want an error with %q, have %v", test.text, err)
			}
		})
	}
}

func TestRuleForNoTool(t *testing.T) {
	opts := &plugins.Options{Rules: map[string]plugins.Rule{"pay": {Key: "id"}, "pya": {Key: "id"}}}
	spy := replies("pay", abi.EffectRead, value("1"), nil)
	r := registry(t, opts, spy, replies("look", abi.EffectRead, value("1"), nil))
	const want = `there are rules for "pya", but no such tools; there are look, pay`
	if err := r.Check(); err == nil || err.Error() != want {
		t.Errorf("have %v, want %s", err, want)
	}
	_, err := call(t, r, "pay", `{"id":1}`)
	if plugins.FaultOf(err) != plugins.FaultHost || len(spy.Calls()) != 0 {
		t.Errorf("a call before the keys are right: %v, ran %d times", err, len(spy.Calls()))
	}
	if err := r.Add(replies("pya", abi.EffectRead, value("1"), nil)); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Errorf("when the tool is there: %v", err)
	}
	if _, err := call(t, r, "pay", `{"id":1}`); err != nil {
		t.Error(err)
	}
}
