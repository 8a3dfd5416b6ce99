package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

type payment struct {
	Order  string `json:"order"`
	Amount int    `json:"amount" jsonschema:"in cents"`
}

type receipt struct {
	Paid int `json:"paid"`
}

// A tool that pays is a Go function. Its operator says that the order identifies a payment, so the
// same order is paid once.
func Example() {
	pay, err := plugins.Func(abi.ToolSpec{Name: "pay", Description: "pay an order"},
		func(_ context.Context, p payment) (receipt, error) {
			if p.Amount > 500 {
				return receipt{}, errors.New("no funds")
			}
			return receipt{Paid: p.Amount}, nil
		})
	if err != nil {
		panic(err)
	}
	tools := plugins.NewRegistry(&plugins.Options{
		Rules:  map[string]plugins.Rule{"pay": {Key: "order"}},
		Ledger: new(ledger.Memory),
	})
	if err := errors.Join(tools.Add(pay), tools.Check()); err != nil {
		panic(err)
	}
	for _, arguments := range []string{
		`{"order":"a1","amount":250}`,
		`{"order":"a1","amount":250}`,
		`{"order":"a2","amount":"all"}`,
		`{"order":"a3","amount":900}`,
	} {
		result, err := tools.Call(context.Background(), plugins.Call{
			ID:    "call-1",
			Tool:  "pay",
			Input: json.RawMessage(arguments),
		})
		if err != nil {
			fmt.Printf("%s fault: %s\n", plugins.FaultOf(err), plugins.ModelText(err))
			continue
		}
		fmt.Printf("%s copied=%v\n", result.Value, result.Copied)
	}
	// Output:
	// {"paid":250} copied=false
	// {"paid":250} copied=true
	// caller fault: tool "pay" was not run: the arguments do not match its schema: at /amount: want an integer, have a string
	// world fault: tool "pay" failed: it reported: "no funds"; its effect may or may not have happened
}
