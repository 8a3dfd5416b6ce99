package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const (
	mcpInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` +
		`"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	mcpInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	mcpList        = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func mcpCall(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,`+
		`"arguments":%s,"_meta":{"progressToken":%d}}}`, id, tool, arguments, id)
}

// mcpHome is a directory with plugins and a policy, and a home of its own.
type mcpHome struct {
	dir  string
	logs sync.Map // of *strings.Builder by *exec.Cmd
}

func newMCPHome(t testing.TB, policy string, kinds ...string) *mcpHome {
	t.Helper()
	h := &mcpHome{dir: t.TempDir()}
	for _, kind := range kinds {
		h.write(t, filepath.Join("plugins", kind+".wasm"), tinies[kind](kind).Bytes())
	}
	h.write(t, "policy.toml", []byte(policy))
	return h
}

func (h *mcpHome) write(t testing.TB, name string, content []byte) {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// command is the real command, in a process of its own.
func (h *mcpHome) command(args ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: os.Args[0], Dir: h.dir,
		Args: append([]string{"wasmagent", "--config", "policy.toml"}, args...)}
	cmd.Env = append(os.Environ(), "HOME="+h.dir)
	for _, name := range []string{"CACHE", "STATE", "DATA", "CONFIG"} {
		cmd.Env = append(cmd.Env, "XDG_"+name+"_HOME="+filepath.Join(h.dir, strings.ToLower(name)))
	}
	log := &strings.Builder{}
	cmd.Stderr = log
	h.logs.Store(cmd, log)
	return cmd
}

// start starts a server and begins a session.
func (h *mcpHome) start(t testing.TB, args ...string) *dialog {
	t.Helper()
	d, err := startDialog(h.command(append([]string{"mcp"}, args...)...))
	if err != nil {
		t.Fatal(err)
	}
	h.must(t, d, mcpInitialize, `"serverInfo"`)
	h.must(t, d, mcpInitialized, "")
	return d
}

// must sends a message and wants something in the answer.
func (h *mcpHome) must(t testing.TB, d *dialog, line, want string) string {
	t.Helper()
	got, err := d.say(line)
	if err != nil || !strings.Contains(got, want) {
		t.Fatalf("%s: %v, have %s; stderr: %s", line, err, got, h.log(d))
	}
	return got
}

func (h *mcpHome) log(d *dialog) string {
	_ = d.cmd.Process.Kill() // so that nobody writes to it
	_ = d.cmd.Wait()
	log, _ := h.logs.Load(d.cmd)
	return log.(*strings.Builder).String()
}

