package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

var testAPI = API{Name: "test", BaseURL: "https://api.example/v1", KeyVariable: "TEST_KEY",
	Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
	Reserved:  []string{"model"}}

// TestKeys tells which key goes where.
func TestKeys(t *testing.T) {
	t.Setenv("TEST_KEY", " vendor\n")
	t.Setenv("OTHER_KEY", "other")
	t.Setenv("EMPTY", " ")
	for name, tt := range map[string]struct {
		opts provider.Options
		want string
	}{
		"the vendor's":     {provider.Options{}, "Bearer vendor"},
		"given":            {provider.Options{APIKey: "mine"}, "Bearer mine"},
		"another variable": {provider.Options{KeyVariable: "OTHER_KEY"}, "Bearer other"},
		"another server":   {provider.Options{BaseURL: "https://x"}, ""},
		"another server, a key": {provider.Options{BaseURL: "https://x", APIKey: "k"},
			"Bearer k"},
		"another server, a variable": {provider.Options{BaseURL: "https://x",
			KeyVariable: "OTHER_KEY"}, "Bearer other"},
		"a header in its place": {
			provider.Options{Headers: map[string]string{"authorization": "Basic x"}},
			"Basic x"},
	} {
		c, err := New(testAPI, &tt.opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if have := c.header.Get("Authorization"); have != tt.want {
			t.Errorf("%s: have %q, want %q", name, have, tt.want)
		}
	}
	for _, variable := range []string{"UNSET", "EMPTY"} {
		_, err := New(testAPI, &provider.Options{KeyVariable: variable})
		missing, ok := errors.AsType[*provider.MissingAPIKeyError](err)
		if !ok || missing.Variable != variable {
			t.Errorf("%s: have %v", variable, err)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	const secret = "s3cret-s3cret"
	for name, tt := range map[string]struct {
		opts provider.Options
		want string
	}{
		"no scheme": {provider.Options{BaseURL: "localhost:1234"}, "is not like"},
		"another scheme": {provider.Options{BaseURL: "file:///etc"},
			"is not like https://api.example/v1"},
		"no host": {provider.Options{BaseURL: "https:///v1?k=" + secret}, "is not like"},
		"a user": {provider.Options{BaseURL: "https://me:" + secret + "@x/v1"},
			"has a user name"},
		"a fragment": {provider.Options{BaseURL: "https://x/v1?k=" + secret + "#a"},
			"has a fragment"},
		"unreadable": {provider.Options{BaseURL: "https://x/%zz" + secret}, "cannot be read"},
		"a key in the clear": {provider.Options{BaseURL: "http://10.0.0.1/v1", APIKey: secret},
			"a key is not sent to 10.0.0.1 over plain HTTP"},
		"a key of a header's in the clear": {provider.Options{BaseURL: "http://10.0.0.1/v1",
			Headers: map[string]string{"authorization": "Bearer " + secret}},
			"a key is not sent to 10.0.0.1 over plain HTTP"},
		"a key of the URL's in the clear": {provider.Options{
			BaseURL: "http://10.0.0.1/v1?api_key=" + secret},
			"a key is not sent to 10.0.0.1 over plain HTTP"},
		"no name of a header": {provider.Options{BaseURL: "https://x/v1",
			Headers: map[string]string{"X Y": secret}}, `the header "X Y" cannot be sent`},
		"no header at all": {provider.Options{BaseURL: "https://x/v1",
			Headers: map[string]string{"": secret}}, `the header "" cannot be sent`},
		"two headers in one": {provider.Options{BaseURL: "https://x/v1",
			Headers: map[string]string{"X": secret + "\r\nY: z"}}, `the header "X" cannot be sent`},
		"a broken key": {provider.Options{APIKey: secret + "\nx"},
			"the key in Options.APIKey has characters"},
		"a taken field": {provider.Options{APIKey: "k", Extra: map[string]any{"model": "x"}},
			`Options.Extra has "model"`},
	} {
		_, err := New(testAPI, &tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: have %v, want %q", name, err, tt.want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the text has the secret: %v", name, err)
		}
	}
	for _, opts := range []provider.Options{
		{BaseURL: "http://localhost:1/v1", APIKey: "k"},
		{BaseURL: "http://127.0.0.2:1/v1", APIKey: "k"},
		{BaseURL: "http://[::1]:1/v1", APIKey: "k"},
		{BaseURL: "http://10.0.0.1/v1?version=2", Headers: map[string]string{"X-Title": "a\tb"}},
		{BaseURL: "http://10.0.0.1/v1", APIKey: "k", PlainHTTP: true},
	} {
		if _, err := New(testAPI, &opts); err != nil {
			t.Errorf("%s: %v", opts.BaseURL, err)
		}
	}
}

func TestHistory(t *testing.T) {
	for in, want := range map[string]string{"": "_", "read_file": "read_file", "a.b:c": "a_b_c",
		"ü": "_", strings.Repeat("x", 65): strings.Repeat("x", 64)} {
		if have := Name(in); have != want {
			t.Errorf("name %q: have %q, want %q", in, have, want)
		}
	}
	for in, want := range map[string]string{"": "{}", " \n": "{}", `{"a": 1}`: `{"a": 1}`,
		`[1]`: `{"not_an_object":"[1]"}`, `{"a":`: `{"not_an_object":"{\"a\":"}`,
		`null`: `{"not_an_object":"null"}`} {
		if have := Arguments(in); have != want {
			t.Errorf("arguments %q: have %q, want %q", in, have, want)
		}
	}
	ids := IDs{"a": true}
	first, again := ids.Take("b"), ids.Take("b")
	if none, more := ids.Take(""), ids.Take(""); first != "b" || again == "b" || none == more ||
		none == "" || ids.Take("a") == "a" {
		t.Errorf("ids are not kept apart: %v", ids)
	}
}
