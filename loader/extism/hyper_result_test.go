package extism

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

func TestHyperResults(t *testing.T) {
	text := func(s string) []abi.Block { return []abi.Block{{Type: abi.BlockText, Text: s}} }
	for _, c := range []struct {
		answer    string
		described bool
		value     string
		content   []abi.Block
	}{
		{`{"content":[]}`, false, `null`, nil},
		{`{"content":[{"type":"text","text":""}]}`, false, ``, text("")},
		{`{"content":[{"type":"text","text":"a"}],"isError":null,"structuredContent":null}`, false, ``,
			text("a")},
		{`{"content":[{"type":"text","text":"a","Text":"b"}],"isERROR":true}`, false, ``, text("a")},
		{`{"content":null,"structuredContent":{"n":1}}`, false, `{"n":1}`, nil},
		{`{"structuredContent":{"n":1.0}}`, true, `{"n":1.0}`, nil},
		{`{"content":[{"type":"text","text":"a"}],"structuredContent":{}}`, true, `{}`, nil},
		{`{"content":[{"type":"text","text":"{ \"n\" : 1 }"}],"structuredContent": {"n":1}}`, false, ``,
			text(`{ "n" : 1 }`)},
		{`{"content":[{"type":"text","text":"one"}],"structuredContent":{"n": 1}}`, false, ``,
			append(text("one"), text(`{"n":1}`)...)},
		{`{"content":[{"type":"image","data":""}]}`, false, ``, []abi.Block{{Type: "image", Data: []byte{}}}},
		{`{"content":[{"type":"resource","uri":"a:b","text":"x","mimeType":"text/plain"}]}`, false, ``,
			[]abi.Block{{Type: "file", Text: "x", MIME: "text/plain", Name: "a:b"}}},
		{`{"content":[{"type":"resource","data":"eA=="}]}`, false, ``,
			[]abi.Block{{Type: "file", Data: []byte("x")}}},
		{`{"content":[{"type":"\u001b[31m"}]}`, false, ``, text(`[a block of type "", which is not shown]`)},
		{`{"content":[` + blocks(maxContent) + `]}`, false, ``, manyBlocks(maxContent)},
	} {
		out, err := readResult([]byte(c.answer), c.described)
		if got, want := fmt.Sprintf("%#v", out.Content), fmt.Sprintf("%#v", c.content); err != nil ||
			string(out.Value) != c.value || got != want {
			t.Errorf("%.200s: %s, %.200s, %v\nwant %s, %.200s", c.answer, out.Value, got, err, c.value, want)
		}
	}
}

func blocks(n int) string {
	return strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x"},`, n), ",")
}

func manyBlocks(n int) (list []abi.Block) {
	for range n {
		list = append(list, abi.Block{Type: abi.BlockText, Text: "x"})
	}
	return list
}

