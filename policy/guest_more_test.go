package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
)

// A limit counts in whichever section it stands, and the narrowest of them.
func TestWhoseLimit(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"[plugins.probe.limits]\ntime = \"21ms\"", "21ms"},
		{"[defaults.limits]\ntime = \"22ms\"", "22ms"},
		{"[ceiling.limits]\ntime = \"23ms\"", "23ms"},
		{"[defaults.limits]\ntime = \"5s\"\n[plugins.probe.limits]\ntime = \"24ms\"", "24ms"},
		{"[ceiling.limits]\ntime = \"5s\"\n[plugins.probe.limits]\ntime = \"25ms\"", "25ms"},
		{"[plugins.other.limits]\ntime = \"5ms\"\n[defaults.limits]\ntime = \"26ms\"", "26ms"},
	} {
		s := newSite(t, hosttest.Plugin{Name: "probe", Call: hosttest.Loop}.Bytes(),
			c.file)
		if pl := s.open(); pl.Err != nil {
			t.Fatal(pl.Err)
		}
		if have := s.call(t.Context(), "{}"); !strings.Contains(have, "time limit of "+c.want+" ") {
			t.Errorf("%s: %s", c.file, have)
		}
	}
}

// Limits of loading a plugin keep it from being offered, with the reason.
func TestLoadLimitsBite(t *testing.T) {
	slow := hosttest.Plugin{Name: "probe", Initialize: hosttest.Loop}.Bytes()
	for _, c := range []struct {
		limit, want string
		wasm        []byte
	}{
		{`load = "20ms"`, "limits.load", slow},
		{`module = "100 B"`, "over the limit of 100 bytes", hosttest.Tiny("probe")},
		{`memory = "64 KiB"`, "limits.memory", hosttest.Plugin{Name: "probe", Pages: 2}.Bytes()},
	} {
		s := newSite(t, c.wasm, "[plugins.probe.limits]\n"+c.limit+"\n")
		pl := s.open()
		load, ok := errors.AsType[*loader.LoadError](pl.Err)
		if !ok || !strings.Contains(load.Error(), c.want) {
			t.Errorf("%s: %v", c.limit, pl.Err)
		}
	}
}

// What a plugin was listed as under one policy says nothing under another.
func TestListIsOfItsPolicy(t *testing.T) {
	s := newSite(t, hosttest.Plugin{Name: "probe", Pages: 3}.Bytes(), "")
	for _, c := range []struct {
		file string
		good bool
	}{
		{"", true}, {"[defaults.limits]\nmemory = \"64 KiB\"", false}, {"", true},
		{"[ceiling.limits]\nmemory = \"64 KiB\"", false}, {"[ceiling.limits]\nmemory = \"1 MiB\"", true},
	} {
		s.write("wasmagent.toml", c.file)
		if pl := s.open(); (pl.Err == nil) != c.good {
			t.Errorf("%s: %v", c.file, pl.Err)
		}
	}
}

func TestStdioLimitBites(t *testing.T) {
	for limit, want := range map[string]int{"10 B": 10, "1 KiB": 100} {
		s := newSite(t, probe(t), "[plugins.probe.limits]\nstdio = \""+limit+"\"\n")
		s.open()
		s.call(t.Context(), `{"do": "print", "text": "x", "n": 100}`)
		have := 0
		for line := range strings.Lines(s.log.String()) {
			var record struct{ Msg, Stream string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			if record.Stream == "stdout" {
				have += strings.Count(record.Msg, "x")
			}
		}
		if have != want {
			t.Errorf("stdio = %s: %d bytes are seen, want %d", limit, have, want)
		}
	}
}

// A secret is sent, and seen neither by the guest nor by who reads its answer.
func TestSecret(t *testing.T) {
	const value = "tr0ub4dor-and-3"
	t.Setenv("PROBE_SECRET", value)
	var sent []string
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		fmt.Fprint(w, "you said ", r.Header.Get("Authorization"))
	}))
	t.Cleanup(echo.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(echo.URL, "http://"), ":")
	s := newSite(t, probe(t), fmt.Sprintf(`
[[plugins.probe.http]]
host = "127.0.0.1"
scheme = "http"
port = %s
secrets_over_http = true
[[plugins.probe.secrets]]
name = "token"
from = "env:PROBE_SECRET"
as = "bearer"
hosts = ["127.0.0.1:%s"]
`, port, port))
	s.allow()
	have := s.call(t.Context(), `{"do": "get", "text": "`+echo.URL+`/"}`)
	if !slices.Equal(sent, []string{"Bearer " + value}) {
		t.Errorf("sent %q", sent)
	}
	if !strings.HasPrefix(have, "200 ") || strings.Contains(have, value) {
		t.Errorf("the guest gets %s", have)
	}
	for _, file := range []string{"wasmagent.toml", "state/approvals.toml"} {
		b, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil || strings.Contains(string(b), value) {
			t.Errorf("%s has the secret, or is not there: %v", file, err)
		}
	}
}

