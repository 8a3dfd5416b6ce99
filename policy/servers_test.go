package policy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

func TestServers(t *testing.T) {
	t.Setenv("POLICY_TEST_TOKEN", "a secret of the test")
	w := newWorld(t)
	w.write(`
[servers.web]
url = "https://example.org/mcp?team=1"
headers = { X-Team = "one", X-Key = { from = "env:POLICY_TEST_TOKEN" } }
bearer = "env:POLICY_TEST_TOKEN"
bare = true
[servers.files]
command = "/bin/files"
args = ["--root", "/srv"]
env = { A = "b" }
dir = "/srv"
prefix = "fs"
include = ["put"]
limits = { time = "24h", start = "1ms", output = "512 MiB", calls = 1024, tools = 256 }
tools.put = { effect = "idempotent", key = "name", retry_timeouts = true }
`)
	p := w.open()
	all := p.Servers()
	if len(all) != 2 {
		t.Fatalf("%d servers", len(all))
	}
	files, web := all[0], all[1]
	effect := abi.EffectIdempotent
	want := mcp.Server{
		Name: "files", Command: "/bin/files", Args: []string{"--root", "/srv"}, Dir: "/srv",
		Env: map[string]mcp.Value{"A": {Text: "b"}}, Prefix: "fs", Tools: []string{"put"},
		Limits: mcp.Limits{Time: 24 * time.Hour, Start: time.Millisecond, Output: 512 << 20,
			Calls: 1024, Tools: 256},
		Rules: map[string]plugins.Rule{
			"put": {Effect: &effect, Key: "name", RetryTimeouts: true}},
	}
	if !reflect.DeepEqual(files.Server, want) {
		t.Errorf("have %+v\nwant %+v", files.Server, want)
	}
	if at := fmt.Sprintf("%s:7", filepath.Join(w.dir, "config", "wasmagent.toml")); files.At != at {
		t.Errorf("it is at %s, want %s", files.At, at)
	}
	if have := files.Place(); have != "/bin/files --root /srv" {
		t.Errorf("its place is %q", have)
	}
	if have := web.Place(); have != "https://example.org/mcp" {
		t.Errorf("its place is %q", have)
	}
	for _, name := range []string{web.Bearer, web.Headers["X-Key"].Secret} {
		value, err := web.secrets[name](t.Context())
		if err != nil || value != "a secret of the test" {
			t.Errorf("%q: %q, %v", name, value, err)
		}
	}
	if web.Headers["X-Team"].Text != "one" || !web.Bare {
		t.Errorf("have %+v", web.Server)
	}
	if !p.Grants() {
		t.Error("servers, which are not sandboxed, count as nothing that is granted")
	}
}

func TestNumberOfServers(t *testing.T) {
	w := newWorld(t)
	one := func(i int) string { return fmt.Sprintf("[servers.s%d]\ncommand = \"/bin/a\"\n", i) }
	var content strings.Builder
	for i := range maxServers {
		content.WriteString(one(i))
	}
	w.write(content.String())
	if n := len(w.open().Servers()); n != maxServers {
		t.Errorf("%d servers", n)
	}
	w.write(content.String() + one(maxServers))
	if _, err := Open(w.file, &w.opts); err == nil || !strings.Contains(err.Error(), "more than 32") {
		t.Errorf("one more: %v", err)
	}
}
