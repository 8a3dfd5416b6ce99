package agentloop

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// tree is a loop's place among agents, and its subagents.
type tree struct {
	family *family
	parent *Loop                  // nil: it is the top
	agent  string                 // its ID; "" at the top
	depth  int                    // 0 at the top
	offers func(tool string) bool // of the loop's own tools; nil: all

	spawn, status plugins.Tool
	table         subagents.Table
	inbox         subagents.Inbox // what happens to subagents
	questions     chan question   // of subagents in the foreground, for the run's goroutine

	mu   sync.Mutex
	open map[string]*child // subagents in the background that wait for a person's word, by their IDs
	run  context.Context   // of the run at work, whose person can be asked; nil: there is none
	asks sync.WaitGroup    // of background subagents, to that person
}

// family is what all agents of a tree have in common.
type family struct {
	run    string // the top agent's ID in the ledger
	gauge  subagents.Gauge
	asking chan struct{} // has room for one: calls are asked about one at a time

	mu      sync.Mutex
	granted map[grant]bool // by a person, for all runs
}

// upwards gives the loop and those above it.
func (l *Loop) upwards() iter.Seq[*Loop] {
	return func(yield func(*Loop) bool) {
		for a := l; a != nil && yield(a); a = a.tree.parent {
		}
	}
}

// join makes the loop the top of a tree, unless it has its place already.
func (l *Loop) join() {
	t := &l.tree
	if t.questions == nil {
		t.questions = make(chan question)
	}
	if t.family == nil {
		t.family = &family{asking: make(chan struct{}, 1)}
	}
	if t.parent == nil && t.family.run != l.ID {
		t.family.run = l.ID
	}
}

func (f *family) mayRun(g grant) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.granted[g]
}

func (f *family) grant(g grant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.granted == nil {
		f.granted = map[grant]bool{}
	}
	f.granted[g] = true
}

// narrowedBy is which of the loop's own tools a subagent has. The one that reads on is not among
// them: it only gives what the subagent has been given.
func (t *tree) narrowedBy(def *subagents.Definition) func(string) bool {
	if def.Tools == nil {
		return t.offers
	}
	return func(tool string) bool {
		return def.Offers(tool) && (t.offers == nil || t.offers(tool))
	}
}

// narrowed is some of an agent's tools.
type narrowed struct {
	Tools
	offers func(tool string) bool
}

func (n narrowed) Specs() iter.Seq[abi.ToolSpec] {
	return func(yield func(abi.ToolSpec) bool) {
		for spec := range n.Tools.Specs() {
			if n.offers(spec.Name) && !yield(spec) {
				return
			}
		}
	}
}

// Recall implements recaller.
func (n narrowed) Recall(ctx context.Context, at plugins.Place) (plugins.Result, error) {
	return recall(ctx, n.Tools, at)
}

func (n narrowed) Call(ctx context.Context, call plugins.Call) (plugins.Result, error) {
	if !n.offers(call.Tool) {
		return plugins.Result{}, &UnknownToolError{Tool: call.Tool}
	}
	return n.Tools.Call(ctx, call)
}

// callKey finds, in the context of a call of the loop's own tools, which call it is.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// atWork lets background subagents ask whoever answers for the loop, until the function that it
// gives is called. That one waits for questions that are open: ctx must be over by then.
func (t *tree) atWork(ctx context.Context) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = ctx
	return func() {
		t.mu.Lock()
		t.run = nil
		t.mu.Unlock()
		t.asks.Wait()
	}
}

// question is one of a subagent's, and where its answer goes.
type question struct {
	ctx   context.Context
	about Question
	reply chan reply // has room for it
}

type reply struct {
	Answer
	err error
}

// askInForeground is how a subagent in the foreground asks about calls: by the goroutine of its
// parent's run, which waits for it, and tells first what has happened until then.
func (l *Loop) askInForeground() func(context.Context, Question) (Answer, error) {
	if l.Approval.Ask == nil {
		return nil
	}
	return func(ctx context.Context, about Question) (Answer, error) {
		q := question{ctx, about, make(chan reply, 1)}
		select {
		case l.tree.questions <- q:
		case <-ctx.Done():
			return AnswerDeny, ctx.Err()
		}
		select {
		case r := <-q.reply:
			return r.Answer, r.err
		case <-ctx.Done():
			return AnswerDeny, ctx.Err()
		}
	}
}

// put asks what a subagent wants to know.
func (r *run) put(q question) {
	r.drain()
	answer, err := r.loop.Approval.Ask(q.ctx, q.about)
	q.reply <- reply{answer, err}
}

// errNobody is a question that nobody is there to answer any more.
var errNobody = errors.New("nobody is there to answer")

// askInBackground is how a background subagent asks about calls: not at all, or whoever answers for
// its parent, as long as a run of that is at work.
func (l *Loop) askInBackground() func(context.Context, Question) (Answer, error) {
	ask := l.Approval.Ask
	if ask == nil || l.Subagents.Background != subagents.Parent {
		return nil
	}
	t := &l.tree
	return func(ctx context.Context, q Question) (Answer, error) {
		t.mu.Lock()
		run := t.run
		if run == nil || run.Err() != nil {
			t.mu.Unlock()
			return AnswerDeny, errNobody
		}
		t.asks.Add(1)
		t.mu.Unlock()
		defer t.asks.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(run, cancel)()
		answer, err := ask(ctx, q)
		if err != nil && run.Err() != nil {
			return AnswerDeny, errNobody
		}
		return answer, err
	}
}
