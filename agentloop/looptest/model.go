package looptest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Turn is what a Model does with one request.
type Turn struct {
	Deltas  []message.Delta // said first
	Message message.Message
	Err     error           // in place of the message
	Wait    <-chan struct{} // before anything else: until it is closed or the request is over
}

// Say is a turn that answers.
func Say(text string) Turn {
	return Turn{Message: message.Message{Text: text, Finish: message.FinishStop}}
}

// Call is a turn that calls tools.
func Call(calls ...message.Call) Turn {
	return Turn{Message: message.Message{Calls: calls, Finish: message.FinishCalls}}
}

// Fail is a turn that ends in an error.
func Fail(err error) Turn { return Turn{Err: err} }

// Model plays turns, one for each request, and keeps the requests. It refuses what no provider
// takes: calls without results, and metadata. It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	turns    []Turn
	requests []message.Request
}

// NewModel makes a model of turns.
func NewModel(turns ...Turn) *Model { return &Model{turns: turns} }

// Add gives the model more turns.
func (m *Model) Add(turns ...Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turns...)
}

// Requests lists the requests that came, the oldest first.
func (m *Model) Requests() []message.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Turn plays the next turn.
func (m *Model) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	turn, err := m.next(req)
	if err != nil {
		return message.Message{}, err
	}
	if turn.Wait != nil {
		select {
		case <-turn.Wait:
		case <-ctx.Done():
			return message.Message{}, context.Cause(ctx)
		}
	}
	for _, d := range turn.Deltas {
		if req.Delta != nil {
			req.Delta(d)
		}
		if ctx.Err() != nil {
			return message.Message{}, context.Cause(ctx)
		}
	}
	if turn.Err != nil {
		return message.Message{}, turn.Err
	}
	turn.Message.Role = message.Assistant
	turn.Message.Calls = slices.Clone(turn.Message.Calls)
	return turn.Message, nil
}

func (m *Model) next(req message.Request) (Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if err := message.Check(req.Messages); err != nil {
		return Turn{}, fmt.Errorf("looptest: no provider takes this request: %w", err)
	}
	for i := range req.Messages {
		if req.Messages[i].Meta != nil {
			return Turn{}, fmt.Errorf("looptest: message %d has metadata", i+1)
		}
	}
	if len(m.turns) == 0 {
		return Turn{}, fmt.Errorf("looptest: request %d, and the script has ended", len(m.requests))
	}
	turn := m.turns[0]
	m.turns = m.turns[1:]
	return turn, nil
}
