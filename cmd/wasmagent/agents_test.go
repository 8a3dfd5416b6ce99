package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// agentCLI is another agent's command, in a home of its own.
type agentCLI struct {
	program, format string
	home, work      string
	tool, arguments string // one that it has
	env             []string
	start           []string // to begin with a prompt
	resume          func(id string) []string
	file            func(id string) string // where a session is
}

// openAgentCLI gives an agent that asks a model at a URL.
type openAgentCLI func(t *testing.T, program, url string) *agentCLI

func claudeCode(t *testing.T, program, url string) *agentCLI {
	c := &agentCLI{program: program, format: "claude-code", home: t.TempDir(), work: t.TempDir(),
		tool: "Bash", arguments: `{"command":"echo hello","description":"says hello"}`}
	flags := []string{"--allowedTools", "Bash", "--model", "claude-sonnet-4-5", "-p"}
	c.start = flags
	c.resume = func(id string) []string { return append([]string{"--resume", id}, flags...) }
	c.env = []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-none",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	folder := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(c.work, "-")
	c.file = func(id string) string {
		return filepath.Join(c.home, ".claude", "projects", folder, id+".jsonl")
	}
	return c
}

func codexCLI(t *testing.T, program, url string) *agentCLI {
	c := &agentCLI{program: program, format: "codex", home: t.TempDir(), work: t.TempDir(),
		tool: "exec_command", arguments: `{"cmd":"echo hello"}`}
	flags := []string{"exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"}
	c.start = flags
	c.resume = func(id string) []string { return append(flags, "resume", id) }
	c.env = []string{"LOCAL_KEY=none"}
	c.file = func(id string) string {
		return filepath.Join(c.home, ".codex", "sessions", "2026", "01", "02",
			"rollout-2026-01-02T03-04-05-"+id+".jsonl")
	}
	config := fmt.Sprintf("model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\n"+
		"name = \"local\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"LOCAL_KEY\"\n", url+"/v1")
	put(t, filepath.Join(c.home, ".codex", "config.toml"), config)
	return c
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run has the agent carry out a prompt.
func (c *agentCLI) run(t *testing.T, args []string, prompt string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append(args, prompt)...)
	cmd.Dir = c.work
	cmd.Env = append([]string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH")}, c.env...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", c.format, err, out, log.String())
	}
	return string(out)
}

