package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The page about the command tells all of it: commands, flags, exit codes and the keys of the JSON.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	wants := func(what, text string) {
		if !strings.Contains(page, text) {
			t.Errorf("docs/cli.md does not tell %s: no %q", what, text)
		}
	}
	root := (&app{}).command()
	root.InitDefaultCompletionCmd()
	commands := append(root.Commands(), root)
	for _, c := range root.Commands() {
		for _, sub := range c.Commands() {
			if c.Name() != "completion" {
				wants("the command", "`"+c.Name()+" "+sub.Name())
				commands = append(commands, sub)
			}
		}
	}
	for _, c := range commands {
		if c.Parent() == root && c.Name() != "help" {
			wants("the command", "### wasmagent "+c.Name())
		}
		if c.Name() == "completion" {
			continue // it has flags for each shell
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				wants("a flag of "+c.Name(), "--"+f.Name)
			}
			if f.Shorthand != "" && f.Name != "help" {
				wants("a flag of "+c.Name(), "`-"+f.Shorthand+" ")
			}
		})
	}
	for _, e := range exits {
		wants("an exit code", fmt.Sprintf("| %d | `%s` |", e.code, e.kind))
	}
	for _, shape := range []any{outcome{}, progressEvent{}, agentProblem{}, sessionJSON{},
		transcriptJSON{}, sessionVerifyJSON{}, reductionJSON{}, sessionChange{}, settingJSON{}, originJSON{}, problem{}, callJSON{}, blockJSON{}, pluginJSON{}, toolJSON{},
		inspectJSON{}, wantJSON{}, adoptJSON{}, linkJSON{}, memoryJSON{}, checkJSON{}, finding{}, demoJSON{}, demoCallJSON{},
		versionJSON{}, engineJSON{},
		compilingJSON{}, limitsJSON{}, progressJSON{}, pointerJSON{},
		runJSON{}, waitJSON{}, recordJSON{}, failureJSON{}, pendingJSON{}, changeJSON{}, verifyJSON{},
		tamperJSON{}, allowJSON{}, sinceJSON{}, revokeJSON{}, lockJSON{}, clientJSON{}} {
		for key := range jsonKeys(reflect.TypeOf(shape)) {
			if !strings.Contains(page, "`"+key+"`") && !strings.Contains(page, `"`+key+`"`) {
				t.Errorf("docs/cli.md does not tell the key %q of %T", key, shape)
			}
		}
	}
}

// jsonKeys gives the keys that a struct's fields have in JSON.
func jsonKeys(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); key != "" {
			keys[key] = true
		}
	}
	return keys
}

// Each command says in one line and in full what it is for.
func TestHelp(t *testing.T) {
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if n := len([]rune(line)); n > 100 {
				t.Errorf("%s: a line of %d characters", c.CommandPath(), n)
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each((&app{}).command())
	for _, codes := range []string{
		fmt.Sprintf("%d to %d for the five kinds", exitInvalidInput, exitSerialization),
		fmt.Sprintf("%d to %d when a key stands in the way", exitCollision, exitUnresolved),
	} {
		if long := (&app{}).callCommand().Long; !strings.Contains(strings.ReplaceAll(long, "\n", " "), codes) {
			t.Errorf("the help of call does not say %q", codes)
		}
	}
}