// Clients start a server twice at the same moment, the one to look at it and the other to use it,
// and when nothing is cached yet. Both serve, neither waits for the other to end, and a call with a
// key that both are given is made once.
func TestMCPTwice(t *testing.T) {
	h := newMCPHome(t, "[plugins.greet.tools.greet]\nkey = \"name\"\neffect = \"write\"\n",
		"greet", "text", "trap")
	var dialogs [2]*dialog
	var group sync.WaitGroup
	for i := range dialogs {
		group.Go(func() {
			d, err := startDialog(h.command("mcp"))
			if err != nil {
				t.Error(err)
				return
			}
			dialogs[i] = d
			for _, line := range []string{mcpInitialize, mcpInitialized, mcpList, mcpCall(3, "text", "{}")} {
				if answer, err := d.say(line); err != nil || strings.Contains(answer, `"error":`) {
					t.Errorf("%s: %s, %v", line, answer, err)
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.Fatalf("stderr: %s %s", h.log(dialogs[0]), h.log(dialogs[1]))
	}
	for _, d := range dialogs {
		h.must(t, d, mcpList, `"greet"`)
		h.must(t, d, mcpCall(4, "trap", "{}"), `"malformed_result"`)
	}
	h.must(t, dialogs[0], mcpCall(5, "greet", `{"name":"Ada"}`), `"structuredContent":{"name":"Ada"}`)
	h.must(t, dialogs[1], mcpCall(5, "greet", `{"name":"Ada"}`), `"copied":true`)
	if err := dialogs[0].end(); err != nil {
		t.Errorf("the first ended with %v", err)
	}
	h.must(t, dialogs[1], mcpCall(6, "text", "{}"), "two")
	if err := dialogs[1].end(); err != nil {
		t.Errorf("the second ended with %v", err)
	}
}

// SIGTERM ends a server at once, also while a tool runs. The end of stdin does when nothing is under
// way; a call that is gets its answer first, here that it ran into its limit. Neither is a failure.
func TestMCPEnds(t *testing.T) {
	h := newMCPHome(t, "[plugins.slow.limits]\ntime = \"1s\"\n", "slow", "text")
	terminate := func(d *dialog) { _ = d.cmd.Process.Signal(syscall.SIGTERM) }
	leave := func(d *dialog) { _ = d.in.Close() }
	for name, end := range map[string]func(*dialog){"SIGTERM": terminate, "end of stdin": leave} {
		idle := h.start(t)
		h.must(t, idle, mcpCall(3, "text", "{}"), "two")
		end(idle)
		busy := h.start(t)
		h.must(t, busy, `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}`, "{}")
		busy.watched = func(line string) {
			if strings.Contains(line, "started") {
				end(busy)
			}
		}
		answer, _ := busy.say(mcpCall(4, "slow", "{}")) // after SIGTERM it may or may not be answered
		if name == "end of stdin" && !strings.Contains(answer, "limit.time") {
			t.Errorf("the call under way is answered %q", answer)
		}
		for _, d := range []*dialog{idle, busy} {
			err := d.cmd.Wait()
			if log := h.log(d); err != nil || strings.Contains(log, "level=ERROR") {
				t.Errorf("%s: it ended with %v: %s", name, err, log)
			}
		}
	}
}

// All that a pipe has sent is answered when it ends.
func TestMCPPipe(t *testing.T) {
	h := newMCPHome(t, "", "text")
	cmd := h.command("mcp")
	cmd.Stdin = strings.NewReader(strings.Join([]string{mcpInitialize, mcpInitialized, mcpList,
		mcpCall(3, "text", "{}"), mcpCall(4, "text", "{}")}, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"serverInfo"`, `"id":2,"result"`, `"id":3,"result"`, `"id":4,"result"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// Plugins that are put into the directory, replaced and taken away while a client is there are told
// to it and called, and a replacement that does not load leaves the version before serving.
func TestMCPWatch(t *testing.T) {
	h := newMCPHome(t, "", "text")
	d := h.start(t)
	changed := func(what string) {
		t.Helper()
		if line, err := d.hear("notifications/tools/list_changed"); err != nil {
			t.Fatalf("%s: %s, %v: %s", what, line, err, h.log(d))
		}
	}
	h.must(t, d, mcpCall(3, "text", "{}"), "two")
	h.write(t, "plugins/greet.wasm", tinies["greet"]("greet").Bytes())
	changed("added")
	h.must(t, d, mcpCall(4, "greet", `{"name":"Ada"}`), `"structuredContent":{"name":"Ada"}`)
	h.write(t, "plugins/text.wasm", []byte("broken"))
	h.write(t, "plugins/greet.wasm", tinies["text"]("greet").Bytes())
	changed("replaced")
	h.must(t, d, mcpCall(5, "greet", `{}`), "two")
	h.must(t, d, mcpCall(6, "text", "{}"), "two")
	if err := os.Remove(filepath.Join(h.dir, "plugins", "greet.wasm")); err != nil {
		t.Fatal(err)
	}
	changed("removed")
	h.must(t, d, mcpCall(7, "greet", "{}"), "unknown tool")
	if err := d.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	still := h.start(t, "--watch=false")
	h.must(t, still, mcpList, `"tools":[]`)
	if err := still.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
