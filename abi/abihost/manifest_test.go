package abihost

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

func fullManifest() abi.Manifest {
	return abi.Manifest{
		Name: "prices", Version: "1.2.0", ABI: abi.Version,
		Tools: []abi.ToolSpec{
			{Name: "price", Description: "The price of an item.", InputSchema: `{"type":"object"}`,
				OutputSchema: `{"type":"number"}`, Effect: abi.EffectRead},
			{Name: "order", Description: "Orders an item.", InputSchema: `{}`},
			{Name: "cancel", InputSchema: "", Effect: abi.EffectIdempotent},
		},
		Needs: abi.Needs{
			HTTP: []abi.HTTPNeed{{Host: "*.example.com", Methods: []string{"GET", "POST"},
				Reason: "prices come from there", Optional: true}, {Host: "api.example.org"}},
			KV:      &abi.KVNeed{},
			Files:   []abi.FileNeed{{Guest: "/data", Mode: "rw", Optional: true}},
			Env:     []abi.ValueNeed{{Name: "LANG", Default: "C"}},
			Config:  []abi.ValueNeed{{Name: "region", Description: "where to look"}},
			Secrets: []abi.ValueNeed{{Name: "token"}},
		},
	}
}

func TestParseManifestReadsWhatAppendManifestWrites(t *testing.T) {
	for _, want := range []abi.Manifest{
		fullManifest(),
		{ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "t"}}},
		{ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "t"}},
			Needs: abi.Needs{KV: &abi.KVNeed{Optional: true}}},
	} {
		got, err := ParseManifest(abi.AppendManifest(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	}
}

func TestParseManifestCleansWords(t *testing.T) {
	long := strings.Repeat("é", abi.MaxTextChars)
	m := fullManifest()
	m.Name = "\x1b[31mprices\x1b[0m"
	m.Version = "1.2\u202e.0"
	m.Tools[0].Description = "line\none\u200b\U000e0041"
	m.Tools[1].Description = long
	m.Tools[2].Description = long + "é"
	m.Needs.HTTP[0].Reason = "not \xff UTF-8"
	m.Needs.Config[0].Description = "\a"
	got, err := ParseManifest(abi.AppendManifest(nil, &m))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ got, want string }{
		{got.Name, "prices"},
		{got.Version, "1.2.0"},
		{got.Tools[0].Description, "line one"},
		{got.Tools[1].Description, long},
		{got.Tools[2].Description, long[:len(long)-2] + "…"},
		{got.Needs.HTTP[0].Reason, "not \ufffd UTF-8"},
		{got.Needs.Config[0].Description, ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// Each limit of the contract: at it a manifest passes, one past it is refused.
func TestParseManifestLimits(t *testing.T) {
	withTools := func(n int) abi.Manifest {
		m := abi.Manifest{ABI: abi.Version}
		for i := range n {
			m.Tools = append(m.Tools, abi.ToolSpec{Name: fmt.Sprintf("t%d", i)})
		}
		return m
	}
	withSchemas := func(in, out int) abi.Manifest {
		m := withTools(2)
		m.Tools[0].InputSchema = strings.Repeat(" ", in)
		m.Tools[1].OutputSchema = strings.Repeat(" ", out)
		return m
	}
	withHosts := func(n int) abi.Manifest {
		m := withTools(1)
		for range n {
			m.Needs.HTTP = append(m.Needs.HTTP, abi.HTTPNeed{Host: "h"})
		}
		return m
	}
	withHost := func(chars int) abi.Manifest {
		m := withHosts(1)
		m.Needs.HTTP[0].Host = strings.Repeat("ä", chars)
		return m
	}
	withMethods := func(n int) abi.Manifest {
		m := withHosts(1)
		for range n {
			m.Needs.HTTP[0].Methods = append(m.Needs.HTTP[0].Methods, "GET")
		}
		return m
	}
	withName := func(n int) abi.Manifest {
		m := withTools(1)
		m.Tools[0].Name = strings.Repeat("a", n)
		return m
	}
	withSize := func(n int) abi.Manifest { // the text is cut, and the bytes count all the same
		m := withTools(1)
		m.Name = strings.Repeat("a", n)
		m.Name = m.Name[:n-(len(abi.AppendManifest(nil, &m))-n)]
		return m
	}
	tests := []struct {
		name     string
		at, past abi.Manifest
		path     string
	}{
		{"tools", withTools(abi.MaxTools), withTools(abi.MaxTools + 1), "tools"},
		{"no tools", withTools(1), withTools(0), "tools"},
		{"schemas", withSchemas(abi.MaxSchemaBytes-1, 1), withSchemas(abi.MaxSchemaBytes, 1), "tools[1]"},
		{"tool name", withName(abi.MaxToolNameBytes), withName(abi.MaxToolNameBytes + 1),
			"tools[0].name"},
		{"needs", withHosts(maxNeeds), withHosts(maxNeeds + 1), "needs.http"},
		{"methods", withMethods(maxNeeds), withMethods(maxNeeds + 1), "needs.http[0].methods"},
		{"word", withHost(abi.MaxTextChars), withHost(abi.MaxTextChars + 1), "needs.http[0].host"},
		{"size", withSize(abi.MaxManifestBytes), withSize(abi.MaxManifestBytes + 1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseManifest(abi.AppendManifest(nil, &tt.at)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := ParseManifest(abi.AppendManifest(nil, &tt.past))
			var field *FieldError
			if !errors.As(err, &field) || field.Path != tt.path {
				t.Errorf("one past the limit: %v, want an error of %q", err, tt.path)
			}
		})
	}
}

// What a plugin needs becomes a part of what its operator is told to type: none of it can say more
// than a name.
func TestNeedsAreNames(t *testing.T) {
	const secret = "t=cmd:/bin/rm -rf /home@example.org"
	for _, tt := range []struct {
		path  string
		needs abi.Needs
	}{
		{"http[0].host", abi.Needs{HTTP: []abi.HTTPNeed{{Host: `{host="x",addresses=["0.0.0.0/0"]}`}}}},
		{"http[0].host", abi.Needs{HTTP: []abi.HTTPNeed{{Host: "POST example.org"}}}},
		{"http[0].host", abi.Needs{HTTP: []abi.HTTPNeed{{Host: "http://example.org"}}}},
		{"http[0].host", abi.Needs{HTTP: []abi.HTTPNeed{{Host: "a --kv"}}}},
		{"http[0].methods[0]", abi.Needs{HTTP: []abi.HTTPNeed{{Host: "a", Methods: []string{"GET evil"}}}}},
		{"files[0].guest", abi.Needs{Files: []abi.FileNeed{{Guest: "/data:rw", Mode: "ro"}}}},
		{"files[0].guest", abi.Needs{Files: []abi.FileNeed{{Guest: "data", Mode: "ro"}}}},
		{"env[0].name", abi.Needs{Env: []abi.ValueNeed{{Name: "A=B"}}}},
		{"config[0].name", abi.Needs{Config: []abi.ValueNeed{{Name: "--yes"}}}},
		{"secrets[0].name", abi.Needs{Secrets: []abi.ValueNeed{{Name: secret}}}},
		{"secrets[0].name", abi.Needs{Secrets: []abi.ValueNeed{{Name: "{name=1}"}}}},
	} {
		m := abi.Manifest{ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "t"}}, Needs: tt.needs}
		_, err := ParseManifest(abi.AppendManifest(nil, &m))
		if field, ok := errors.AsType[*FieldError](err); !ok || field.Path != "needs."+tt.path {
			t.Errorf("%+v: %v, want an error of needs.%s", tt.needs, err, tt.path)
		}
	}
	for _, host := range []string{abi.AnyHost, "*.example.org", "xn--bcher-kva.example", "bücher.example",
		"127.0.0.1", "[::1]", "::1", "my_host"} {
		m := abi.Manifest{ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "t"}},
			Needs: abi.Needs{HTTP: []abi.HTTPNeed{{Host: host}}}}
		if _, err := ParseManifest(abi.AppendManifest(nil, &m)); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestParseManifestNodes(t *testing.T) {
	m := abi.Manifest{ABI: abi.Version}
	b := abi.AppendManifest(nil, &m)
	b[0]++ // one more key
	b = abi.AppendString(b, "x")
	b = abi.AppendArrayHeader(b, transcode.MaxSmallNodes)
	for range transcode.MaxSmallNodes {
		b = abi.AppendNil(b)
	}
	var syntax *transcode.SyntaxError
	if _, err := ParseManifest(b); !errors.As(err, &syntax) {
		t.Errorf("more than %d values: %v", transcode.MaxSmallNodes, err)
	}
}

func TestFieldErrorTexts(t *testing.T) {
	m := fullManifest()
	m.Tools[1].Name = "bad\x1b[31m name" + strings.Repeat("x", 100)
	_, name := ParseManifest(abi.AppendManifest(nil, &m))
	m = fullManifest()
	m.ABI = 2
	_, version := ParseManifest(abi.AppendManifest(nil, &m))
	m = fullManifest()
	m.Tools[2].Name = "price"
	_, twice := ParseManifest(abi.AppendManifest(nil, &m))
	_, whole := ParseManifest(make([]byte, abi.MaxManifestBytes+1))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{name, `tools[1].name: "bad name` + strings.Repeat("x", 55) +
			`…" is not a tool's name: it must match ^[a-z][a-z0-9_]{0,63}$`},
		{version, "abi: the plugin speaks version 2 of the contract, this host version 1"},
		{twice, `tools[2].name: tools[0] has the name "price" already`},
		{whole, "the manifest has 262145 bytes, more than 262144"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
}

// Both rooms count depth, and must agree.
func TestDepthIsOne(t *testing.T) {
	if abi.MaxDepth != transcode.MaxDepth {
		t.Errorf("abi nests %d deep, transcode %d", abi.MaxDepth, transcode.MaxDepth)
	}
}

func TestParseProgress(t *testing.T) {
	progress := func(p abi.Progress) string { return string(abi.AppendProgress(nil, &p)) }
	tests := []struct {
		name, in string
		want     abi.Progress
		fault    string // of the error's text; "" is none
	}{
		{"full", progress(abi.Progress{Done: 1.5, Total: 3, Message: "half"}),
			abi.Progress{Done: 1.5, Total: 3, Message: "half"}, ""},
		{"least", progress(abi.Progress{}), abi.Progress{}, ""},
		{"integers", "\x82\xa4done\x03\xa5total\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
			abi.Progress{Done: 3, Total: 1 << 64}, ""},
		{"float32", "\x81\xa4done\xca\x3f\x00\x00\x00", abi.Progress{Done: 0.5}, ""},
		{"total nil", "\x82\xa4done\x03\xa5total\xc0", abi.Progress{Done: 3}, ""},
		{"unknown keys", "\x82\xa4done\x03\xa1x\x90", abi.Progress{Done: 3}, ""},
		{"hostile message", progress(abi.Progress{Message: "a\x1b[2Jb\n" + strings.Repeat("c", 2000)}),
			abi.Progress{Message: "ab " + strings.Repeat("c", abi.MaxTextChars-4) + "…"}, ""},
		{"no done", "\x80", abi.Progress{}, "done: is missing"},
		{"done text", "\x81\xa4done\xa11", abi.Progress{}, "done: want a number, have a string"},
		{"done negative", "\x81\xa4done\xff", abi.Progress{},
			"done: -1 is not a finite number of 0 or more"},
		{"done NaN", "\x81\xa4done\xca\x7f\xc0\x00\x00", abi.Progress{},
			"done: NaN is not a finite number"},
		{"total infinite", "\x82\xa4done\x01\xa5total\xca\x7f\x80\x00\x00", abi.Progress{},
			"total: +Inf is not"},
		{"message bin", "\x82\xa4done\x01\xa7message\xc4\x01a", abi.Progress{},
			"message: want a string, have bin"},
		{"not a map", "\x91\x01", abi.Progress{}, "want a map, have an array"},
		{"a time", "\xd6\xff\x00\x00\x00\x00", abi.Progress{}, "want a map, have a timestamp"},
		{"empty", "", abi.Progress{}, "byte 0 of the msgpack: a value is missing"},
		{"declared", "\xdd\xff\xff\xff\xff", abi.Progress{}, "byte 0 of the msgpack"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProgress([]byte(tt.in))
			switch {
			case tt.fault == "" && err != nil, tt.fault != "" && err == nil:
				t.Fatalf("got %v, want %q", err, tt.fault)
			case err != nil && !strings.HasPrefix(err.Error(), tt.fault):
				t.Fatalf("got %v, want %q", err, tt.fault)
			case got != tt.want:
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	m := fullManifest()
	f.Add(abi.AppendManifest(nil, &m))
	m.Tools[0].InputSchema = `{"title":"a\u202e","properties":{"b":{"description":" c\u200b"}}}`
	m.Tools[0].OutputSchema = `{"default":{"title":"\u202e"}}`
	f.Add(abi.AppendManifest(nil, &m))
	f.Add([]byte("\x84\xa4name\xa1a\xa7version\xa11\xa3abi\x01\xa5tools\x90"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ParseProgress(b); err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
		m, err := ParseManifest(b)
		if err != nil {
			return
		}
		// What was read is clean: it can be written, and read again as it is.
		again, err := ParseManifest(abi.AppendManifest(nil, &m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v comes back as %+v, %v", m, again, err)
		}
	})
}
