// Package script is a provider without a model: it plays the steps of a file. It is for trying
// tools and for tests, where what a model would say must be the same each time. Its messages carry
// the model "script:FILE", so that whoever sees them knows that none has spoken.
//
// # The file
//
// A script is TOML. Each step answers one request, in their order:
//
//	[[step]]
//	user = {contains = "weather"}        # what must have been asked
//	say  = "Let me look."
//
//	[[step.call]]                        # one for each call of the turn
//	tool      = "weather"
//	arguments = '{"city": "Oslo"}'       # as a model would write them; they may be no JSON at all
//
//	[[step]]
//	result = [{tool = "weather", path = "/temperature", equals = 3}]
//	say    = "It is 3 degrees in Oslo."
//
// What a step expects: user matches the last text of the user; result is a list, of which the first
// matches the result of the first call of the turn before, and so on. A matcher has equals,
// contains or matches (a regular expression), or several of them; with path, a JSON pointer, they
// are about the value there. A matcher of a result may also have tool, outcome (ok, error,
// unknown), code and cause.
//
// A call that has recall = {id = "/id"} fills in a field of its arguments: with what is at that JSON
// pointer of the latest result that has something there.
//
// What a step does: say, think (reasoning), call; finish (stop, tool_calls, length, refusal,
// pause, other) where it is not what follows from the rest; usage = {input = 10, output = 5}. Or
// fail = 503 with body = "no", an error of the provider. Or hang = true, which waits until the run
// is cancelled.
//
// Anything that is not as the script has it is an [Error], which names the file and the step: a
// request after the last step, too.
package script

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// MaxFile is how many bytes a script may have.
const MaxFile = 1 << 20

// Model plays one script, once.
type Model struct {
	file  string
	steps []step

	mu   sync.Mutex
	next int // of steps
}

// Error is something that is not as the script has it, or a script that is none.
type Error struct {
	File   string
	Step   int // from 1; 0: the file
	Detail string
}

func (e *Error) Error() string {
	if e.Step == 0 {
		return fmt.Sprintf("script %s: %s", e.File, e.Detail)
	}
	return fmt.Sprintf("script %s, step %d: %s", e.File, e.Step, e.Detail)
}

// Open reads a script.
func Open(file string) (*Model, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Rest is how many steps have not been played.
func (m *Model) Rest() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps) - m.next
}

// Turn plays the next step.
func (m *Model) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	if ctx.Err() != nil {
		return message.Message{}, context.Cause(ctx)
	}
	n, s := m.take()
	if s == nil {
		return message.Message{}, &Error{m.file, n,
			fmt.Sprintf("there is none: the script ends after %d", len(m.steps))}
	}
	if detail := s.expect(req.Messages); detail != "" {
		return message.Message{}, &Error{m.file, n, detail}
	}
	switch {
	case s.Hang:
		<-ctx.Done()
		return message.Message{}, context.Cause(ctx)
	case s.Fail != 0:
		err := &provider.StatusError{Status: s.Fail, Body: s.Body}
		return message.Message{}, fmt.Errorf("script %s, step %d: %w", m.file, n, err)
	}
	reply, detail := s.message("script:"+m.file, n, req.Messages)
	if detail != "" {
		return message.Message{}, &Error{m.file, n, detail}
	}
	if req.Delta != nil {
		s.tell(req.Delta)
	}
	return reply, nil
}

// take is the next step, or nil where there is none, and its number.
func (m *Model) take() (int, *step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.steps) {
		return m.next + 1, nil
	}
	m.next++
	return m.next, &m.steps[m.next-1]
}

// tell gives what is said, a line at a time.
func (s *step) tell(delta func(message.Delta)) {
	for line := range strings.Lines(s.Think) {
		delta(message.Delta{Reasoning: line})
	}
	for line := range strings.Lines(s.Say) {
		delta(message.Delta{Text: line})
	}
}

// message is what the step says, or what it cannot be said for.
func (s *step) message(model string, n int, history []message.Message) (m message.Message,
	detail string) {
	m = message.Message{Role: message.Assistant, Text: s.Say, Model: model, Usage: s.Usage,
		Finish: s.Finish}
	if s.Think != "" {
		m.Reasoning = []message.Reasoning{{Text: s.Think}}
	}
	for i, c := range s.Calls {
		arguments, missing := c.recalled(history)
		if missing != "" {
			return message.Message{}, fmt.Sprintf("call %d recalls %q, and no result has it", i+1, missing)
		}
		m.Calls = append(m.Calls, message.Call{ID: newID(fmt.Sprintf("script_%d_%d", n, i+1), history),
			Name: c.Tool, Arguments: arguments})
	}
	if m.Finish == "" && len(m.Calls) > 0 {
		m.Finish = message.FinishCalls
	} else if m.Finish == "" {
		m.Finish = message.FinishStop
	}
	return m, ""
}

// newID is id, or id with a number where the history has a call of that id already: a script may go
// on with a conversation that began with it.
func newID(id string, history []message.Message) string {
	used := map[string]bool{}
	for i := range history {
		for _, c := range history[i].Calls {
			used[c.ID] = true
		}
	}
	unique := id
	for n := 2; used[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", id, n)
	}
	return unique
}
