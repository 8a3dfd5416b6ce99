// Package sdk drives an agent from outside: from a window, a server or a command line.
//
// An [Agent] is one agent in one conversation. Start begins the conversation, or Resume goes on
// with a recorded one; Input says something; Events tells what happens, and how each run ends;
// Close ends it all. While a run is at work, Steer says more to it, Respond answers its questions,
// and Interrupt ends it. Export writes down what was said. [Local] is the Agent whose
// [agentloop.Loop] runs in this process:
//
//	agent := sdk.New(open, &sdk.Options{Ask: true})
//	defer agent.Close()
//	if _, err := agent.Start(ctx, nil); err != nil { … }
//	said := message.Message{Role: message.User, Text: "Pay order 7"}
//	if err := agent.Input(ctx, said); err != nil { … }
//	for ev, err := range agent.Events(ctx, 0) {
//		switch {
//		case err != nil:                 // closed, or ctx is over
//		case ev.Kind == sdk.Asked:       // agent.Respond(ev.Question.ID, agentloop.AnswerAllow)
//		case ev.Kind == message.Ended:   // an answer, or why it has stopped
//		case ev.Kind == sdk.Failed:      // ev.Err
//		}
//	}
//
// What a method does in each state of an agent, where "-" is that it works:
//
//	           no conversation   no run      a run       it asks     closed
//	Start      -                 busy        busy        busy        closed
//	Resume     -                 busy        busy        busy        closed
//	Input      not_found         -           busy        busy        closed
//	Interrupt  not_found         not_found   -           -           closed
//	Steer      not_found         not_found   -           -           closed
//	Respond    not_found         not_found   not_found   -           closed
//	Export     not_found         -           -           -           closed
//	Events     -                 -           -           -           what is kept, then closed
//	Close      -                 -           -           -           -
//
// # Errors
//
// The name of an [agentloop.SdkError] is for programs and never changes: unauthorized (the model's
// key is missing, or its provider refuses it), invalid_argument, not_found, busy,
// unsupported_action, execution (a run ended in an error, or a conversation could not be opened)
// and closed. errors.As finds what is behind it, and agentloop.Code of its Err names that.
//
// # Limits
//
// An agent keeps [DefaultKeep] events for listeners that come late, and never waits for a listener,
// unless Options.Lockstep says so. At most [agentloop.MaxSteering] messages wait to be taken by a
// run. An Agent is safe for concurrent use. Once it is closed, nothing of it is left running.
package sdk
