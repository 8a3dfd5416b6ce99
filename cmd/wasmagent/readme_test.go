package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What README.md tells a newcomer to type works, and gives what it shows.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a Go plugin")
	}
	b, err := os.ReadFile(filepath.Join(repository(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## Write a plugin\n")
	blocks := regexp.MustCompile("(?s)```(go)?\n(.*?)```\n").FindAllStringSubmatch(section, 2)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of code, want a program and the commands", len(blocks))
	}
	file := filepath.Join(t.TempDir(), "readme.txtar")
	text := readmeScript(blocks[1][2]) + "-- scratch/hello/main.go --\n" + blocks[0][2]
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := scripts()
	p.Files = []string{file}
	testscript.Run(t, p)
}

// readmeScript makes a script of commands, each behind a $, and what they write.
func readmeScript(shown string) string {
	var script, files strings.Builder
	script.WriteString("env XDG_CACHE_HOME=$SHARED_HOME/cache\n" +
		"env XDG_STATE_HOME=$SHARED_HOME/state\n")
	for i, part := range strings.Split("\n"+shown, "\n$ ")[1:] {
		command, output, _ := strings.Cut(part, "\n")
		command, comment, _ := strings.Cut(command, "#")
		code, stream := "0", "stdout"
		if _, c, fails := strings.Cut(comment, "exit code "); fails {
			code, stream = c, "stderr"
		}
		fmt.Fprintf(&script, "exits %s %s\n", code, strings.TrimSpace(command))
		if output != "" {
			fmt.Fprintf(&script, "cmp %s want%d\n", stream, i)
			fmt.Fprintf(&files, "-- want%d --\n%s\n", i, strings.TrimSuffix(output, "\n"))
		}
	}
	return script.String() + files.String()
}
