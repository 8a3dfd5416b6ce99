package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

func TestSplitTarget(t *testing.T) {
	for _, c := range []struct{ in, path, name string }{
		{"jq", "", "jq"},
		{"jq.wasm", "jq.wasm", ""},
		{"jq.wasm:jq", "jq.wasm", "jq"},
		{"./jq", "./jq", ""},
		{"./jq:jq", "./jq", "jq"},
		{"a:b/jq.wasm", "a:b/jq.wasm", ""},
		{`C:\jq.wasm`, `C:\jq.wasm`, ""},
		{`C:\jq.wasm:jq`, `C:\jq.wasm`, "jq"},
		{"a:b", "", "a:b"},
	} {
		if path, name := splitTarget(c.in); path != c.path || name != c.name {
			t.Errorf("splitTarget(%q) = %q, %q; want %q, %q", c.in, path, name, c.path, c.name)
		}
	}
}

func TestFieldTypes(t *testing.T) {
	root := newSchema([]byte(`{
		"properties": {
			"s": {"type": "string"}, "n": {"type": "number"}, "none": {}, "yes": true,
			"either": {"type": ["null", "string"]}, "count": {"type": ["integer", "null"]},
			"there": {"$ref": "#/$defs/there"}, "round": {"$ref": "#/$defs/round"},
			"gone": {"$ref": "#/$defs/gone"}, "far": {"$ref": "https://example.org/s"}
		},
		"$defs": {
			"there": {"type": "object", "properties": {"s": {"type": "string"}}},
			"round": {"$ref": "#/$defs/round"}
		}
	}`))
	for _, c := range []struct {
		schema     *schema
		text, want string // JSON; "" is an error
	}{
		{root.property("s"), "1", `"1"`},
		{root.property("n"), "1", `1`},
		{root.property("n"), "1.0", `1.0`},
		{root.property("n"), "one", ``},
		{root.property("n"), "1 2", ``},
		{root.property("none"), "null", `null`},
		{root.property("none"), "nil", `"nil"`},
		{root.property("yes"), "[1]", `[1]`},
		{root.property("either"), "null", `"null"`},
		{root.property("count"), "null", `null`},
		{root.property("count"), "x", ``},
		{root.property("there"), `{"s":"x"}`, `{"s":"x"}`},
		{root.property("there").property("s"), "1", `"1"`},
		{root.property("round"), "x", `"x"`},
		{root.property("gone"), "x", `"x"`},
		{root.property("far"), "x", `"x"`},
		{root.property("unknown"), "1", `1`},
		{root.property("unknown").property("deeper"), "x", `"x"`},
		{newSchema([]byte("no JSON")), "x", `"x"`},
	} {
		v, err := c.schema.parse(c.text)
		got := ""
		if err == nil {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%+v of %q: %s, %v; want %s", c.schema, c.text, got, err, c.want)
		}
	}
}

func TestPluginLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.wasm")
	for _, c := range []struct {
		size int64
		ok   bool
	}{{host.DefaultModule, true}, {host.DefaultModule + 1, false}} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, c.size); err != nil {
			t.Fatal(err)
		}
		if b, err := readPlugin(path); (err == nil) != c.ok {
			t.Errorf("%d bytes: read %d, %v", c.size, len(b), err)
		}
	}
}

// zeros reads as many zeros as are wanted.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestInputLimit(t *testing.T) {
	b, err := readLimited(t.Context(), io.LimitReader(zeros{}, maxInput), "stdin")
	if err != nil || len(b) != maxInput {
		t.Errorf("at the limit: %d bytes, %v", len(b), err)
	}
	var usage *usageError
	_, err = readLimited(t.Context(), io.LimitReader(zeros{}, maxInput+1), "stdin")
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "32.0 MiB") {
		t.Errorf("one byte past it: %v, want a usage error that names the limit", err)
	}
}

// What never comes is waited for no longer than the command may take.
func TestInputGivenUp(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	cancel(gone)
	if b, err := readLimited(ctx, r, "stdin"); !errors.Is(err, gone) {
		t.Errorf("read %q, %v, want the cause of the end", b, err)
	}
}
