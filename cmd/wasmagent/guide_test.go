package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What the guides tell to type works, and gives what they show, but for times and random names.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a Go plugin")
	}
	for _, page := range []string{"ledger.md", "agent.md"} {
		t.Run(page, func(t *testing.T) { followGuide(t, page) })
	}
}

// followGuide runs the commands of a page. Its Go program is the plugin pay, which the first guide
// writes; a file in TOML has its name in its first line.
func followGuide(t *testing.T, name string) {
	var script, files strings.Builder
	for _, block := range guideBlocks(t, name) {
		switch first, _, _ := strings.Cut(block[2], "\n"); block[1] {
		case "toml":
			fmt.Fprintf(&files, "-- scratch/%s --\n%s", strings.TrimPrefix(first, "# "), block[2])
		case "console":
			guideScript(block[2], &script, &files)
		}
	}
	for _, block := range guideBlocks(t, "ledger.md") {
		if block[1] == "go" { // what comes later is for programs that embed wasmagent
			fmt.Fprintf(&files, "-- scratch/pay/main.go --\n%s", block[2])
			break
		}
	}
	file := filepath.Join(t.TempDir(), "guide.txtar")
	text := "env XDG_CACHE_HOME=$SHARED_HOME/cache\n" + script.String() + files.String()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := scripts()
	p.Files = []string{file}
	p.Cmds["shows"] = (&guide{names: map[string]string{}}).shows
	testscript.Run(t, p)
}

// guideBlocks are the programs, files and commands of a page: each with its language and its text.
func guideBlocks(t *testing.T, name string) [][]string {
	page, err := os.ReadFile(filepath.Join(repository(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?s)```(go|console|toml)\n(.*?)```\n").
		FindAllStringSubmatch(string(page), -1)
}

// guideScript turns commands, each behind a $, and what they write into lines of a script. The one
// that is killed after a time is killed when the tool has begun.
func guideScript(shown string, script, files *strings.Builder) {
	for _, part := range strings.Split("\n"+shown, "\n$ ")[1:] {
		command, output, _ := strings.Cut(part, "\n")
		command, comment, _ := strings.Cut(command, "        # exit code ")
		if strings.HasPrefix(command, "cd ") {
			fmt.Fprintln(script, command)
			continue
		}
		if rest, ok := strings.CutPrefix(command, "timeout -s KILL 5 "); ok {
			command = "killed paying " + rest + " --log-level info"
		}
		code := comment
		if code == "" {
			code = "0"
		}
		name := fmt.Sprintf("want%d", strings.Count(files.String(), "-- want"))
		fmt.Fprintf(script, "shows %s $WORK/%s %s\n", code, name, quoteHash(command))
		fmt.Fprintf(files, "-- %s --\n%s\n", name, strings.TrimSuffix(output, "\n"))
	}
}

// quoteHash quotes words in which a script would see a comment.
func quoteHash(command string) string {
	return regexp.MustCompile(`\S+#\d+`).ReplaceAllString(command, "'$0'")
}

var (
	runNames = regexp.MustCompile(`bg-[0-9a-f]{11}-[0-9a-f]+|call-[a-z2-7]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times    = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)
)

// guide follows a page whose runs have other names than the real ones.
type guide struct{ names map[string]string }

// shows runs a command and holds what it writes against a file: shows CODE FILE COMMAND.... Names
// of runs stand for the real ones, and the order of lines is not told, since there are two streams.
// A file without lines holds against anything.
func (g *guide) shows(ts *testscript.TestScript, neg bool, args []string) {
	for i, word := range args {
		args[i] = runNames.ReplaceAllStringFunc(word, func(name string) string { return g.names[name] })
	}
	want := strings.TrimSpace(ts.ReadFile(args[1]))
	expectExit(ts, neg, slices.Delete(args, 1, 2))
	if want == "" {
		return
	}
	got := strings.TrimSpace(ts.ReadFile("stderr")) + "\n" + strings.TrimSpace(ts.ReadFile("stdout"))
	shown, real := runNames.FindAllString(want, -1), runNames.FindAllString(got, -1)
	for i := range min(len(shown), len(real)) {
		if g.names[shown[i]] == "" {
			g.names[shown[i]] = real[i]
		}
	}
	for name, is := range g.names {
		want = strings.ReplaceAll(want, name, is)
	}
	if a, b := sortedLines(got), sortedLines(want); a != b {
		ts.Fatalf("it shows\n%s\nwant\n%s", a, b)
	}
}

// sortedLines are the lines of a text that has no times.
func sortedLines(s string) string {
	s = times.ReplaceAllString(strings.TrimSpace(s), "TIME")
	return strings.Join(slices.Sorted(strings.SplitSeq(s, "\n")), "\n")
}
