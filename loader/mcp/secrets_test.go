package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// The secrets of the tests: one is the beginning of another, one is a number, and two have parts
// that a server may show by themselves.
var given = map[string]string{
	"token": "s3cr3t-token", "short": "hush-hush", "long": "hush-hush-hush", "pin": "8675309867",
	"basic": "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:lovelace-1815")),
	"db":    "postgres://ada:pass%2Fword-9@db/notes",
}

func giver(_ context.Context, name string) (string, error) { return given[name], nil }

// secretive opens a source whose server was given all secrets.
func secretive(t *testing.T, opts *mcp.Options, serve func(pipes)) (*mcp.Source, error) {
	t.Helper()
	server := mcp.Server{Name: "pipe", Bare: true, Env: map[string]mcp.Value{}}
	for name := range given {
		server.Env[strings.ToUpper(name)] = mcp.Value{Secret: name}
	}
	if opts == nil {
		opts = &mcp.Options{}
	}
	opts.Secret = giver
	return over(t, server, opts, serve)
}

// leaks are ways in which a server shows what it was given, in a JSON text.
var leaks = map[string]string{
	"as it is":             "s3cr3t-token",
	"the longer of two":    "hush-hush-hush",
	"the shorter of two":   "hush-hush",
	"in other case":        "S3CR3T-TOKEN",
	"in hex":               hex.EncodeToString([]byte("s3cr3t-token")),
	"in base64":            base64.StdEncoding.EncodeToString([]byte("s3cr3t-token")),
	"in a header's base64": base64.StdEncoding.EncodeToString([]byte("user:s3cr3t-token")),
	"escaped":              `\u0073\u0033cr3t\u002dtoken`,
	"a password of basic":  "lovelace-1815",
	"a URL's password":     "pass/word-9",
	"a URL's, escaped":     "pass%2Fword-9",
	"a number":             "8675309867",
}

// seen are what is left of a secret that somebody could use.
var seen = []string{"s3cr3t", "S3CR3T", "hush", "lovelace", "word-9", "8675309867",
	hex.EncodeToString([]byte("s3cr3t")), "czNjcjN0", "M2NyM3Q", "czNjcjN"}

func shows(text string) string {
	for _, s := range seen {
		if strings.Contains(text, s) {
			return s
		}
	}
	return ""
}

// Whatever a server answers, nothing in it has a secret that the server was given.
func TestSecretsInAnswers(t *testing.T) {
	result := ""
	s, err := secretive(t, nil, each(oneTool, func(p pipes, m message) { p.answer(m, result) }))
	if err != nil {
		t.Fatal(err)
	}
	for place, form := range map[string]string{
		"text":        `{"content":[{"type":"text","text":"it is %s, ok"}]}`,
		"failure":     `{"isError":true,"content":[{"type":"text","text":"it is %s, ok"}]}`,
		"details":     `{"isError":true,"structuredContent":{"a":["%s, ok"]},"content":[]}`,
		"value":       `{"structuredContent":{"a":["it is %s, ok"]}}`,
		"key":         `{"structuredContent":{"it is %s, ok":1}}`,
		"link":        `{"content":[{"type":"resource_link","name":"%s","uri":"a://ok"}]}`,
		"URI":         `{"content":[{"type":"resource","resource":{"uri":"a://%s/ok","text":""}}]}`,
		"resource":    `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"%s, ok"}}]}`,
		"MIME":        `{"content":[{"type":"image","mimeType":"ok/%s","data":""}]}`,
		"unknown":     `{"content":[{"type":"ok %s"}]}`,
		"bad content": `{"content":"ok %s"}`,
	} {
		for way, leak := range leaks {
			result = fmt.Sprintf(form, leak)
			res, err := call(t, s, "go", `{}`)
			all := fmt.Sprintf("%v %s", err, plugins.ModelText(err))
			if f, ok := errors.AsType[*abi.Failure](err); ok {
				all += string(f.Details)
			}
			shown, _ := json.Marshal(res.Output)
			if all += string(shown); shows(all) != "" || !strings.Contains(all, "ok") {
				t.Errorf("%s, %s: %s", place, way, all)
			}
		}
	}
}

