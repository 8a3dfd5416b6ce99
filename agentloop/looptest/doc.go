// Package looptest is the test kit for whatever runs agents: models without a model.
//
// A [Model] lives in memory and plays turns; it is for tests of a loop and its tools.
//
//	model := looptest.NewModel(
//		looptest.Call(message.Call{ID: "1", Name: "add", Arguments: `{"a":1,"b":2}`}),
//		looptest.Say("It is 3."),
//	)
//	loop := &agentloop.Loop{Model: model, Tools: tools}
//
// A [Server] speaks the APIs of real models on a loopback address; it is for tests of clients.
// Both keep the requests that came, and refuse those that a real model would refuse.
package looptest
