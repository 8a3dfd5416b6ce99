package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// A conversation that is far too long for its model's context comes to its end, and the command
// gives all of it back, byte for byte.
func TestLongSession(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 600 turns")
	}
	p := scripts()
	p.Files = []string{filepath.Join("testdata", "long.txtar")}
	p.Cmds["says-the-same"] = saysTheSame
	p.Setup = func(env *testscript.Env) error {
		return setupAnd(env, "steps.toml", pageByPage(300))
	}
	testscript.Run(t, p)
}

func setupAnd(env *testscript.Env, file, text string) error {
	if err := setup(env); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.WorkDir, file), []byte(text), 0o600)
}

// pageByPage is a script that calls the tools page0 to page9 by turns.
func pageByPage(turns int) string {
	var b strings.Builder
	for i := range turns {
		fmt.Fprintf(&b, "[[step]]\nsay = \"I read on, this is %d.\"\n", i+1)
		if i > 0 {
			fmt.Fprintf(&b, "result = [{tool = \"page%d\", outcome = \"ok\"}]\n", (i-1)%10)
		}
		fmt.Fprintf(&b, "call = [{tool = \"page%d\", arguments = '{\"n\": %d}'}]\n", i%10, i)
	}
	return b.String() + "[[step]]\nsay = \"All is read.\"\n"
}

// saysTheSame compares two files of a session, but for who said it when.
func saysTheSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: says-the-same FILE FILE")
	}
	var lists [2][]message.Message
	for i, name := range args {
		lines := strings.Split(strings.TrimSuffix(ts.ReadFile(name), "\n"), "\n")
		for _, line := range lines[1:] {
			var m message.Message
			ts.Check(json.Unmarshal([]byte(line), &m))
			lists[i] = append(lists[i], message.Message{Role: m.Role, Text: m.Text, Calls: m.Calls,
				Result: m.Result})
		}
	}
	if len(lists[0]) != len(lists[1]) {
		ts.Fatalf("%d messages and %d", len(lists[0]), len(lists[1]))
	}
	for i := range lists[0] {
		if !reflect.DeepEqual(lists[0][i], lists[1][i]) {
			ts.Fatalf("message %d is not the same", i+1)
		}
	}
}
