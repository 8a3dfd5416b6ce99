package reduce_test

import (
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

func Example() {
	record := []message.Message{
		{Role: message.User, Text: "What is in the log?"},
		{Role: message.Assistant, Calls: []message.Call{{ID: "1", Name: "read", Arguments: "{}"}}},
		{Role: message.Tool, Result: &message.Result{CallID: "1", Name: "read", Outcome: message.OK,
			Text: strings.Repeat("All is well. ", 1000)}},
	}
	view, log := reduce.Project(record, reduce.Policy{Keep: 12, Protect: -1}, nil)
	fmt.Println(view[2].Result.Text)

	original, err := reduce.InvertOne(record, log, log[0].ID)
	fmt.Println(len(original), err)
	full, err := reduce.Invert(view, log, record)
	fmt.Println(full[2].Result.Text == record[2].Result.Text, err)
	// Output:
	// All is well.
	// [reduced output r0001-a825: 12988 of 13000 bytes left out]
	// 13000 <nil>
	// true <nil>
}