// What is no result is told with the place that is wrong.
func TestHyperMalformed(t *testing.T) {
	deep := strings.Repeat(`{"a":`, abi.MaxDepth) + "1" + strings.Repeat("}", abi.MaxDepth)
	for _, c := range []struct{ answer, want string }{
		{``, "not JSON"},
		{`null`, "want an object, have null"},
		{`"text"`, "want an object, have a string"},
		{`{"content":[]`, "not JSON"},
		{`{"content":[]} {}`, "not JSON"},
		{`{}`, "content: is missing"},
		{`{"isError":true}`, "content: is missing"},
		{`{"content":{}}`, "content: want an array, have an object"},
		{`{"content":[1]}`, "content[0]: want an object, have a number"},
		{`{"content":[{}]}`, "content[0].type: is missing"},
		{`{"content":[{"type":7}]}`, "content[0].type: want a string, have a number"},
		{`{"content":[{"type":"text","text":"a"},{"type":"text"}]}`, "content[1].text: is missing"},
		{`{"content":[{"type":"image"}]}`, "content[0].data: is missing"},
		{`{"content":[{"type":"image","data":"!"}]}`, "content[0].data: not base64"},
		{`{"content":[{"type":"image","data":"","mimeType":[]}]}`,
			"content[0].mimeType: want a string, have an array"},
		{`{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`,
			"content[0].resource.blob: is missing"},
		{`{"content":[],"isError":"yes"}`, "isError: want a boolean, have a string"},
		{`{"content":[],"structuredContent":[]}`, "structuredContent: want an object, have an array"},
		{`{"content":[],"structuredContent":{"a":1,"a":2}}`, "/structuredContent"},
		{`{"content":[],"structuredContent":{"a":18446744073709551616}}`, "/structuredContent/a"},
		{`{"content":[],"structuredContent":` + deep + `}`, "nest deeper than 64"},
		{`{"content":[{"type":"text","text":"\ud800"}]}`, "surrogate"},
		{"{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", "UTF-8"},
		{`{"content":[` + blocks(maxContent+1) + `]}`, "content: has 1025 blocks, more than 1024"},
	} {
		_, err := readResult([]byte(c.answer), false)
		e, _ := errors.AsType[*plugins.MalformedError](err)
		if e == nil || e.Name != "bad_envelope" || !errors.Is(err, plugins.ErrMalformedResult) ||
			!strings.Contains(e.Error(), c.want) {
			t.Errorf("%.100s: %v, want %q", c.answer, err, c.want)
		}
	}
}

// A failure is told by its texts, whatever their length, with details that are small.
func TestHyperFailures(t *testing.T) {
	long := strings.Repeat("é", 5<<20) // 10 MB
	fits := strings.Repeat("x", maxDetails-len(`{"a":""}`))
	for _, c := range []struct {
		answer, message string
		details         bool
	}{
		{`{"isError":true,"content":[]}`, "it failed and does not say why", false},
		{`{"isError":true,"content":[{"type":"text","text":"` + long + `"}]}`,
			strings.Repeat("é", maxMessage-1) + "…", false},
		{`{"isError":true,"content":[{"type":"image","data":""},{"type":"text","text":"a"},` +
			`{"type":"text","text":"b"}]}`, "a\nb", false},
		{`{"isError":true,"structuredContent":{"a":"` + fits + `"}}`, "it failed and does not say why", true},
		{`{"isError":true,"structuredContent":{"a":"` + fits + `x"}}`, "it failed and does not say why", false},
	} {
		_, err := readResult([]byte(c.answer), true)
		f, _ := errors.AsType[*abi.Failure](err)
		if f == nil || f.Message != c.message || (f.Details != nil) != c.details {
			t.Errorf("%.60s: %.100v", c.answer, err)
		}
	}
}

func TestHyperNames(t *testing.T) {
	long := strings.Repeat("n", abi.MaxToolNameBytes)
	for _, c := range [][2]string{
		{"go", "go"}, {"getUser", "get_user"}, {"get2Users", "get2_users"}, {"qr-code", "qr_code"},
		{"a.b/c:d e", "a_b_c_d_e"}, {"HTTPGet", "httpget"}, {long, long}, {long + "n", ""}, {"", ""},
		{"3d", ""}, {"_x", ""}, {"café", ""}, {"a\x00", ""}, {"a\nb", ""}, {"a\xff", ""},
	} {
		if got := offeredName(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// FuzzHyper reads what a guest may give in the place of a list or a result.
func FuzzHyper(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"image","data":"` + base64.StdEncoding.EncodeToString([]byte("png")) +
		`"}],"isError":false,"structuredContent":{"a":[1,null]}}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"A"}}]}`))
	f.Add([]byte(`{"name":"a","description":"b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := readResult(b, false)
		if err == nil && (out.Value == nil) == (out.Content == nil) {
			t.Errorf("%+v", out)
		}
		var m hyperModule
		if err := m.take("p", b); err == nil && len(m.tools) != len(m.manifest.Tools) {
			t.Errorf("%d tools can be called, %d are offered", len(m.tools), len(m.manifest.Tools))
		}
	})
}
