package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listed asks for the tools until one is there, or is there no more, each time that it is told of a
// change.
func (h *mcpHome) listed(t *testing.T, d *dialog, tool string, want bool) {
	t.Helper()
	for {
		if answer := h.must(t, d, mcpList, `"tools"`); strings.Contains(answer, `"`+tool+`"`) == want {
			return
		}
		if line, err := d.hear("notifications/tools/list_changed"); err != nil {
			t.Fatalf("%s: %s, %v: %s", tool, line, err, h.log(d))
		}
	}
}

// What an MCP server of the policy changes about its tools is told and called.
func TestMCPServerChanges(t *testing.T) {
	h := newMCPHome(t, "[servers.notes]\ncommand = \"peer\"\nargs = [\"notes.txt\"]\n", "text")
	d := h.start(t)
	h.listed(t, d, "notes_learn", true)
	h.must(t, d, mcpCall(3, "notes_learn", "{}"), `"id":3,"result"`)
	h.listed(t, d, "notes_forget", true)
	h.must(t, d, mcpCall(4, "notes_forget", "{}"), "kept")
	h.must(t, d, mcpCall(5, "notes_learn", "{}"), "unknown tool")
	h.must(t, d, mcpCall(6, "text", "{}"), "two")
	if err := d.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A server that does not answer, for a day if need be, keeps nobody from the plugins.
func TestMCPServerHangs(t *testing.T) {
	h := newMCPHome(t, "[servers.slow]\ncommand = \"peer\"\nargs = [\"-hang\"]\nlimits.start = \"24h\"\n"+
		"[servers.notes]\ncommand = \"peer\"\nargs = [\"notes.txt\"]\n", "text")
	d := h.start(t)
	h.must(t, d, mcpCall(3, "text", "{}"), "two")
	h.listed(t, d, "notes_greet", true)
	h.must(t, d, mcpCall(4, "notes_greet", "{}"), "kept")
	if err := d.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A server that cannot be had at the start is there once it can be had, which is said once.
func TestMCPServerComes(t *testing.T) {
	h := newMCPHome(t, "", "text")
	command := filepath.Join(h.dir, "peer")
	h.write(t, "policy.toml", []byte("[servers.notes]\ncommand = \""+command+"\"\nargs = [\"notes.txt\"]\n"))
	d := h.start(t)
	h.must(t, d, mcpCall(3, "text", "{}"), "two")
	h.listed(t, d, "notes_greet", false)
	if err := os.Link(os.Args[0], command); err != nil {
		if err := os.Symlink(os.Args[0], command); err != nil {
			t.Fatal(err)
		}
	}
	h.listed(t, d, "notes_greet", true)
	h.must(t, d, mcpCall(4, "notes_greet", "{}"), "kept")
	if err := d.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	log := h.log(d)
	for _, said := range []string{"tried again until it is there", "the server is there now"} {
		if n := strings.Count(log, said); n != 1 {
			t.Errorf("%q is said %d times: %s", said, n, log)
		}
	}
}

// A plugin takes a name from a server while both serve, and gives it back.
func TestMCPServerWaitsForName(t *testing.T) {
	h := newMCPHome(t, "[servers.notes]\ncommand = \"peer\"\nargs = [\"notes.txt\"]\nbare = true\n", "text")
	d := h.start(t)
	h.listed(t, d, "add_note", true)
	h.must(t, d, mcpCall(3, "greet", "{}"), "kept")
	h.write(t, "plugins/greet.wasm", tinies["greet"]("greet").Bytes())
	for answer := ""; !strings.Contains(answer, `"structuredContent":{"name":"Ada"}`); {
		if _, err := d.hear("notifications/tools/list_changed"); err != nil {
			t.Fatalf("%v: %s", err, h.log(d))
		}
		h.must(t, d, mcpList, `"greet"`) // whose schema has to be known
		answer = h.must(t, d, mcpCall(4, "greet", `{"name":"Ada"}`), `"result"`)
	}
	if err := os.Remove(filepath.Join(h.dir, "plugins", "greet.wasm")); err != nil {
		t.Fatal(err)
	}
	for answer := ""; !strings.Contains(answer, "kept"); {
		if _, err := d.hear("notifications/tools/list_changed"); err != nil {
			t.Fatalf("%v: %s", err, h.log(d))
		}
		answer = h.must(t, d, mcpCall(5, "greet", "{}"), `"result"`)
	}
	if err := d.end(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
