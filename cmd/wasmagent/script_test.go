package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test program serve as the command itself in scripts, and as the tools that
// scripts need beside it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"wasmagent": main,
		"tiny":      tinyMain,
		"interrupt": func() { signalMain(syscall.SIGINT) },
		"killed":    func() { signalMain(syscall.SIGKILL) },
		"while":     whileMain,
		"together":  togetherMain,
		"held":      heldMain,
		"dialog":    dialogMain,
		"posts":     postsMain,
		"peer":      peerMain,

		"from-settings": fromSettingsMain,
		"tamper":        tamperMain,
		"book":          bookMain,
	})
}

// TestScript runs the cases of testdata/script, each in an empty directory, with a home of its own.
func TestScript(t *testing.T) {
	p := scripts()
	p.Dir = filepath.Join("testdata", "script")
	testscript.Run(t, p)
}

// scripts is what all scripts have in common.
func scripts() testscript.Params {
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   expectExit,
			"cmpjson": compareJSON,
			"capture": capture,
		},
	}
}

// setup keeps the user's plugins and settings out of a script.
func setup(env *testscript.Env) error {
	for _, dir := range []string{"CACHE", "STATE", "DATA", "CONFIG"} {
		env.Setenv("XDG_"+dir+"_HOME", filepath.Join(env.WorkDir, ".home", strings.ToLower(dir)))
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
	for name, value := range goSettings() {
		env.Setenv(name, value)
	}
	env.Setenv("REPOSITORY", repository())
	env.Setenv("COMMANDS", filepath.SplitList(env.Getenv("PATH"))[0])
	shared, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	// Each checkout has its own: two that differ would take turns in building the demo's plugins.
	checkout := sha256.Sum256([]byte(repository()))
	env.Setenv("SHARED_HOME",
		filepath.Join(shared, "wasmagent-test", fmt.Sprintf("command-%x", checkout[:6])))
	return writeGoMod(env.WorkDir)
}

// condition tells whether the user may do everything, so that no file can be kept from them,
// whether this is CI, where nothing may be missing, and whether Extism's kit for AssemblyScript is
// there.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "ci":
		return os.Getenv("CI") == "true", nil
	case "as-kit":
		return exec.Command(filepath.Join(repository(), ".ci", "js", "extism", "fetch")).Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// expectExit runs a command and holds its exit code against the first argument.
func expectExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; fmt.Sprint(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// compareJSON holds the JSON of the first file, or stdout, against that of the second, where "..."
// stands for any value, and inside a string for any text.
func compareJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmpjson FILE FILE")
	}
	var values [2]any
	for i, name := range args {
		if err := json.Unmarshal([]byte(ts.ReadFile(name)), &values[i]); err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
	}
	if place := differ(values[0], values[1]); place != "" {
		ts.Fatalf("%s is not as in %s: $%s", args[0], args[1], place)
	}
}

// differ gives the place of the first difference, or "".
func differ(got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if place := differ(got[name], want[name]); place != "" {
				return "." + name + place
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, wanted := want[name]; !wanted {
				return "." + name + " (not wanted)"
			}
		}
		if ok {
			return ""
		}
	case []any:
		got, ok := got.([]any)
		for i := range min(len(got), len(want)) {
			if place := differ(got[i], want[i]); place != "" {
				return fmt.Sprintf("[%d]%s", i, place)
			}
		}
		if ok && len(got) == len(want) {
			return ""
		}
	case string:
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, "(?s:.*)")
		text, isText := got.(string)
		any := want == "..." && got != nil
		if any || isText && regexp.MustCompile("^"+pattern+"$").MatchString(text) {
			return ""
		}
	default:
		if reflect.DeepEqual(got, want) {
			return ""
		}
	}
	return fmt.Sprintf(" is %v, want %v", got, want)
}

// capture keeps what the pattern's first group matches in stdout or stderr as a variable of the
// script.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture stdout|stderr NAME PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile(args[0]))
	if len(found) != 2 {
		ts.Fatalf("%s has no match with one group of %s", args[0], args[2])
	}
	ts.Setenv(args[1], found[1])
}

// signalMain runs a command until it writes a line with the first argument to stderr, then sends it
// the signal and ends as the command did: with 137, as a shell says it, when it was killed.
func signalMain(signal syscall.Signal) {
	os.Exit(atLine(os.Args[1], os.Args[2:], os.Stdout, func(p *os.Process) {
		if err := p.Signal(signal); err != nil {
			panic(err)
		}
	}))
}

// whileMain runs two commands: while LINE COMMAND... -- COMMAND.... The second runs when the first
// has written the line to stderr; the first is interrupted when the second is over, and what it
// writes is not shown. It ends as the second did.
func whileMain() {
	split := slices.Index(os.Args, "--")
	code := -1
	atLine(os.Args[1], os.Args[2:split], io.Discard, func(p *os.Process) {
		code = during(os.Args[split+1:])
		if err := p.Signal(syscall.SIGINT); err != nil {
			panic(err)
		}
	})
	os.Exit(code)
}

// togetherMain runs a command so many times at once: together N COMMAND.... What becomes of each is
// in what it writes.
func togetherMain() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	for range n {
		group.Go(func() { during(os.Args[2:]) })
	}
	group.Wait()
}

// atLine runs a command, does something once it has written the line to stderr, and gives its exit
// code. What it writes goes to out, and to stderr unless that is discarded.
func atLine(line string, command []string, out io.Writer, do func(*os.Process)) int {
	cmd := exec.Command(command[0], command[1:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdin, cmd.Stdout = os.Stdin, out
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if out != io.Discard {
			fmt.Fprintln(os.Stderr, lines.Text())
		}
		if strings.Contains(lines.Text(), line) {
			do(cmd.Process)
		}
	}
	if err := cmd.Wait(); err == nil {
		return 0
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 128 + int(syscall.SIGKILL)
}

// heldMain runs a command whose stdin gives nothing and does not end, and ends as the command did.
func heldMain() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer w.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
}

// writeGoMod makes a script's directory a Go module that finds the kit in the source being tested.
func writeGoMod(dir string) error {
	text := fmt.Sprintf("module example.test/plugins\n\ngo 1.26.0\n\n"+
		"require github.com/wasmagent/wasmagent v0.0.0\n\n"+
		"replace github.com/wasmagent/wasmagent => %s\n", repository())
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644)
}

// repository is the root of the source that is being tested.
func repository() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}

// goSettings are the go command's own settings, which a new home would hide from it.
var goSettings = sync.OnceValue(func() map[string]string {
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		panic(err)
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		panic(err)
	}
	return settings
})
