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
