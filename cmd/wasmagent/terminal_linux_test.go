package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a command that runs at a terminal of its own, and what it has written so far.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	keys   *os.File // what is written to it is typed
	mu     sync.Mutex
	wrote  bytes.Buffer
	news   *sync.Cond
	closed bool
	seen   int // of what it wrote, by expect
}

// atTerminal starts the command in a directory with plugins and a script.
func atTerminal(t *testing.T, script string, args ...string) *terminal {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "steps.toml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"greet", "slow"} {
		file := filepath.Join(dir, "plugins", name+".wasm")
		if err := os.WriteFile(file, tinies[name](name).Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	keys, screen := newTerminal(t)
	defer screen.Close()
	cmd := &exec.Cmd{Path: self, Dir: dir,
		Args:  append([]string{"wasmagent"}, append(args, "--provider", "script:steps.toml")...),
		Stdin: screen, Stdout: screen, Stderr: screen,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
		Env: append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "HOME="+dir, "XDG_STATE_HOME="+dir+"/state",
			"XDG_CACHE_HOME="+dir+"/cache", "XDG_CONFIG_HOME="+dir+"/config"),
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, cmd: cmd, keys: keys}
	term.news = sync.NewCond(&term.mu)
	go term.watch()
	// A command that never writes what is waited for would have the test wait for ever.
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { late.Stop(); _ = cmd.Process.Kill(); _ = keys.Close() })
	return term
}

func newTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	fd := int(keys.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keys, screen
}

func (m *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := m.keys.Read(buf)
		m.mu.Lock()
		m.wrote.Write(buf[:n])
		m.closed = err != nil
		m.news.Broadcast()
		m.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until the command has written text, after what was waited for before, and gives what
// it wrote until then.
func (m *terminal) expect(text string) string {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		rest := m.wrote.String()[m.seen:]
		if i := strings.Index(rest, text); i >= 0 {
			m.seen += i + len(text)
			return rest[:i]
		}
		if m.closed {
			m.t.Fatalf("it ended without %q; it wrote\n%s", text, m.wrote.String())
		}
		m.news.Wait()
	}
}

func (m *terminal) press(keys string) {
	m.t.Helper()
	if _, err := m.keys.WriteString(keys); err != nil {
		m.t.Fatal(err)
	}
}

// ends waits until the command has ended with an exit code.
func (m *terminal) ends(code int) {
	m.t.Helper()
	_ = m.cmd.Wait()
	if have := m.cmd.ProcessState.ExitCode(); have != code {
		m.t.Errorf("exit code %d, want %d; it wrote\n%s", have, code, m.wrote.String())
	}
}

const ctrlC, ctrlD = "\x03", "\x04"

// Ctrl-C ends what the model is at and not the chat; at the prompt, the second one does.
func TestChatInterrupts(t *testing.T) {
	m := atTerminal(t, `
[[step]]
call = [{tool = "slow"}]
[[step]]
user = {equals = "Still there?"}
say = "I am."
[[step]]
say = "Yes."
`, "chat", "--session", "talk", "--log-level", "info")
	m.expect("> ")
	m.press("Be slow\n")
	m.expect("call slow")
	m.expect("msg=started tool=slow")
	m.press(ctrlC)
	m.expect("unknown slow")
	m.expect("cancelled by an interrupt")
	m.expect("> ")
	m.press("Still there?\n")
	m.expect("I am.")
	m.expect("> ")
	m.press(ctrlC)
	m.expect("Ctrl-C again or Ctrl-D ends the chat")
	m.expect("> ")
	m.press("Again\n")
	m.expect("Yes.")
	m.expect("> ")
	m.press(ctrlC)
	m.expect("Ctrl-C again or Ctrl-D ends the chat")
	m.press(ctrlC)
	m.ends(exitInterrupted)
}

// A person is asked with what the host knows first, and the answer holds as long as it says.
func TestChatApprovals(t *testing.T) {
	m := atTerminal(t, `
[[step]]
call = [{tool = "greet", arguments = '{"name": "Ada\u001b[2J"}'}]
[[step]]
[[step.call]]
tool = "greet"
arguments = '{ "name": "Ada\u001b[2J" }'
[[step.call]]
tool = "greet"
arguments = '{"name":"Bo"}'
[[step]]
result = [{outcome = "ok"}, {code = "denied"}]
say = "Asked twice."
[[step]]
call = [{tool = "greet", arguments = '{"name":"Bo"}'}]
[[step]]
result = [{outcome = "ok"}]
say = "Once."
`, "chat", "--effect", "greet=write")
	m.expect("> ")
	m.press("Greet Ada\n")
	m.expect("may the model call this tool?")
	m.expect("greet, which does this: write (it changes something, each time)")
	m.expect("plugins/greet.wasm, sha256:")
	m.expect(`{"name":"Ada\u001b[2J"}`)
	m.expect("the same call again")
	m.expect("[n] no > ")
	m.press("what?\n")
	m.expect("answer y, s or n")
	m.expect("[n] no > ")
	m.press("s\n")
	m.expect("done")
	m.expect("done") // not asked again
	m.expect("Bo")
	m.expect("[n] no > ")
	m.press("n\n")
	m.expect("the user does not want it")
	m.expect("Asked twice.")
	m.expect("> ")
	m.press("And Bo\n")
	m.expect("[n] no > ")
	m.press("y\n")
	m.expect("Once.")
	m.expect("> ")
	m.press(ctrlD)
	m.ends(exitOK)
}

// A run at a terminal asks as a chat does, shows in its last line what goes on, and ends with
// Ctrl-C.
func TestRunAtTerminal(t *testing.T) {
	m := atTerminal(t, `
[[step]]
call = [{tool = "greet"}, {tool = "slow"}]
`, "run", "Go", "--approval", "untrusted", "--log-level", "info")
	m.expect("waiting for the model")
	m.expect("greet, which does this: read (it can change nothing)")
	m.expect("all calls of this tool")
	m.expect("[n] no > ")
	m.press("y\n")
	m.expect("call greet")
	m.expect("turn 1, 2 calls: greet runs")
	m.expect("done")
	m.expect("[n] no > ")
	m.press("y\n")
	m.expect("call slow")
	m.expect("slow runs")
	m.expect("msg=started tool=slow")
	m.press(ctrlC)
	m.expect("unknown slow")
	m.expect("interrupt signal received")
	m.ends(exitInterrupted)
}

// What was typed before a question is no answer to it.
func TestTypedAhead(t *testing.T) {
	m := atTerminal(t, `
[[step]]
call = [{tool = "greet"}]
[[step]]
result = [{code = "denied"}]
say = "Then not."
`, "chat", "--approval", "untrusted")
	m.press("Go\ny\ny\n")
	m.expect("[n] no > ")
	m.press("n\n")
	m.expect("the user does not want it")
	m.expect("Then not.")
	m.expect("> ")
	m.press(ctrlD)
	m.ends(exitOK)
}

// An interrupt at a question ends the turn; what was asked about has not run.
func TestInterruptedQuestion(t *testing.T) {
	m := atTerminal(t, `
[[step]]
call = [{tool = "greet"}]
`, "chat", "--approval", "untrusted")
	m.expect("> ")
	m.press("Go\n")
	m.expect("[n] no > ")
	m.press(ctrlC)
	m.expect("was not run")
	m.expect("cancelled by an interrupt")
	m.expect("> ")
	m.press(ctrlD)
	m.ends(exitOK)
}
