package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/markdown"
	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// answers is a host whose servers all give one response.
func answers(status int, kind, body string) *pdktest.Host {
	return &pdktest.Host{Respond: func(r *pdk.Request) (*pdk.Response, error) {
		resp := &pdk.Response{Status: status, URL: r.URL, Body: []byte(body)}
		if kind != "" {
			resp.Headers = []pdk.Header{{Name: "content-type", Value: kind}}
		}
		return resp, nil
	}}
}

// fetch calls the tool with arguments that have the schema's defaults.
func fetch(t *testing.T, h *pdktest.Host, args string) (out Output, err error) {
	t.Helper()
	text, err := h.Call("fetch", args)
	if err == nil {
		err = json.Unmarshal([]byte(text), &out)
	}
	return out, err
}

const page = `<!doctype html><html><head><title>A page</title></head><body><nav>Menu</nav>
<main><h1>Title</h1><p>Text with <a href="more">a link</a>.</p></main></body></html>`

func TestFetch(t *testing.T) {
	for name, test := range map[string]struct {
		kind, body, args string
		want             Output
	}{
		"HTML": {"text/html; charset=utf-8", page, `{"url": "https://example.org/a/b"}`,
			Output{Title: "A page",
				Type: "text/html",
				Text: "Menu\n\n# Title\n\nText with [a link](https://example.org/a/more)."}},
		"its main part": {"text/html", page,
			`{"url": "https://example.org/a/b", "main_only": true}`,
			Output{Title: "A page", Type: "text/html",
				Text: "# Title\n\nText with [a link](https://example.org/a/more)."}},
		"HTML that nobody calls so": {"", page,
			`{"url": "https://example.org/", "main_only": true}`,
			Output{Title: "A page", Type: "text/html",
				Text: "# Title\n\nText with [a link](https://example.org/more)."}},
		"JSON": {"application/problem+json", `{"a": 1}`, `{"url": "https://example.org/"}`,
			Output{Type: "application/problem+json", Text: `{"a": 1}`}},
		"text": {"text/plain", "<b>as it is</b>", `{"url": "https://example.org/"}`,
			Output{Type: "text/plain", Text: "<b>as it is</b>"}},
		"nothing": {"text/plain", "", `{"url": "https://example.org/"}`,
			Output{Type: "text/plain"}},
		"Latin": {"text/plain; charset=ISO-8859-1", "caf\xe9", `{"url": "https://example.org/"}`,
			Output{Type: "text/plain", Text: "café"}},
		"unsaid": {"text/plain", "caf\xe9", `{"url": "https://example.org/"}`,
			Output{Type: "text/plain", Text: "café"}},
		"Russian": {"text/plain; charset=koi8-r", "\xcd\xc9\xd2", `{"url": "https://example.org/"}`,
			Output{Type: "text/plain", Text: "мир"}},
		"UTF-8 that is called otherwise": {"text/plain; charset=latin1", "\xef\xbb\xbfcafé",
			`{"url": "https://example.org/"}`,
			Output{Type: "text/plain", Text: "café"}},
	} {
		got, err := fetch(t, answers(200, test.kind, test.body), test.args)
		test.want.TotalChars = len([]rune(test.want.Text))
		test.want.URL = got.URL
		if err != nil || got != test.want || !strings.HasPrefix(got.URL, "https://example.org/") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParts(t *testing.T) {
	h := answers(200, "text/plain", strings.Repeat("wörd ", 20))
	var parts []string
	for start, more := 0, true; more; {
		got, err := fetch(t, h,
			fmt.Sprintf(`{"url": "http://a.test/", "max_chars": 33, "start": %d}`, start))
		if err != nil || got.TotalChars != 100 {
			t.Fatalf("%+v, %v", got, err)
		}
		parts, start, more = append(parts, got.Text), got.Next, got.Next > 0
	}
	if strings.Join(parts, "") != strings.Repeat("wörd ", 20) || len(parts) != 4 {
		t.Errorf("%q", parts)
	}
}

func TestIncomplete(t *testing.T) {
	h := &pdktest.Host{Respond: func(*pdk.Request) (*pdk.Response, error) {
		return &pdk.Response{Status: 200, Body: []byte("caf\xc3"), Truncated: true}, nil
	}}
	if got, err := fetch(t, h, `{"url": "http://a.test/"}`); err != nil || !got.Incomplete ||
		got.Text != "caf" {
		t.Errorf("%+v, %v", got, err)
	}
	long := "<p>" + strings.Repeat("x", maxHTMLBytes)
	for cut, incomplete := range map[int]bool{3: false, 0: true} {
		got, err := fetch(t, answers(200, "text/html", long[:len(long)-cut]),
			`{"url": "http://a.test/"}`)
		if err != nil || got.Incomplete != incomplete {
			t.Errorf("%d bytes: %v, %v", len(long)-cut, got.Incomplete, err)
		}
	}
}

func TestFailures(t *testing.T) {
	ok := `{"url": "https://example.org/"}`
	for name, test := range map[string]struct {
		host *pdktest.Host
		args string
		want string
	}{
		"not granted": {&pdktest.Host{}, ok, "handler denied (permanent)"},
		"not there": {answers(404, "text/html", "<h1>Not found</h1><p>Look elsewhere"), ok,
			"handler http_status (permanent)"},
		"ill":       {answers(503, "text/plain", "later"), ok, "handler http_status"},
		"too many":  {answers(429, "text/plain", "later"), ok, "handler http_status"},
		"a picture": {answers(200, "image/png", "\x89PNG"), ok, "handler not_text (permanent)"},
		"bytes":     {answers(200, "", "\x00\x01"), ok, "handler not_text (permanent)"},
		"a strange set": {answers(200, "text/html; charset=ebcdic", "\xff\xfe\xfd\xfc\xfb"), ok,
			"handler unknown_charset (permanent)"},
		"too deep": {answers(200, "text/html", strings.Repeat("<ul><li>", markdown.MaxNesting+1)),
			ok,
			"handler bad_html (permanent)"},
		"not a URL": {&pdktest.Host{}, `{"url": "example.org"}`, "invalid_input /url"},
		"a file":    {&pdktest.Host{}, `{"url": "file:///etc/passwd"}`, "invalid_input /url"},
		"behind it all": {answers(200, "text/plain", "ab"), `{"url": "http://a.test/", "start": 3}`,
			"invalid_input /start"},
	} {
		_, err := fetch(t, test.host, test.args)
		var call *pdktest.Error
		if !errors.As(err, &call) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := call.Kind
		if f, ok := call.Err.(*pdk.Failure); ok {
			got += " " + f.Code + f.Pointer
			if f.Permanent {
				got += " (permanent)"
			}
		}
		if got != test.want {
			t.Errorf("%s: %s: %v", name, got, err)
		}
	}
	_, err := fetch(t, answers(404, "text/html", "<h1>Not found</h1><p>Look elsewhere"), ok)
	if !strings.Contains(fmt.Sprint(err), "status 404: # Not found Look elsewhere") {
		t.Errorf("%v", err)
	}
}

func TestLimits(t *testing.T) {
	url := "https://example.org/"
	url += strings.Repeat("x", maxURLBytes-len(url))
	for name, test := range map[string]struct{ at, past Input }{
		"address": {Input{URL: url, MaxChars: 1}, Input{URL: url + "x", MaxChars: 1}},
		"characters": {Input{URL: url, MaxChars: maxChars},
			Input{URL: url, MaxChars: maxChars + 1}},
		"fewest": {Input{URL: url, MaxChars: 1}, Input{URL: url}},
		"start":  {Input{URL: url, MaxChars: 1}, Input{URL: url, MaxChars: 1, Start: -1}},
	} {
		if err := check(test.at); err != nil {
			t.Errorf("%s: at the limit: %v", name, err)
		}
		if err := check(test.past); err == nil {
			t.Errorf("%s: past the limit: no error", name)
		}
	}
	for n, want := range map[int]bool{maxExcerpt: false, maxExcerpt + 1: true} {
		if got := excerpt(strings.Repeat("x", n), maxExcerpt); strings.HasSuffix(got, "…") != want {
			t.Errorf("%d characters: %v", n, got)
		}
	}
}
