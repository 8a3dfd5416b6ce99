package sdk_test

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/plugins"
)

type order struct {
	Number int `json:"number"`
}

// A person is asked before a tool that changes something runs, and says more while the model is at
// work.
func Example() {
	open := func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
		pay, err := plugins.Func(abi.ToolSpec{Name: "pay", Effect: abi.EffectWrite},
			func(_ context.Context, o order) (string, error) {
				return fmt.Sprintf("receipt R-%d", o.Number), nil
			})
		if err != nil {
			return nil, err
		}
		tools := plugins.NewRegistry(nil)
		if err := tools.Add(pay); err != nil {
			return nil, err
		}
		model := looptest.NewModel(
			looptest.Call(message.Call{ID: "1", Name: "pay", Arguments: `{"number":7}`}),
			looptest.Say("Paid: R-7. A copy is on its way."))
		return &sdk.Opened{Loop: &agentloop.Loop{Model: model, Tools: tools}}, nil
	}
	ctx := context.Background()
	agent := sdk.New(open, &sdk.Options{Ask: true})
	defer agent.Close()
	if _, err := agent.Start(ctx, nil); err != nil {
		fmt.Println(agentloop.SdkCode(err), err)
		return
	}
	user := func(text string) message.Message {
		return message.Message{Role: message.User, Text: text}
	}
	if err := agent.Input(ctx, user("Pay order 7")); err != nil {
		fmt.Println(agentloop.SdkCode(err), err)
		return
	}
	for ev, err := range agent.Events(ctx, 0) {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case ev.Kind == sdk.Asked:
			fmt.Println("may it", ev.Question.Call.Name, ev.Question.Call.Arguments)
			_ = agent.Steer(user("And send me a copy"))
			_ = agent.Respond(ev.Question.ID, agentloop.AnswerAllow)
		case ev.Kind == message.ToolCompleted:
			fmt.Println(ev.Result.Outcome, ev.Result.Text)
		case ev.Kind == message.Said:
			fmt.Println("said:", ev.Message.Text)
		case ev.Kind == sdk.Failed:
			fmt.Println(ev.Name, ev.Err)
			return
		case ev.Kind == message.Ended:
			fmt.Println(ev.Message.Text)
			return
		}
	}
	// Output:
	// said: Pay order 7
	// may it pay {"number":7}
	// ok receipt R-7
	// said: And send me a copy
	// Paid: R-7. A copy is on its way.
}
