package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		if load, ok := errors.AsType[*loader.LoadError](pl.Err); !ok || !strings.Contains(load.Error(), c.want) {
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