// only is the only session file of the agent's home.
func (c *agentCLI) only(t *testing.T) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(c.home, func(path string, _ os.DirEntry, err error) error {
		base := filepath.Base(path)
		if strings.HasSuffix(base, ".jsonl") && base != "history.jsonl" {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, session files: %v", c.format, err, found)
	}
	return found[0]
}

// ours runs this command, with sessions in a folder of their own.
func ours(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("WASMAGENT_COMMAND"), args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("wasmagent %v: %v\n%s", args, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

// told is what a session says, without what only one side keeps.
func told(t *testing.T, home, name string) (list []message.Message) {
	t.Helper()
	shown := ours(t, home, "sessions", "show", name, "-o", "jsonl")
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	for _, line := range lines[1:] {
		var m message.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		m.Meta, m.Time, m.Usage = nil, time.Time{}, nil
		list = append(list, m)
	}
	return list
}

// TestRealAgents has sessions go from here to real agents, and back. The model that those ask is a
// scripted server. ".ci/long agents" fetches them and runs this.
func TestRealAgents(t *testing.T) {
	if os.Getenv("WASMAGENT_COMMAND") == "" {
		t.Skip("NO REAL AGENT HAS RESUMED A SESSION: .ci/long agents has them do it")
	}
	type known struct {
		name, program string
		open          openAgentCLI
	}
	agents := []known{{"Claude Code", os.Getenv("WASMAGENT_CLAUDE"), claudeCode},
		{"Codex", os.Getenv("WASMAGENT_CODEX"), codexCLI}}
	for i, agent := range agents {
		t.Run(agent.name+" resumes", func(t *testing.T) {
			server := looptest.NewServer(t, looptest.Answer{Text: "Boots, too."},
				looptest.Answer{Text: "And a map."})
			agentResumes(t, agent.open(t, agent.program, server.URL), server)
		})
		other := agents[1-i]
		t.Run(agent.name+" begins, "+other.name+" goes on", func(t *testing.T) {
			home := agentBegins(t, agent.program, agent.open)
			server := looptest.NewServer(t, looptest.Answer{Text: "Goodbye."})
			agentTakesOver(t, other.open(t, other.program, server.URL), server, home)
		})
	}
}

// agentResumes exports a session, has the agent go on with it, imports that, goes on, and has the
// agent go on once more.
func agentResumes(t *testing.T, c *agentCLI, server *looptest.Server) {
	home := t.TempDir()
	trip, err := os.ReadFile(filepath.Join("testdata", "agents.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, ".local/state/wasmagent/sessions/trip.jsonl"), string(trip))
	const id = "01a22e00-0000-7000-8000-000000000001"
	file := c.file(id)
	export := func(name string) string {
		text := ours(t, home, "sessions", "export", name, "--format", c.format)
		return strings.ReplaceAll(text, `"cwd":"`+home+`"`, `"cwd":"`+c.work+`"`)
	}
	put(t, file, export("trip"))
	t.Log(c.run(t, c.resume(id), "What else?"))
	knows(t, server, 1, "Pack for the trip to Ålesund.", "I look at the weather, twice.", "It rains.",
		"An umbrella.", "1234567890123456", "What else?") // Claude Code rounds it

	ours(t, home, "sessions", "import", c.only(t), "--as", "back")
	want := append(told(t, home, "trip"), message.Message{Role: message.User, Text: "What else?"},
		message.Message{Role: message.Assistant, Text: "Boots, too.", Finish: message.FinishStop})
	have := told(t, home, "back")
	have[len(have)-1].Model = ""
	same(t, have, want)
	written, err := os.ReadFile(c.only(t))
	if err != nil {
		t.Fatal(err)
	}
	if export("back") != string(written) {
		t.Errorf("%s: its file is not given back byte for byte", c.format)
	}

	put(t, filepath.Join(home, "plugins", "README"), "None.")
	put(t, filepath.Join(home, "steps.toml"), "[[step]]\nsay = \"Socks.\"\n")
	ours(t, home, "run", "Still more?", "--resume", "back", "--provider", "script:steps.toml")
	longer := export("back")
	if !strings.HasPrefix(longer, string(written)) {
		t.Errorf("%s: the lines that it wrote have changed", c.format)
	}
	put(t, c.only(t), longer)
	t.Log(c.run(t, c.resume(id), "And last?"))
	knows(t, server, 2, "Pack for the trip to Ålesund.", "Boots, too.", "Still more?", "Socks.",
		"And last?")
	ours(t, home, "sessions", "import", c.only(t), "--as", "again")
	if n := len(told(t, home, "again")); n != len(want)+4 {
		t.Errorf("%s: %d messages, want %d", c.format, n, len(want)+4)
	}
}

// agentBegins has the agent make a session with calls of its own tools, and imports that into the
// home which it gives.
func agentBegins(t *testing.T, program string, open openAgentCLI) (home string) {
	probe := open(t, program, "")
	call := func(id string) message.Call {
		return message.Call{ID: id, Name: probe.tool, Arguments: probe.arguments}
	}
	server := looptest.NewServer(t,
		looptest.Answer{Text: "I say hello.", Reasoning: "Hm.",
			Calls: []message.Call{call("call_1"), call("call_2")}},
		looptest.Answer{Text: "Done."})
	c := open(t, program, server.URL)
	t.Log(c.run(t, c.start, "Say hello twice."))
	home = t.TempDir()
	t.Log(ours(t, home, "sessions", "import", c.only(t), "--as", "theirs"))
	list := told(t, home, "theirs")
	if len(list) != 5 || list[0].Text != "Say hello twice." || list[1].Text != "I say hello." ||
		list[1].Reasoning[0].Text != "Hm." || list[1].Calls[1] != call("call_2") ||
		list[2].Result.CallID != "call_1" || !strings.Contains(list[3].Result.Text, "hello") ||
		list[4].Text != "Done." {
		t.Errorf("%s: %+v", c.format, list)
	}
	written, err := os.ReadFile(c.only(t))
	if err != nil {
		t.Fatal(err)
	}
	if ours(t, home, "sessions", "export", "theirs", "--format", c.format) != string(written) {
		t.Errorf("%s: its file is not given back byte for byte", c.format)
	}
	return home
}

// agentTakesOver has the agent go on with what another one has begun.
func agentTakesOver(t *testing.T, c *agentCLI, server *looptest.Server, home string) {
	var header struct {
		Header struct{ ID string }
	}
	shown, _, _ := strings.Cut(ours(t, home, "sessions", "show", "theirs", "-o", "jsonl"), "\n")
	if err := json.Unmarshal([]byte(shown), &header); err != nil {
		t.Fatal(err)
	}
	id := header.Header.ID
	text := ours(t, home, "sessions", "export", "theirs", "--format", c.format)
	put(t, c.file(id), strings.ReplaceAll(text, `"cwd":"`+home+`"`, `"cwd":"`+c.work+`"`))
	t.Log(c.run(t, c.resume(id), "And goodbye?"))
	knows(t, server, 1, "Say hello twice.", "I say hello.", "call_1", "call_2", "hello", "Done.",
		"And goodbye?")
	ours(t, home, "sessions", "import", c.only(t), "--as", "taken")
	list := told(t, home, "taken")
	same(t, list[:len(list)-2], told(t, home, "theirs"))
	if last := list[len(list)-1].Text; last != "Goodbye." {
		t.Errorf("%s: the last words are %q", c.format, last)
	}
}

// knows tells whether the last of some requests has all that was said before.
func knows(t *testing.T, server *looptest.Server, requests int, texts ...string) {
	t.Helper()
	asked := server.Asked()
	if len(asked) != requests {
		t.Fatalf("%d requests, want %d", len(asked), requests)
	}
	body := string(asked[requests-1].Body)
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("the agent does not tell its model %q:\n%s", text, body)
		}
	}
}

func same(t *testing.T, have, want []message.Message) {
	t.Helper()
	h, _ := json.MarshalIndent(have, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if !bytes.Equal(h, w) {
		t.Errorf("have %s\nwant %s", h, w)
	}
}
