package agentloop

import (
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Check tells whether a run can work with the fields as they are. Its error is the *SdkError that
// Run would give.
func (l *Loop) Check() error { return l.whenFree(l.configure) }

// CheckInput tells whether a run could begin with input, or without any. Its error is the *SdkError
// that Run would give.
func (l *Loop) CheckInput(input ...message.Message) error {
	return l.whenFree(func() error { return l.checkInput(input) })
}

// whenFree calls f when no run is at work, and keeps any from beginning meanwhile.
func (l *Loop) whenFree(f func() error) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer l.running.Store(false)
	return f()
}

// checkInput checks what the user says, and that there is something to answer.
func (l *Loop) checkInput(input []message.Message) error {
	if err := checkSaid(input); err != nil {
		return err
	}
	if len(input) > 0 || len(l.open) > 0 || len(l.unheard) > 0 {
		return nil
	}
	if len(l.history) == 0 {
		return &SdkError{SdkInvalidArgument, errors.New("nobody has said anything yet")}
	}
	last := &l.history[len(l.history)-1]
	if last.Role == message.Assistant && last.Finish != message.FinishPause {
		return &SdkError{SdkInvalidArgument,
			errors.New("the model has answered; say something more")}
	}
	return nil
}

// checkSaid checks that messages are such as a user says.
func checkSaid(said []message.Message) error {
	wrong := func(i int, format string, args ...any) error {
		return &SdkError{SdkInvalidArgument,
			fmt.Errorf("message %d: %s", i+1, fmt.Sprintf(format, args...))}
	}
	for i := range said {
		if said[i].Role != message.User {
			return wrong(i, "its role is %q; a run takes those of the user", said[i].Role)
		}
		if len(said[i].Calls) > 0 || said[i].Result != nil {
			return wrong(i, "it has calls or a result; those are not the user's")
		}
		if said[i].Text == "" {
			return wrong(i, "it says nothing")
		}
		if err := checkSize(&said[i], MaxMessage); err != nil {
			return wrong(i, "%v", err)
		}
	}
	return nil
}
