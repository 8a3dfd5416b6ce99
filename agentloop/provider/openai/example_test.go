package openai_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
)

// A model on this machine, which needs no key, is asked one thing.
func Example() {
	model, err := openai.New("qwen3", &provider.Options{BaseURL: "http://localhost:11434/v1"})
	if err != nil {
		panic(err)
	}
	said, err := model.Turn(context.Background(), message.Request{
		Messages: []message.Message{{Role: message.User, Text: "Hello"}},
		Delta:    func(d message.Delta) { fmt.Print(d.Text) },
	})
	if refused, ok := errors.AsType[*provider.StatusError](err); ok {
		fmt.Println("the server says", refused.Status)
	} else if err == nil {
		fmt.Println(said.Finish, said.Usage)
	}
}
