// Package tokens tells whether a request fits into a model's context before it is sent. It knows no
// model's own way of counting: it takes four bytes for a token, adds a quarter for what that misses
// and keeps room for the answer. Everything is plain arithmetic.
//
//	estimate  = ⌈bytes of the messages as JSON / 4⌉ + ⌈bytes of the tools as JSON / 4⌉
//	projected = ⌈estimate × 5/4⌉
//	fits      = projected + reserve ≤ limit
package tokens

import (
	"encoding/json"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

const (
	Reserve      = 16_384  // tokens kept free for the answer, whatever the limit
	DefaultLimit = 200_000 // tokens of a model that no table names
)

// Estimate is how many tokens a text takes, by its bytes.
func Estimate(text string) int { return estimate(len(text)) }

func estimate(bytes int) int { return (bytes + 3) / 4 }

// EstimateRequest is how many tokens a request's messages, with the system prompt among them, and
// its tools take. What is never sent, such as a message's Meta, should not be in it.
func EstimateRequest(messages []message.Message, tools []message.Spec) int {
	n := jsonArray(messages)
	if len(tools) == 0 {
		return estimate(n)
	}
	return estimate(n) + estimate(jsonArray(tools))
}

// Margin is an estimate with what it may be wrong by: a quarter more, rounded up.
func Margin(estimate int) int { return estimate + (estimate+3)/4 }

// Projected is the tokens that a request is taken to need, without the answer.
func Projected(messages []message.Message, tools []message.Spec) int {
	return Margin(EstimateRequest(messages, tools))
}

// Fits reports whether a request that needs so many tokens leaves room for the answer. It is the
// one rule, whether a request is looked at before a run or before it is sent.
func Fits(projected, limit int) bool { return projected <= limit-Reserve }

// Limits is the context sizes of models in tokens, by exact name.
type Limits map[string]int

// Of gives a model's limit: the table's, else DefaultLimit.
func (l Limits) Of(model string) int {
	if n, ok := l[model]; ok {
		return n
	}
	return DefaultLimit
}

// jsonArray is how many bytes the items take as a JSON array.
func jsonArray[T any](items []T) int {
	const brackets = len("[]")
	var n counter
	e := json.NewEncoder(&n)
	e.SetEscapeHTML(false)
	for i := range items {
		before := n
		if e.Encode(&items[i]) != nil {
			// A schema or a piece of reasoning that is no JSON: too much is better than too little.
			n = before + counter(len(fmt.Sprintf("%+v", items[i])))
		}
	}
	// The encoder ends each item with a newline; the last one has no comma in its place.
	return brackets + max(int(n)-1, 0)
}

type counter int

func (n *counter) Write(b []byte) (int, error) {
	*n += counter(len(b))
	return len(b), nil
}
