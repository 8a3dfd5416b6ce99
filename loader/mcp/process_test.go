package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// peers are the kinds of server that the test binary can be.
var peers = map[string]func(){
	"good": func() { _ = good().Run(context.Background(), &sdk.StdioTransport{}) },

	// exits at once, and says why
	"useless": func() {
		fmt.Fprintln(os.Stderr, "no \x1b[31mlicence\x1b[0m for", os.Getenv("TOKEN"))
		os.Exit(3)
	},

	// prints what it was given, at the end and across where a line is cut, and ends
	"careless": func() {
		for cut := 1008; cut < 1030; cut++ { // of a long line, 1024 bytes are kept
			fmt.Fprintln(os.Stderr, strings.Repeat("x", cut)+os.Getenv("TOKEN")+strings.Repeat("y", 5000))
		}
		fmt.Fprintln(os.Stderr, "no licence for", os.Getenv("TOKEN"))
		os.Exit(3)
	},

	// tells its environment and directory
	"environment": onStdio(each(oneTool, func(p pipes, m message) {
		dir, _ := os.Getwd()
		p.answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`,
			strings.Join(os.Environ(), " ")+" "+dir))
	})),

	// dies in the middle of a call
	"mortal": onStdio(each(oneTool, func(pipes, message) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(4)
	})),

	// prints without end
	"loud": onStdio(each(oneTool, func(p pipes, m message) {
		for range 10_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("blah ", 1000))
		}
		p.answer(m, ok)
	})),

	// reads nothing after the first call, and stays whatever it is told
	"deaf": onStdio(func(p pipes) {
		signal.Ignore(syscall.SIGTERM)
		p.greet(oneTool)
		select {}
	}),

	// leaves a child behind that holds its pipes, and tells its number
	"parent": onStdio(func(p pipes) {
		if _, called := p.greet(oneTool); called {
			child := exec.Command("/bin/sleep", "1000")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if err := child.Start(); err != nil {
				panic(err)
			}
			fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
			os.Exit(5)
		}
	}),

	// hangs at the first call of its first life, but for pings if it may answer them
	"hung": onStdio(func(p pipes) {
		file := os.Getenv("LIVES")
		lives, _ := os.ReadFile(file)
		if err := os.WriteFile(file, append(lives, '.'), 0o600); err != nil {
			panic(err)
		}
		m, called := p.greet(oneTool)
		if !called {
			return
		}
		if len(lives) == 0 {
			for m, called = p.next(); called && m.Method != "tools/call"; m, called = p.next() {
				if m.Method == "ping" && os.Getenv("PINGS") != "" {
					p.answer(m, "{}")
				}
			}
		}
		if called {
			p.answer(m, ok)
			p.next()
		}
	}),

	// does not speak at all
	"silent": func() { select {} },
}

func onStdio(serve func(pipes)) func() {
	return func() {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 32<<20)
		serve(pipes{in, os.Stdout})
	}
}

// A command gets the environment that it is given, and nothing of ours.
func TestEnvironmentIsCleared(t *testing.T) {
	t.Setenv("WASMAGENT_TEST_SECRET", "do not tell")
	server := command(t, "environment")
	server.Env["TOKEN"] = mcp.Value{Secret: "token"}
	server.Env["PLAIN"] = mcp.Value{Text: "$HOME"}
	server.Dir = t.TempDir()
	s := open(t, server, &mcp.Options{Secret: secrets})
	res, err := call(t, s, "go", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("PLAIN=$HOME TOKEN=[secret token] %s=environment", peerVariable)
	if got := res.Content[0].Text; !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, " "+server.Dir) || strings.Contains(got, "do not tell") {
		t.Errorf("%s, want %s … %s", got, want, server.Dir)
	}
}

func secrets(_ context.Context, name string) (string, error) {
	if name == "token" {
		return "s3cr3t-token", nil
	}
	return "", errors.New("there is none")
}

// What does not start is told with what the command said, without secrets and escapes.
func TestDoesNotStart(t *testing.T) {
	useless := command(t, "useless")
	useless.Env["TOKEN"] = mcp.Value{Secret: "token"}
	missing := command(t, "good")
	missing.Command = "/nowhere/to/be/found"
	unknown := command(t, "good")
	unknown.Env["TOKEN"] = mcp.Value{Secret: "other"}
	silent := command(t, "silent")
	silent.Limits.Start = 100 * time.Millisecond
	for want, server := range map[string]mcp.Server{
		`: the server ended: exit status 3; stderr ends "no licence for [secret token]"`: useless,
		"no such file or directory":                                            missing,
		`the secret "other": there is none`:                                    unknown,
		`server "peer": start: it listed no tools within 100ms (limits.start)`: silent,
	} {
		_, err := mcp.Open(t.Context(), server, &mcp.Options{Secret: secrets})
		e, ok := errors.AsType[*mcp.ServerError](err)
		if !ok || e.Stage != "start" || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s3cr3t-token") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A command that dies in a call fails that call, and is started again for the next.
func TestCommandDies(t *testing.T) {
	s := open(t, command(t, "mortal"), nil)
	s.Hurry()
	for range 2 {
		_, err := call(t, s, "go", `{}`)
		is(t, err, plugins.ErrHandler, "server", `: the server ended: exit status 4; stderr ends "out of luck"`)
		text := err.Error() + plugins.ModelText(err)
		if strings.Count(text, "peer") != 2 || strings.Contains(text, "reported") {
			t.Errorf("%s: want the server named once by each, and nothing called a report", text)
		}
	}
}

// What it started itself and left behind neither holds the source nor stays.
func TestOrphan(t *testing.T) {
	s := open(t, command(t, "parent"), nil)
	_, err := call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "server", "exit status 5")
	s.Close()
	var child int
	e, _ := errors.AsType[*mcp.ServerError](err)
	if _, err := fmt.Sscanf(e.Tail, "child %d", &child); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child ends", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

// stderr is read whatever comes, and logged up to its limit.
func TestLoud(t *testing.T) {
	var j journal
	s := open(t, command(t, "loud"), j.options())
	if _, err := call(t, s, "go", `{}`); err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(j.String(), "stream=stderr")
	if lines == 0 || lines > 20*mcp.LinesPerSecond {
		t.Errorf("%d lines of 10000", lines)
	}
}

// A command that let a call's time pass is started anew for the next call, unless it answers a ping.
func TestHung(t *testing.T) {
	for pings, want := range map[string]string{"": "..", "yes": "."} {
		t.Run("pings:"+pings, func(t *testing.T) {
			server := command(t, "hung")
			file := filepath.Join(t.TempDir(), "lives")
			server.Env["LIVES"], server.Env["PINGS"] = mcp.Value{Text: file}, mcp.Value{Text: pings}
			server.Limits.Time = 2 * time.Second
			s := open(t, server, nil)
			s.Hurry()
			if pings == "" {
				s.Impatient(100 * time.Millisecond)
			}
			_, err := call(t, s, "go", `{}`)
			is(t, err, plugins.ErrHandler, "limit.time", "")
			if _, err := call(t, s, "go", `{}`); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if lives, _ := os.ReadFile(file); string(lives) != want {
				t.Errorf("lives: %s, want %s", lives, want)
			}
		})
	}
}

// Arguments for a command that does not read them hold nobody past his time, and a command that
// does not want to go is ended.
func TestDeaf(t *testing.T) {
	server := command(t, "deaf")
	server.Limits.Time = 200 * time.Millisecond
	s := open(t, server, nil)
	_, err := call(t, s, "go", `{}`)
	is(t, err, plugins.ErrHandler, "limit.time", "")
	_, err = call(t, s, "go", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	is(t, err, plugins.ErrHandler, "limit.time", "")
	s.Close()
}
