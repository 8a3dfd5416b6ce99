package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// bookMain makes a ledger such as a program with long runs leaves: book FILE [COMMAND...]. While
// the last call of the run session-2 is going on, it runs the command and ends as that did; without
// one its process simply ends there, as in a crash.
func bookMain() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: book FILE [COMMAND...]")
		os.Exit(2)
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	rooms := map[string]*plugins.Registry{
		"here": bookRegistry(l, "here"), "there": bookRegistry(l, "there"),
	}
	for i, c := range bookCalls {
		_, err := rooms[c.scope].Call(ctx, plugins.Call{ID: fmt.Sprint(i), Run: c.run,
			Position: c.position, Tool: c.tool, Input: json.RawMessage(c.input)})
		_, failed := errors.AsType[*plugins.ToolError](err)
		if err != nil && !failed {
			panic(err)
		}
	}
}

// bookCalls is what is recorded. Each tool does what its input says.
var bookCalls = []struct {
	scope, run string
	position   int
	tool       string
	input      string
}{
	{"here", "session-1", 1, "look", `{"gives": "snow \u001b[31m\u202e", "at": "Oslo"}`},
	{"here", "session-1", 2, "pay", `{"id": 1, "gives": {"receipt": "R-1"}}`},
	{"here", "session-1", 3, "note", `{"id": "milk", "fails": "the pencil\nbroke"}`},
	{"here", "session-1", 4, "pay", `{"id": 2, "fails": "the bank hung up"}`},
	{"there", "session-2", 1, "pay", `{"id": 1, "gives": null}`},
	{"here", "session-2", 2, "pay", `{"id": 1, "gives": {"receipt": "R-1"}}`},
	{"here", "session-2", 3, "pay", `{"id": 9, "stays": true}`},
}

func bookRegistry(l plugins.Ledger, scope string) *plugins.Registry {
	r := plugins.NewRegistry(&plugins.Options{
		Ledger: l, Scope: scope,
		Rules: map[string]plugins.Rule{"pay": {Key: "id"}, "note": {Key: "id"}},
	})
	err := r.Add(bookTool{"look", abi.EffectRead}, bookTool{"note", abi.EffectIdempotent},
		bookTool{"pay", abi.EffectWrite})
	if err != nil {
		panic(err)
	}
	return r
}

type bookTool struct {
	name   string
	effect abi.Effect
}

func (t bookTool) Spec() abi.ToolSpec { return abi.ToolSpec{Name: t.name, Effect: t.effect} }

func (t bookTool) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	var in struct {
		Gives json.RawMessage
		Fails string
		Stays bool
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		panic(err)
	}
	switch {
	case in.Stays:
		os.Exit(during(os.Args[2:]))
	case in.Fails != "":
		return plugins.Output{}, &abi.Failure{Message: in.Fails, Permanent: true}
	}
	return plugins.Output{Value: in.Gives}, nil
}

// during runs a command and gives its exit code.
func during(command []string) int {
	if len(command) == 0 {
		return 0
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return cmd.ProcessState.ExitCode()
	}
	return 0
}
