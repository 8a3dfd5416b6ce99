package sdk

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// pending is a question that waits for its answer.
type pending struct{ answer chan agentloop.Answer } // with room for one

// ask is the loop's Approval.Ask: it has the question told, and waits for Respond.
func (l *Local) ask(ctx context.Context, q agentloop.Question) (agentloop.Answer, error) {
	done := make(chan struct{})
	asked, p := l.put(q, done)
	if p == nil {
		return agentloop.AnswerDeny, nil
	}
	answer, answered := agentloop.AnswerDeny, true
	select {
	case answer = <-p.answer:
	case <-ctx.Done():
		if answered = !l.withdraw(asked.ID); answered { // just then
			answer = <-p.answer
		}
	}
	close(done)
	defer context.AfterFunc(ctx, l.journal.wake)() // it may be another context than that of the run
	word := words[answer]
	if !answered {
		word = Withdrawn
	}
	l.journal.show(ctx, Event{Event: message.Event{Kind: Answered, Text: word}, Question: asked})
	if !answered {
		return agentloop.AnswerDeny, ctx.Err()
	}
	return answer, nil
}

// put has a question told, unless there will be nobody to answer it.
func (l *Local) put(q agentloop.Question, done <-chan struct{}) (*Question, *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return nil, nil
	}
	l.asked++
	asked := &Question{ID: fmt.Sprintf("q-%d", l.asked), Call: q.Call, Subject: q.Subject, Asked: q,
		Done: done}
	p := &pending{make(chan agentloop.Answer, 1)}
	l.pending[asked.ID] = p
	l.journal.tell(Event{Event: message.Event{Kind: Asked}, Question: asked})
	return asked, p
}

// withdraw takes a question back, unless it has been answered.
func (l *Local) withdraw(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waits := l.pending[id]
	delete(l.pending, id)
	return waits
}

// Respond implements Agent.
func (l *Local) Respond(question string, answer agentloop.Answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.started(); err != nil {
		return err
	}
	if _, ok := words[answer]; !ok {
		return refuse(agentloop.SdkInvalidArgument, "there is no answer %d", answer)
	}
	if !l.answer(question, answer) {
		return refuse(agentloop.SdkNotFound, "no question %q waits for an answer", question)
	}
	return nil
}

// answer answers a question that waits. Its caller holds the lock.
func (l *Local) answer(id string, a agentloop.Answer) bool {
	p, waits := l.pending[id]
	if waits {
		delete(l.pending, id)
		p.answer <- a
	}
	return waits
}
