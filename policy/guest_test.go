package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/build"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a directory with a plugin called probe, and its operator's directories.
type site struct {
	t      *testing.T
	engine *host.Engine
	root   string
	log    bytes.Buffer // what the guest prints
	dir    *loader.Dir

	mu   sync.Mutex
	took host.CallStats
}

// newSite has a plugin under a policy, and allows it. $DATA in the policy is a directory.
func newSite(t *testing.T, wasm []byte, file string) *site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: root, engine: hosttest.CachedEngine(t)}
	for _, dir := range []string{"plugins", "data", "state"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write("plugins/probe.wasm", string(wasm))
	s.write("wasmagent.toml", strings.ReplaceAll(file, "$DATA", filepath.Join(root, "data")))
	return s
}

func (s *site) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.root, name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) policy() *policy.Policy {
	s.t.Helper()
	p, err := policy.Open(filepath.Join(s.root, "wasmagent.toml"), &policy.Options{
		StateDir: filepath.Join(s.root, "state"), CacheDir: filepath.Join(s.root, "cache"),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return p
}

// open opens the directory anew, under the policy as it is.
func (s *site) open() loader.Plugin {
	s.t.Helper()
	d, err := loader.OpenDir(s.t.Context(), filepath.Join(s.root, "plugins"), &loader.Options{
		Engine: s.engine, CacheDir: filepath.Join(s.root, "cache"),
		StateDir: filepath.Join(s.root, "state"), Policies: s.policy(),
		Logger: slog.New(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Called: func(_ context.Context, _, _ string, took host.CallStats) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = took
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.dir = d
	return d.Plugins()[0]
}

// allow allows the plugin as it is, and opens it.
func (s *site) allow() loader.Plugin {
	s.t.Helper()
	pl, p := s.open(), s.policy()
	r, err := p.Review(&pl, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := p.Allow(r); err != nil {
		s.t.Fatal(err)
	}
	if pl = s.open(); pl.Err != nil {
		s.t.Fatal(pl.Err)
	}
	return pl
}

// call calls the plugin's first tool, and gives its answer or error.
func (s *site) call(ctx context.Context, input string) string {
	s.t.Helper()
	r := plugins.NewRegistry(nil)
	if err := r.Add(s.dir.Tools()...); err != nil {
		s.t.Fatal(err)
	}
	result, err := r.Call(ctx, plugins.Call{ID: "1", Tool: "probe", Input: json.RawMessage(input),
		Log: func(abi.Level, string) {}})
	if err != nil {
		return "error: " + err.Error()
	}
	var text string
	if err := json.Unmarshal(result.Value, &text); err != nil {
		s.t.Fatal(err)
	}
	return text
}

// probe is the guest, stamped, so that it is listed without being run.
func probe(t *testing.T) []byte {
	t.Helper()
	stamped.Do(func() {
		wasm, err := build.Stamp(t.Context(), hosttest.CachedEngine(t),
			hosttest.GoPlugin(t, filepath.Join("testdata", "probe")))
		if err != nil {
			t.Fatal(err)
		}
		stamped.wasm = wasm
	})
	return stamped.wasm
}

var stamped struct {
	sync.Once
	wasm []byte
}

// grants are those of the probe.
const grants = `
[plugins.probe]
kv = true
env.PLACE = "here"
config = { region = "eu", retries = 3, deep = { a = [1.5, true] } }
[[plugins.probe.http]]
host = "127.0.0.1"
scheme = "http"
port = %s
methods = ["GET", "POST"]
[[plugins.probe.files]]
host = "$DATA"
guest = "/data"
mode = "rw"
[[plugins.probe.files]]
guest = "/tmp"
scratch = true
`

// server answers with so many bytes as the path says; /held says that it came, and waits until
// release.
func server(t *testing.T) (port string, came <-chan struct{}, release func()) {
	t.Helper()
	held, arrived := make(chan struct{}), make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			arrived <- struct{}{}
			select {
			case <-held:
			case <-r.Context().Done():
			}
		}
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		fmt.Fprint(w, strings.Repeat("y", n))
	}))
	t.Cleanup(s.Close)
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	return s.URL[strings.LastIndex(s.URL, ":")+1:], arrived, release
}

// What is granted is there, and what is not is not.
func TestGrants(t *testing.T) {
	port, _, _ := server(t)
	s := newSite(t, probe(t), fmt.Sprintf(grants, port))
	if pl := s.open(); pl.Err == nil || !strings.Contains(pl.Err.Error(), "needs approval of what") {
		t.Fatalf("not allowed yet: %v", pl.Err)
	}
	if pl := s.allow(); pl.Tools[0].Spec().Effect != abi.EffectWrite {
		t.Errorf("effect %v", pl.Tools[0].Spec().Effect)
	}
	s.write("data/in", "content")
	for input, want := range map[string]string{
		`{"do": "env"}`:                                                     "PLACE=here",
		`{"do": "config", "text": "region"}`:                                "true eu",
		`{"do": "config", "text": "retries"}`:                               "true 3",
		`{"do": "config", "text": "deep"}`:                                  "true map[a:[1.5 true]]",
		`{"do": "config", "text": "none"}`:                                  "false <nil>",
		`{"do": "read", "text": "/data/in"}`:                                "content",
		`{"do": "read", "text": "/etc/passwd"}`:                             "error: ",
		`{"do": "write", "text": "/data/out", "n": 3}`:                      "written",
		`{"do": "get", "text": "http://127.0.0.1:` + port + `/3"}`:          "200 false yyy",
		`{"do": "post", "text": "http://127.0.0.1:` + port + `/1", "n": 3}`: "200 false y",
		`{"do": "get", "text": "http://localhost:` + port + `/3"}`:          "error: ",
		`{"do": "remember", "text": "it", "n": 1}`:                          "remembered",
	} {
		if have := s.call(t.Context(), input); !strings.HasPrefix(have, want) {
			t.Errorf("%s: %s, want %s", input, have, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(s.root, "data/out")); err != nil || string(b) != "xxx" {
		t.Errorf("%q, %v", b, err)
	}
	s.open()
	if have := s.call(t.Context(), `{"do": "recall"}`); have != "it" {
		t.Errorf("after a restart it recalls %q", have)
	}
}

// Every limit that a file can say bites, and the guest gets by without it.
func TestLimitsBite(t *testing.T) {
	port, _, _ := server(t)
	at := "http://127.0.0.1:" + port
	free := newSite(t, probe(t), fmt.Sprintf(grants, port))
	free.allow()
	for _, c := range []struct{ limit, input, want string }{
		{`time = "20ms"`, `{"do": "spin"}`, "exceeded its time limit of 20ms (limits.time)"},
		{`fuel = 100_000_000`, `{"do": "spin"}`, "limits.fuel"},
		{`memory = "16 MiB"`, `{"do": "keep", "n": 20000000}`, "limits.memory"},
		{`request = "60 B"`, `{"do": "env", "text": "a text of more than sixty bytes, however one coun"}`,
			"limits.request"},
		{`output = "100 B"`, `{"do": "say", "n": 100}`, "limits.output"},
		{`http_time = "20ms"`, `{"do": "get", "text": "` + at + `/held"}`, "timeout"},
		{`http_request = "9 B"`, `{"do": "post", "text": "` + at + `/1", "n": 10}`, "too_large"},
		{`http_response = "9 B"`, `{"do": "get", "text": "` + at + `/10"}`, "200 true yyyyyyyyy"},
		{`http_headers = "200 B"`, `{"do": "header", "text": "` + at + `/1", "n": 200}`, "too_large"},
		{`kv_keys = 2`, `{"do": "remember", "n": 3}`, "quota"},
		{`kv_bytes = "20 B"`, `{"do": "remember", "n": 1, "text": "more than twenty bytes"}`, "quota"},
		{`mount_bytes = "9 B"`, `{"do": "write", "text": "/data/out", "n": 10}`, "error: "},
		{`mount_bytes = "9 B"`, `{"do": "write", "text": "/tmp/out", "n": 10}`, "error: "},
		{`mount_files = 2`, `{"do": "files", "text": "/data", "n": 3}`, "error: "},
		{`mount_files = 2`, `{"do": "files", "text": "/tmp", "n": 3}`, "error: "},
	} {
		name, _, _ := strings.Cut(c.limit, " ")
		t.Run(name, func(t *testing.T) {
			s := newSite(t, probe(t), fmt.Sprintf(grants, port)+"[plugins.probe.limits]\n"+c.limit+"\n")
			s.allow()
			if have := s.call(t.Context(), c.input); !strings.Contains(have, c.want) {
				t.Errorf("%s, want %s", have, c.want)
			}
			if strings.Contains(c.input, "spin") || strings.Contains(c.input, "held") {
				return // it ends in no other way
			}
			if have := free.call(t.Context(), c.input); strings.HasPrefix(have, "error: ") {
				t.Errorf("without the limit: %s", have)
			}
		})
	}
}
