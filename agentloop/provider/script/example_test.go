package script_test

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider/script"
)

func Example() {
	model, err := script.Parse("weather.toml", []byte(`
[[step]]
user = {contains = "weather"}

[[step.call]]
tool      = "weather"
arguments = '{"city": "Oslo"}'
`))
	if err != nil {
		panic(err)
	}
	ask := func(text string) {
		said, err := model.Turn(context.Background(), message.Request{
			Messages: []message.Message{{Role: message.User, Text: text}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(said.Model, said.Finish, said.Calls)
	}
	ask("How is the weather?")
	ask("And tomorrow?")
	// Output:
	// script:weather.toml tool_calls [{script_1_1 weather {"city": "Oslo"}}]
	// script weather.toml, step 2: there is none: the script ends after 1
}