func TestSecretsInData(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte("a file with s3cr3t-token in it"))
	number := `{"structuredContent":{"n":8675309867,"m":[-8675309867,86753098670,12]}}`
	s, err := secretive(t, nil, each(oneTool, func(p pipes, m message) {
		if strings.Contains(string(m.Params.Arguments), "number") {
			p.answer(m, number)
			return
		}
		p.answer(m, `{"content":[{"type":"image","data":"`+data+`"},`+
			`{"type":"resource","resource":{"uri":"a://b","blob":"`+data+`"}}]}`)
	}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := call(t, s, "go", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range res.Content {
		if string(b.Data) != "a file with [secret token] in it" {
			t.Errorf("%s: %s", b.Type, b.Data)
		}
	}
	res, err = call(t, s, "go", `{"kind":"number"}`)
	want := `{"n":"[secret pin]","m":["-[secret pin]","[secret pin]0",12]}`
	if err != nil || string(res.Value) != want {
		t.Errorf("%s, %v; want %s", res.Value, err, want)
	}
}

// Nor has what it says beside its answers: errors, progress, its log, its list of tools.
func TestSecretsBesideAnswers(t *testing.T) {
	split := "s3cr3t-\u200btoken" // what is cleaned away must not split it
	var j journal
	list := tools(`{"name":"go","description":"for s3cr3t-token","inputSchema":{"type":"object",`+
		`"properties":{"a":{"default":"s3cr3t-token","title":"hush-hush"}}}}`,
		toolNamed("s3cr3t-token"), toolNamed("s3cr3t-token"), `{"name":"bad","inputSchema":{"type":"s3cr3t-token"}}`)
	s, err := secretive(t, j.options(), each(list, func(p pipes, m message) {
		p.say("noise of s3cr3t-token and " + split)
		p.say("%s", strings.Repeat("x", 16*mcp.MaxLineChars-len("not a message: ")-6)+"s3cr3t-token")
		p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error",`+
			`"data":{"a":%q}}}`, split)
		p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,`+
			`"progress":1,"message":%q}}`, m.Params.Meta.ProgressToken, split)
		p.say(`{"jsonrpc":"2.0","id":"s3cr3t-token","method":"roots/list"}`)
		p.next()
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, m.ID, split)
	}))
	if err != nil {
		t.Fatal(err)
	}
	var heard strings.Builder
	_, err = registry(t, s, nil).Call(t.Context(), plugins.Call{Tool: "go",
		Progress: func(p abi.Progress) { heard.WriteString(p.Message) },
		Log:      func(_ abi.Level, text string) { heard.WriteString(text) }})
	is(t, err, plugins.ErrHandler, "failed", "[secret token]")
	spec := s.Tools()[0].Spec()
	all := fmt.Sprint(err, plugins.ModelText(err), heard.String(), spec, s.Withheld(), j.String(), names(s))
	if what := shows(all); what != "" {
		t.Errorf("%q in %s", what, all)
	}
	for _, want := range []string{"for [secret token]", "noise of [secret token]"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if !strings.Contains(heard.String(), "[secret token]") || len(s.Tools()) != 1 {
		t.Errorf("heard %q, offered %s", heard.String(), names(s))
	}
}

// Nor has what a command prints, wherever its line is cut, and what a web server says.
func TestSecretsOfProcesses(t *testing.T) {
	server := command(t, "careless")
	server.Env["TOKEN"] = mcp.Value{Secret: "token"}
	var j journal
	opts := j.options()
	opts.Secret = giver
	_, err := mcp.Open(t.Context(), server, opts)
	if text := fmt.Sprint(err) + j.String(); shows(text) != "" || !strings.Contains(text, "[secret token]") {
		t.Error(text)
	}
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%q}}`,
			"no "+r.Header.Get("Authorization")+" "+r.URL.Query().Get("key"))
	}))
	_, err = mcp.Open(t.Context(), mcp.Server{Name: "web", URL: url + "/?key=hush-hush&x=1",
		Headers: map[string]mcp.Value{"Authorization": {Secret: "basic"}}}, opts)
	if text := fmt.Sprint(err); shows(text) != "" || !strings.Contains(text, "[secret basic] [secret url]") {
		t.Error(text)
	}
}

// A value that could not be found again, or would be found everywhere, is not given to a server.
func TestSecretsThatCannotBeSought(t *testing.T) {
	for value, want := range map[string]string{
		"1234567": `the secret "token" has fewer than 8 bytes`, "12345678": "",
		"two\nlines": "more than one line", "token]": "fewer than 8 bytes",
		"[secret token": "its own name", strings.Repeat("x", 8<<10+1): "longer than 8192 bytes",
	} {
		_, err := over(t, mcp.Server{Name: "pipe", Env: map[string]mcp.Value{"T": {Secret: "token"}}},
			&mcp.Options{Secret: func(context.Context, string) (string, error) { return value, nil }},
			replies(oneTool, ok))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", value, err, want)
		}
	}
}

// A secret that was renewed is still looked for, since the server may remember it.
func TestRenewedSecrets(t *testing.T) {
	lives := 0
	secret := func() string { return fmt.Sprintf("the secret of life %d", lives) }
	s, err := over(t, mcp.Server{Name: "pipe", Bare: true, Env: map[string]mcp.Value{"T": {Secret: "t"}}},
		&mcp.Options{Secret: func(context.Context, string) (string, error) { return secret(), nil }},
		func(p pipes) {
			before := secret()
			lives++
			if m, called := p.greet(oneTool); called && lives > 1 {
				p.answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, before+", "+secret()))
				p.next()
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "server", "")
	res, err := call(t, s, "go", `{}`)
	if err != nil || res.Content[0].Text != "[secret t], the secret of life 2" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A value that is no good is forgotten: the next start may have a better one.
func TestBadSecretIsForgotten(t *testing.T) {
	values := []string{"the first one", "[secret t", "the third one"}
	s, err := over(t, mcp.Server{Name: "pipe", Bare: true, Env: map[string]mcp.Value{"T": {Secret: "t"}}},
		&mcp.Options{Secret: func(context.Context, string) (string, error) {
			value := values[0]
			values = values[1:]
			return value, nil
		}},
		func(p pipes) {
			if m, called := p.greet(oneTool); called && len(values) == 0 {
				p.answer(m, `{"content":[{"type":"text","text":"the first one, the third one"}]}`)
				p.next()
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "server", "")
	_, err = call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "server", "its own name")
	res, err := call(t, s, "go", `{}`)
	if err != nil || res.Content[0].Text != "[secret t], [secret t]" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A secret whose name stands for what is in a URL is looked for beside that.
func TestSecretNamedURL(t *testing.T) {
	server := mcp.Server{Name: "pipe", Bare: true, URL: "https://x.example/?key=hush-hush",
		Env: map[string]mcp.Value{"T": {Secret: "url"}}}
	s, err := over(t, server, &mcp.Options{Secret: func(context.Context, string) (string, error) {
		return "s3cr3t-token", nil
	}}, replies(oneTool, `{"content":[{"type":"text","text":"s3cr3t-token, hush-hush"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := call(t, s, "go", `{}`)
	if err != nil || res.Content[0].Text != "[secret url], [secret url]" {
		t.Errorf("%+v, %v", res, err)
	}
}
