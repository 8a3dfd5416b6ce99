package agentloop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// DefaultMaxTurns is how many round trips with the model a run may take.
const DefaultMaxTurns = 50

// Model gives the next message of a conversation. It may call the request's Delta, from Turn's own
// goroutine and until it returns.
type Model interface {
	Turn(ctx context.Context, req message.Request) (message.Message, error)
}

// Tools are what a model may call. A *plugins.Registry is one. For a background job Call should use
// the call's Started: until that is called the job counts as not begun, and the model waits. Tools
// in front of a registry should pass on its Recall, too, by which a conversation that goes on in
// another process finds out what became of its background jobs.
type Tools interface {
	Specs() iter.Seq[abi.ToolSpec]
	Call(ctx context.Context, call plugins.Call) (plugins.Result, error)
}

// Store is where a conversation is recorded as it grows. Each message is given once, in order,
// unless Append failed; then it is given again with the next ones.
type Store interface {
	Append(ctx context.Context, messages ...message.Message) error
}

// Hooks look at calls. An error of a hook ends the run, unless it is a *DeniedError.
type Hooks struct {
	// BeforeTool may change the arguments of a call, and nothing else of it. It runs before
	// permission is asked for. A *DeniedError denies the call, and the model is told why.
	BeforeTool func(ctx context.Context, call *message.Call) error

	// AfterTool may change a result's text before it is recorded and the model sees it. A long
	// output has been cut by then; what the model reads on of it comes as a result of its own. What a
	// background job gives comes twice: as the result of the call that the job is, not cut, and in
	// that of background_status, with what the tool has printed.
	AfterTool func(ctx context.Context, call message.Call, result *message.Result) error
}

// Loop is one conversation between a user, a model and tools. Its fields may be changed between
// runs, while no subagent works in the background. Nil and zero fields are the documented defaults.
type Loop struct {
	Model  Model  // required
	Tools  Tools  // nil: none
	System string // the system prompt; it replaces the one of a restored history

	// ID is the conversation's in the ledger of the tools, which then has every call of it, each at
	// its place. "": it has those with a key, each by itself.
	ID string

	MaxTurns     int    // round trips of one run; 0: DefaultMaxTurns
	ModelName    string // in errors, and on messages that do not name their model
	ContextLimit int    // tokens; what would not fit is not sent; 0: no guard
	Parallel     bool   // calls next to one another of tools that only read run side by side
	OutputCap    int    // bytes of an output that the model is shown; 0: excerpt.DefaultMax; -1: MaxOutput

	Reduction *Reduction // has the model shown less of a long history; nil: all of it

	Approval Approval
	Hooks    Hooks
	Budget   Budget
	Store    Store            // nil: the conversation is not recorded
	Now      func() time.Time // nil: time.Now

	// Jobs lets the model have tools called in the background. They go on between runs, until Close.
	// Set it before the first run; nil: there are none.
	Jobs *jobs.Options

	Subagents *Subagents // nil: there are none
	Steering  *Steering  // what the user says during the next run; nil: nothing

	running atomic.Bool
	closed  bool
	tree    tree
	outputs excerpt.Store     // what was cut, and read_more
	own     *plugins.Registry // the loop's own tools
	ownList []plugins.Tool    // the same
	handles bool              // earlier ones are in a restored history
	repeats plugins.Repeats

	background *background // jobs; nil until they are switched on
	lost       []lostJob   // of an earlier process; under mu

	reducing   bool       // a view that fits is being looked for
	reductions reduce.Log // of the history as the model is shown it; under mu
	forReduced []plugins.Tool

	mu      sync.Mutex
	history []message.Message
	stored  int // messages of the history that the store has
	calls   int // in the history: the position of the last one
	open    []openCall
	unheard []message.Message // said to a run that had to leave calls open
	spent   Spent
	ticking int // runs at work, of this loop and its subagents, the first one since then
	since   time.Time
}

// Run says input to the model, lets it and the tools take turns, and gives what happens as it
// happens. The last event is of the kind Ended, or there is an error, which comes last and with no
// event. However a run ends, every call in the history has its result, so that another can follow.
// (A loop with an ID makes an exception for a *plugins.ReconciliationError: the calls from that one
// on are still to be made, and the next Run begins with them.)
//
// Without input the conversation goes on where it stopped: after an error, a pause by the budget or
// the end of ctx. To break out of the iteration ends the run as the end of ctx does. A sequence is
// for one iteration; up to its last event any other Run gives ErrBusy. What events point to must
// not be changed.
func (l *Loop) Run(ctx context.Context, input ...message.Message) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		r := &run{loop: l, yield: yield}
		ended, err := r.hold(ctx, input)
		switch {
		case r.gone:
		case err != nil:
			yield(message.Event{}, err)
		default:
			yield(ended, nil)
		}
	}
}