// What became of a plugin that is revoked while it is open: it goes on until it is opened anew.
func TestRevokedIsRefusedAtTheNextStart(t *testing.T) {
	s := newSite(t, probe(t), "[plugins.probe.env]\nPLACE = \"here\"\n")
	pl := s.allow()
	if was, err := s.policy().Revoke(pl.Dir, pl.Name); !was || err != nil {
		t.Fatal(was, err)
	}
	if have := s.call(t.Context(), `{"do": "env"}`); have != "PLACE=here" {
		t.Errorf("while it is open: %s", have)
	}
	if pl := s.open(); pl.Err == nil || len(pl.Tools) > 0 {
		t.Errorf("at the next start: %v", pl.Err)
	}
}

func TestLogRateBites(t *testing.T) {
	for limit, dropped := range map[int]bool{1: true, 1000: false} {
		s := newSite(t, probe(t), fmt.Sprintf("[plugins.probe.limits]\nlog_rate = %d\n", limit))
		s.open()
		if have := s.call(t.Context(), `{"do": "log", "n": 100}`); have != "logged" {
			t.Fatal(have)
		}
		if (s.took.Dropped > 0) != dropped {
			t.Errorf("log_rate = %d: %d lines are dropped", limit, s.took.Dropped)
		}
	}
}

// A caller who gives up waits no longer than the grace, also for a guest that does not care.
func TestGraceBites(t *testing.T) {
	stubborn := hosttest.Then(hosttest.UntilCancelled, hosttest.Loop)
	s := newSite(t, hosttest.Plugin{Name: "probe", Call: stubborn}.Bytes(),
		"[plugins.probe.limits]\ngrace = \"10ms\"\ntime = \"24h\"\n")
	s.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if have := s.call(ctx, "{}"); !strings.Contains(have, "context canceled") {
		t.Error(have)
	}
}

// Calls beyond the instances wait, and requests beyond the concurrent ones.
func TestConcurrencyBites(t *testing.T) {
	const ever = time.Minute
	for _, c := range []struct {
		limit, want string
		patience    time.Duration
	}{
		{"instances = 1", "error: ", 20 * time.Millisecond}, {"instances = 2", "200 false y", ever},
		{"http_concurrent = 1", "error: ", 20 * time.Millisecond},
		{"http_concurrent = 2", "200 false y", ever},
	} {
		t.Run(c.limit, func(t *testing.T) {
			port, came, release := server(t)
			s := newSite(t, probe(t), fmt.Sprintf(grants, port)+"[plugins.probe.limits]\n"+c.limit+"\n")
			s.allow()
			first := make(chan string)
			at := "http://127.0.0.1:" + port
			go func() {
				first <- s.call(t.Context(), `{"do": "get", "text": "`+at+`/held"}`)
			}()
			<-came
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			if have := s.call(ctx, `{"do": "get", "text": "`+at+`/1"}`); !strings.HasPrefix(have, c.want) {
				t.Errorf("%s, want %s", have, c.want)
			}
			release()
			<-first
		})
	}
}
