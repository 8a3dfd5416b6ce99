package agentloop_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

// A model that would be a real one (see the packages under provider) uses a tool that is a Go
// function.
func Example() {
	add, err := plugins.Func(abi.ToolSpec{Name: "add", Effect: abi.EffectRead},
		func(_ context.Context, n numbers) (int, error) { return n.A + n.B, nil })
	if err != nil {
		panic(err)
	}
	tools := plugins.NewRegistry(nil)
	if err := tools.Add(add); err != nil {
		panic(err)
	}
	loop := &agentloop.Loop{
		Model: looptest.NewModel(
			looptest.Call(message.Call{ID: "1", Name: "add", Arguments: `{"a":1}`}),
			looptest.Call(message.Call{ID: "2", Name: "add", Arguments: `{"a":1,"b":2}`}),
			looptest.Say("It is 3."),
		),
		Tools: tools,
	}
	question := message.Message{Role: message.User, Text: "What is 1 + 2?"}
	for ev, err := range loop.Run(context.Background(), question) {
		switch {
		case err != nil:
			fmt.Println(agentloop.Code(err), err)
		case ev.Kind == message.ToolCompleted:
			fmt.Println(ev.Result.Outcome, cmp.Or(ev.Result.Code, ev.Result.Text))
		case ev.Kind == message.Ended:
			fmt.Println(ev.End, ev.Message.Text)
		}
	}
	// Output:
	// error invalid_arguments
	// ok 3
	// answer It is 3.
}

func ExampleSubagents() {
	// A model plays both: it hands a task on, does it as the subagent, and goes on with the answer.
	task := message.Call{ID: "1", Name: agentloop.SpawnSubagent,
		Arguments: `{"task": "Count the moons of Mars."}`}
	loop := &agentloop.Loop{
		Model: looptest.NewModel(looptest.Call(task), looptest.Say("Two."),
			looptest.Say("Mars has two moons.")),
		Subagents: &agentloop.Subagents{},
	}
	defer loop.Close()
	ask := message.Message{Role: message.User, Text: "How many moons does Mars have?"}
	for ev, err := range loop.Run(context.Background(), ask) {
		switch {
		case err != nil:
			fmt.Println(err)
		case ev.Kind == message.AgentStarted:
			fmt.Println(ev.Agent, "begins:", ev.Text)
		case ev.Kind == message.TextDelta && ev.Agent != "":
			fmt.Println(ev.Agent, "says:", ev.Text)
		case ev.Kind == message.Ended:
			fmt.Println(ev.Message.Text)
		}
	}
	// Output:
	// s1 begins: Count the moons of Mars.
	// s1 says: Two.
	// Mars has two moons.
}