// History gives the conversation so far, without the system prompt. It may be called at any time;
// while a run is at work the last calls may have no results yet.
func (l *Loop) History() []message.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.history)
}

// Spent tells what all runs together took, with those of subagents.
func (l *Loop) Spent() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	spent := l.spent
	if l.ticking > 0 {
		spent.Wall += l.elapsed()
	}
	return spent
}

// Restore makes an earlier conversation this loop's history. The store is taken to have it already.
// The error is an *SdkError when calls and results do not match.
//
// When the loop has an ID, the last calls of the last turn may be without results: their process
// ended before those were recorded. The next Run begins with these calls, each at its place, and
// the ledger says whether a tool runs for it or its recorded result counts.
func (l *Loop) Restore(history []message.Message) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer l.running.Store(false)
	var open []message.Call
	if l.ID != "" {
		open = unanswered(history)
	}
	if err := message.Check(slices.Concat(history, placeholders(open))); err != nil {
		return &SdkError{SdkInvalidArgument, fmt.Errorf("the history cannot be restored: %w", err)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = slices.Clone(history)
	l.stored, l.calls = len(history), 0
	l.handles, l.reductions = false, nil
	for i := range history {
		l.calls += len(history[i].Calls)
		if r := history[i].Result; r != nil && r.Handle != "" {
			l.handles = true
		}
	}
	l.open, l.unheard = nil, nil
	here := slices.Concat(l.tree.table.Running(), l.tree.waiting())
	l.lost = slices.DeleteFunc(leftJobs(history), func(j lostJob) bool {
		return l.background.has(j.id) || slices.Contains(here, j.id)
	})
	for i, c := range open {
		l.open = append(l.open, openCall{c, l.calls - len(open) + i + 1})
	}
	return nil
}

// add makes messages part of the history and of the store. They are in the history even when the
// store fails. What has happened is recorded also when ctx is over.
func (l *Loop) add(ctx context.Context, messages ...message.Message) error {
	l.mu.Lock()
	for _, m := range messages {
		if m.Time.IsZero() {
			m.Time = l.now().UTC()
		}
		l.history = append(l.history, m)
	}
	news := l.history[l.stored:]
	l.mu.Unlock()
	if l.Store == nil {
		return nil
	}
	if err := l.Store.Append(context.WithoutCancel(ctx), news...); err != nil {
		if Code(err) == "other" {
			err = &IOError{err}
		}
		return fmt.Errorf("the conversation is not recorded: %w", err)
	}
	l.mu.Lock()
	l.stored += len(news)
	l.mu.Unlock()
	return nil
}

// now keeps the monotonic reading, which UTC would drop: a budget of time does not follow a clock
// that is set.
func (l *Loop) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// configure checks the fields, and makes what follows from them.
func (l *Loop) configure() error {
	wrong := func(format string, args ...any) error {
		return &SdkError{SdkInvalidArgument, fmt.Errorf(format, args...)}
	}
	switch {
	case l.Model == nil:
		return wrong("the loop has no Model")
	case l.MaxTurns < 0:
		return wrong("MaxTurns is %d; want 0 for the default, or more", l.MaxTurns)
	case l.ContextLimit < 0:
		return wrong("ContextLimit is %d; want 0 for no guard, or more", l.ContextLimit)
	case l.OutputCap < -1:
		return wrong("OutputCap is %d; want -1 for no cap, 0 for the default, or more", l.OutputCap)
	}
	if l.Jobs != nil && (l.Jobs.MaxConcurrent < 0 || l.Jobs.MaxOutput < 0) {
		return wrong("Jobs has MaxConcurrent %d and MaxOutput %d; want 0 for the default, or more",
			l.Jobs.MaxConcurrent, l.Jobs.MaxOutput)
	}
	if err := errors.Join(l.Approval.check(), l.Budget.check(), l.Subagents.check()); err != nil {
		return wrong("%w", err)
	}
	if l.Tools != nil {
		for spec := range l.Tools.Specs() {
			if slices.Contains(ownNames, spec.Name) {
				return wrong("a tool has the name %s, which is one of the loop's own", spec.Name)
			}
		}
	}
	l.outputs.Max = l.outputMax()
	l.keepJobs()
	l.join()
	return nil
}
