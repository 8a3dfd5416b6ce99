package host_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

const token = "tok-3f9A/xq+77Zm_LONG"

// chest is a guest with a secret that it may use and not have.
type chest struct {
	*host.Module
	port string
	log  *bytes.Buffer // of the engine
}

// newChest serves all ways in which a server might give the token back.
func newChest(t *testing.T) *chest {
	if testing.Short() {
		t.Skip("builds and compiles a Go plugin")
	}
	c := &chest{log: &bytes.Buffer{}}
	c.port = serve(t, func(rw http.ResponseWriter, r *http.Request) {
		auth := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch r.URL.Path {
		case "/echo":
			fmt.Fprint(rw, r.Header)
		case "/error":
			http.Error(rw, "bad token "+auth, http.StatusUnauthorized)
		case "/header":
			rw.Header().Set("X-You-Sent", auth)
			rw.Header().Set("Set-Cookie", "session="+auth)
		case "/base64":
			fmt.Fprint(rw, base64.StdEncoding.EncodeToString([]byte("user:"+auth)))
		case "/hex":
			fmt.Fprint(rw, hex.EncodeToString([]byte(auth)))
		case "/query":
			fmt.Fprint(rw, "<a href='/?token="+url.QueryEscape(auth)+"'>")
		case "/chunks":
			for _, b := range []byte(auth) {
				_, _ = rw.Write([]byte{b})
				rw.(http.Flusher).Flush()
			}
		case "/away":
			http.Redirect(rw, r, "http://b.test:"+c.port+"/echo", http.StatusTemporaryRedirect)
		case "/leak":
			http.Redirect(rw, r, "http://b.test:"+c.port+"/catch?got="+url.QueryEscape(auth),
				http.StatusFound)
		case "/catch":
			fmt.Fprint(rw, "caught ", r.URL.RawQuery)
		case "/used":
			fmt.Fprint(rw, auth == token)
		case "/body":
			body, _ := io.ReadAll(r.Body)
			fmt.Fprint(rw, string(body))
		}
	})
	client := newClient(t, egress.Options{
		Rules: []egress.Rule{local("a.test", c.port), local("b.test", c.port)},
		Secrets: []egress.Secret{{Name: "TOKEN", As: "bearer", Hosts: []string{"a.test:" + c.port},
			From: func(context.Context) (string, error) { return token, nil }}},
	})
	e, err := host.New(t.Context(), &host.Config{Logger: slog.New(slog.NewTextHandler(c.log,
		&slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c.Module = hosttest.Compile(t, e, hosttest.GoPlugin(t, "testdata/grants"),
		host.Policy{Grants: host.Grants{HTTP: client, Files: []host.Mount{{Guest: "/tmp",
			Scratch: true}}}})
	return c
}

func (c *chest) url(name, path string) string { return "http://" + name + ".test:" + c.port + path }

// found reports whether any form of the token, or a long part of one, is in a text.
func found(text string) bool {
	raw := []byte(token)
	forms := []string{token, hex.EncodeToString(raw), url.QueryEscape(token),
		base64.StdEncoding.EncodeToString(raw), base64.StdEncoding.EncodeToString([]byte("user:" +
			token))}
	reversed := slices.Clone(raw)
	slices.Reverse(reversed)
	return slices.ContainsFunc(append(forms, string(reversed)), func(form string) bool {
		return strings.Contains(text, form) || strings.Contains(text, form[4:16])
	})
}

func TestSecrets(t *testing.T) {
	c := newChest(t)
	t.Run("is used and not seen", c.isUsedAndNotSeen)
	t.Run("is in no other texts", c.isInNoOtherTexts)
	t.Run("is in no reply", c.isInNoReply)
}

// isUsedAndNotSeen lets a guest use a secret, and try to get it in every way it has.
func (c *chest) isUsedAndNotSeen(t *testing.T) {
	if got, _ := send(t, c.Module, sent{URL: c.url("a", "/used")}); got.Body != "true" {
		t.Fatalf("the secret is not sent: %+v", got)
	}
	for _, s := range []sent{
		{URL: c.url("a", "/echo")},
		{URL: c.url("a", "/error")},
		{URL: c.url("a", "/header")},
		{URL: c.url("a", "/base64")},
		{URL: c.url("a", "/hex")},
		{URL: c.url("a", "/query")},
		{URL: c.url("a", "/chunks")},
		{URL: c.url("a", "/away")},                        // to another origin: it stays behind
		{URL: c.url("a", "/leak")},                        // in the address
		{URL: c.url("b", "/echo")},                        // it is not for this host
		{URL: c.url("a", "/echo"), Method: "HEAD"},        //
		{URL: c.url("a", "/echo?x=[secret TOKEN]")},       // what stands for it is no way to it
		{URL: "http://a.test:" + c.port + "@b.test/echo"}, //
		{URL: c.url("a", "/echo"), Headers: [][2]string{{"Authorization", "Bearer mine"}}},
		{URL: c.url("a", "/echo"), Headers: [][2]string{{"Connection", "Authorization"}}},
	} {
		got, _ := send(t, c.Module, s)
		if all := fmt.Sprintf("%+v", got); found(all) || got.Status == 0 && got.Kind == "" {
			t.Errorf("%+v: %s", s, all)
		}
	}
	got, _ := send(t, c.Module, sent{URL: c.url("b", "/echo")})
	if strings.Contains(got.Body, "Authorization") {
		t.Errorf("another host got %s", got.Body)
	}
}

// isInNoOtherTexts has a guest that knows the secret, from whomever: what it says is clean
// before anybody sees it.
func (c *chest) isInNoOtherTexts(t *testing.T) {
	var logs, output strings.Builder
	obs := &host.Observer{
		Log:    func(_ abi.Level, text string) { logs.WriteString(text) },
		Output: func(_ bool, b []byte) { output.Write(b) },
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(token))
	lines := []string{"log have " + token, "log have " + encoded, "print have " + token, "read /" +
		token,
		"http POST " + c.url("b", "/body") + " " + token}
	out, stats, err := runTo(t.Context(), c.Module, obs, "", lines...)
	all := fmt.Sprint(out, stats, err, logs.String(), output.String())
	if err != nil || found(all) || strings.Count(all, "[secret TOKEN]") < 4 {
		t.Errorf("%s", all)
	}
	for _, end := range []string{"fail", "trap", "exit", "invalid"} {
		out, stats, err := runTo(t.Context(), c.Module, obs, end, append(lines, token)...)
		all := fmt.Sprintf("%v %+v %v %+v", out, stats, err, err)
		if f, ok := errors.AsType[*abi.Failure](err); ok {
			all += fmt.Sprintf("%+v", f)
		}
		if err == nil || found(all) {
			t.Errorf("%s: %s", end, all)
		}
	}
	// Without an observer the same goes to the engine's log.
	if _, _, err := runTo(t.Context(), c.Module, nil, "", lines...); err != nil {
		t.Error(err)
	}
	if found(c.log.String()) || !strings.Contains(c.log.String(), "[secret TOKEN]") {
		t.Errorf("the log: %s", c.log)
	}
}

// isInNoReply takes a reply apart: texts, keys, bytes and what is inside others.
func (c *chest) isInNoReply(t *testing.T) {
	var out struct {
		Lines []string `json:"lines"`
		End   string   `json:"end"`
	}
	in := map[string]any{"lines": []string{"a", "x" + token + "y", token + token, "b"},
		"end": "ends " + token}
	if _, err := callTool(t.Context(), c.Module, nil, "echo", in, &out); err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "x[secret TOKEN]y", "[secret TOKEN][secret TOKEN]", "b"}
	if !slices.Equal(out.Lines, want) || out.End != "ends [secret TOKEN]" {
		t.Errorf("%q", out)
	}
}

// keeper is an HTTP with a secret of its own.
type keeper struct{ strangeHTTP }

const kept = "0123456789abcdef"

func (keeper) Secrets() []string        { return []string{"T"} }
func (keeper) Scrub(text string) string { return strings.ReplaceAll(text, kept, "[secret T]") }

// TestSecretAcrossWrites has a guest print a secret in pieces, where a line without an end is cut.
func TestSecretAcrossWrites(t *testing.T) {
	e := hosttest.Engine(t)
	for _, kib := range []int32{0, 31, 32, 63, 64, 65, 128} {
		call := hosttest.Then(hosttest.Times(kib, hosttest.Print(2, strings.Repeat("x", 1<<10))),
			hosttest.Print(2, kept[:4]), hosttest.Print(2, kept[4:9]), hosttest.Print(2, kept[9:]),
			hosttest.OK)
		if kib == 0 {
			call = hosttest.Then(hosttest.Print(2, kept[:4]), hosttest.Print(2, kept[4:]), hosttest.OK)
		}
		wasm := hosttest.Plugin{Name: fmt.Sprintf("p%d", kib), Call: call}.Bytes()
		m := hosttest.Compile(t, e, wasm, host.Policy{Grants: host.Grants{HTTP: keeper{}}})
		var out strings.Builder
		obs := &host.Observer{Output: func(_ bool, b []byte) { out.Write(b) }}
		_, stats, err := m.Call(t.Context(), hosttest.Ask("x"), obs, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := out.String() + " " + stats.Stderr
		if strings.Contains(all, kept) || !strings.HasSuffix(all, "[secret T]") {
			t.Errorf("after %d KiB: ...%q", kib, all[max(0, len(all)-60):])
		}
	}
}

// TestSecretAtTheCut has a guest log a secret where its line is cut.
func TestSecretAtTheCut(t *testing.T) {
	const maxLogLine = 4 << 10
	line := strings.Repeat("x", maxLogLine-12) + kept
	wasm := hosttest.Plugin{Name: "p", Call: hosttest.Then(hosttest.Log(abi.LevelInfo, line), hosttest.OK)}.Bytes()
	m := hosttest.Compile(t, hosttest.Engine(t), wasm, host.Policy{Grants: host.Grants{HTTP: keeper{}}})
	var logged string
	obs := &host.Observer{Log: func(_ abi.Level, text string) { logged = text }}
	if _, _, err := m.Call(t.Context(), hosttest.Ask("x"), obs, nil); err != nil {
		t.Fatal(err)
	}
	if len(logged) != maxLogLine-2 || strings.Contains(logged, kept[:4]) {
		t.Errorf("%d bytes, ...%q", len(logged), logged[max(0, len(logged)-40):])
	}
}
