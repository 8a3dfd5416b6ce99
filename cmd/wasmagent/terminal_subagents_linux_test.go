package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The person at a terminal is told which agent asks, and an answer for the session holds for all.
func TestSubagentApprovals(t *testing.T) {
	config := filepath.Join(t.TempDir(), "on.toml")
	on := []byte("capabilities.subagents.enabled = true\n")
	if err := os.WriteFile(config, on, 0o600); err != nil {
		t.Fatal(err)
	}
	m := atTerminal(t, `
[[step]]
call = [{tool = "spawn_subagent", arguments = '{"task": "Greet Ada"}'}]
[[step]]
user = {equals = "Greet Ada"}
call = [{tool = "greet", arguments = '{"name": "Ada"}'}]
[[step]]
say = "Hello, says it."
[[step]]
result = [{equals = "Hello, says it."}]
call = [{tool = "greet", arguments = '{"name": "Ada"}'}]
[[step]]
result = [{outcome = "ok"}]
say = "Greeted twice."
`, "chat", "--effect", "greet=write", "--config", config)
	m.expect("> ")
	m.press("Go\n")
	m.expect("[s1] begins: Greet Ada")
	m.expect("may the model call this tool?")
	m.expect("s1, a subagent")
	m.expect("[n] no > ")
	m.press("s\n")
	m.expect("[s1] call greet")
	m.expect("[s1] done greet")
	m.expect("[s1] has answered")
	m.expect("done spawn_subagent")
	m.expect("call greet") // not asked again
	m.expect("Greeted twice.")
	m.expect("> ")
	m.press(ctrlD)
	m.ends(exitOK)
}
