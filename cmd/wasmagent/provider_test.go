package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/adrg/xdg"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// atHome has the command in this process keep its files in a directory of the test's.
func atHome(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, filepath.Join(home, strings.ToLower(name)))
	}
	xdg.Reload()
	t.Cleanup(xdg.Reload)
}

// outcomeOf runs the command with a model at an address, and gives what it prints.
func outcomeOf(t *testing.T, address, kind string) (code int, o outcome) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs}
	code = a.run(t.Context(), []string{"run", "Hello", "--provider", kind, "--model", "m",
		"--base-url", address, "-p", t.TempDir(), "-o", "json", "--log-level", "error"})
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), errs.String())
	}
	return code, o
}

// TestProviders has the command ask servers that answer well, badly and not at all.
func TestProviders(t *testing.T) {
	atHome(t)
	soon := map[string]string{"Retry-After-Ms": "1"}
	busy := looptest.Answer{Status: http.StatusInternalServerError, Text: "busy", Header: soon}
	fine := looptest.Answer{Text: "Hello!", Usage: message.Usage{Input: 3, Output: 2}}
	for name, c := range map[string]struct {
		answers []looptest.Answer
		code    int
		kind    string // of the error
		status  int
		asked   int
		hint    string
	}{
		"well":            {[]looptest.Answer{fine}, exitOK, "", 0, 1, ""},
		"well, after all": {[]looptest.Answer{busy, busy, fine}, exitOK, "", 0, 3, ""},
		"never well": {[]looptest.Answer{busy, busy, busy, busy, fine}, exitProvider, "provider", 500,
			1 + provider.Retries, "try again later"},
		"no such model": {[]looptest.Answer{{Status: 404, Text: "no"}, fine}, exitProvider, "provider",
			404, 1, "--model"},
		"a bad key": {[]looptest.Answer{{Status: 401, Text: "no"}, fine}, exitProvider, "provider",
			401, 1, "--key-env"},
		"half of JSON": {[]looptest.Answer{{Body: `{"choices":[`}, fine}, exitProvider, "decode", 0, 1,
			"--provider"},
	} {
		for _, kind := range []string{"openai", "anthropic"} {
			server := looptest.NewServer(t, c.answers...)
			address := server.URL + "/v1"
			code, o := outcomeOf(t, address, kind)
			if asked := len(server.Asked()); code != c.code || asked != c.asked {
				t.Errorf("%s, %s: exit code %d after %d requests; %+v", name, kind, code, asked, o.Error)
			}
			switch {
			case c.kind == "" && (o.Error != nil || o.Answer != fine.Text || o.Usage != fine.Usage):
				t.Errorf("%s, %s: %+v", name, kind, o)
			case c.kind != "" && (o.Error == nil || o.Error.Kind != c.kind || o.Error.Exit != c.code ||
				o.Error.Status != c.status || !strings.Contains(o.Error.Hint, c.hint)):
				t.Errorf("%s, %s: %+v", name, kind, o.Error)
			}
		}
	}
}

// TestBrokenStream has a server break off in the middle of an answer: that piece is not why the run
// has ended, and no attempts are claimed that were not made.
func TestBrokenStream(t *testing.T) {
	atHome(t)
	server := looptest.NewServer(t, looptest.Answer{Text: "half an answer", Break: "on fire"})
	code, o := outcomeOf(t, server.URL+"/v1", "openai")
	if code != exitProvider || o.End != endedBadly || o.Why != "" || o.Answer != "" || o.Error == nil ||
		strings.Contains(o.Error.Hint, "several") || len(server.Asked()) != 1 {
		t.Errorf("exit code %d: %+v, %+v", code, o, o.Error)
	}
}

// TestNoServer asks where nobody listens, with the waits in the test's own time.
func TestNoServer(t *testing.T) {
	atHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() + "/v1"
	l.Close()
	// What watches signals is started outside of the bubble, which it would never leave.
	var b bytes.Buffer
	if (&app{out: &b, err: &b}).run(t.Context(), []string{"version"}) != exitOK {
		t.Fatal(b.String())
	}
	synctest.Test(t, func(t *testing.T) {
		code, o := outcomeOf(t, address, "openai")
		if code != exitProvider || o.Error == nil || o.Error.Kind != "http" || o.End != endedBadly ||
			!strings.Contains(o.Error.Hint, "--base-url") {
			t.Errorf("exit code %d: %+v", code, o.Error)
		}
	})
}
