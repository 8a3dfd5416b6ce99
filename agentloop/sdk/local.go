package sdk

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/google/uuid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// DefaultKeep is how many events an agent keeps for listeners that come late.
const DefaultKeep = 4096

// Options of New. Nil and zero fields are the documented defaults.
type Options struct {
	// Ask has calls that need somebody's approval asked about, as events; see Respond. Else it is
	// the loop's Approval.Ask that decides, and without one they are denied.
	Ask bool

	// Lockstep has a run wait with each of its events until it has been heard, by all who listen
	// and by one at least: nothing is missed, and nothing else happens before. It is for whoever
	// shows events to a person as they happen. Else a run waits for nobody.
	Lockstep bool

	Keep      int                 // events that are kept; 0: DefaultKeep
	Exporters map[string]Exporter // by the name of the format, beside Native
}

// Conversation says which conversation an agent needs a loop for. The loop of a Session must have a
// Store, as Record gives it one: else what was to be recorded would be lost without a word.
type Conversation struct {
	Session string // to begin, or to go on with; "": it is not recorded
	Resume  bool   // the session is there already
}

// Opened is a conversation's loop and what belongs to it.
type Opened struct {
	Loop     *agentloop.Loop // its ID, if it has one, is the conversation's
	Warnings []string        // told as events
	Close    func() error    // called when the agent is closed, after Loop.Close; nil: there is nothing to close
}

// Local is the Agent whose loop runs in this process. A panic of a model or a hook ends its run,
// with a *plugins.PanicError behind the error of the name execution.
type Local struct {
	open    func(context.Context, Conversation) (*Opened, error)
	opts    Options
	journal *journal

	mu      sync.Mutex
	opened  *Opened // nil until there is a conversation
	id      string
	opening context.CancelCauseFunc // of Start or Resume; nil if none is at work
	run     *run                    // nil when none is at work
	asked   int                     // questions so far
	pending map[string]*pending

	ending bool // Close has been called

	work   sync.WaitGroup // the run, or what opens the conversation
	once   sync.Once
	failed error // of Close
}

var _ Agent = (*Local)(nil)

// New makes an agent. Open gives it the loop of a conversation when one begins: one that was
// recorded in the past with its history; see Record. From then on the loop is the agent's.
func New(open func(context.Context, Conversation) (*Opened, error), opts *Options) *Local {
	l := &Local{open: open, pending: map[string]*pending{}}
	if opts != nil {
		l.opts = *opts
	}
	keep := l.opts.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	l.journal = newJournal(keep, l.opts.Lockstep)
	return l
}

// Start implements Agent.
func (l *Local) Start(ctx context.Context, opts *StartOptions) (string, error) {
	var o StartOptions
	if opts != nil {
		o = *opts
	}
	return l.begin(ctx, Conversation{Session: o.Session}, o.System)
}

// Resume implements Agent.
func (l *Local) Resume(ctx context.Context, session string) (string, error) {
	if session == "" {
		return "", l.orClosed(refuse(agentloop.SdkInvalidArgument, "which session? it has no name"))
	}
	return l.begin(ctx, Conversation{Session: session, Resume: true}, "")
}

// begin opens the conversation, once.
func (l *Local) begin(ctx context.Context, c Conversation, system string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := l.reserve(cancel); err != nil {
		return "", err
	}
	defer l.release() // also when open panics
	o, err := l.open(ctx, c)
	if err != nil {
		return "", l.orClosed(namedOpening(err))
	}
	if c.Session != "" && o.Loop.Store == nil {
		return "", o.undo(refuse(agentloop.SdkUnsupportedAction, "the session %q was asked for, and "+
			"the loop that was opened has no Store: this agent records nothing", c.Session))
	}
	if system != "" {
		o.Loop.System = system
	}
	if err := l.adopt(o); err != nil {
		return "", o.undo(err)
	}
	return l.id, nil
}

// reserve keeps everybody else from opening a conversation.
func (l *Local) reserve(cancel context.CancelCauseFunc) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ending:
		return errClosed
	case l.opened != nil:
		return refuse(agentloop.SdkBusy, "the agent has its conversation, %s", l.id)
	case l.opening != nil:
		return refuse(agentloop.SdkBusy, "a conversation is being opened")
	}
	l.opening = cancel
	l.work.Add(1)
	return nil
}

func (l *Local) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = nil
	l.work.Done()
}

// adopt makes a loop that can run the agent's own.
func (l *Local) adopt(o *Opened) error {
	if l.opts.Ask {
		o.Loop.Approval.Ask = l.ask
	}
	if err := o.Loop.Check(); err != nil {
		return err
	}
	id := o.Loop.ID
	if id == "" { // as that of a session
		made, err := uuid.NewV7()
		if err != nil {
			return err
		}
		id = made.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return errClosed
	}
	l.opened, l.id = o, id
	for _, w := range o.Warnings {
		l.journal.tell(Event{Event: message.Event{Kind: message.Warning, Text: w}})
	}
	return nil
}

// undo closes what cannot be used.
func (o *Opened) undo(err error) error {
	own := named(err)
	if e := o.close(); e != nil {
		return &agentloop.SdkError{Name: own.Name, Err: errors.Join(own.Err, e)}
	}
	return own
}

func (o *Opened) close() error {
	err := o.Loop.Close() // what runs have left at work
	if o.Close != nil {
		err = errors.Join(err, o.Close())
	}
	return err
}

// orClosed is err, unless the agent is closed.
func (l *Local) orClosed(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return errClosed
	}
	return err
}

// started tells whether there is a conversation. Its caller holds the lock.
func (l *Local) started() error {
	switch {
	case l.ending:
		return errClosed
	case l.opened == nil:
		return refuse(agentloop.SdkNotFound, "there is no conversation yet: start or resume one")
	}
	return nil
}

// Events implements Agent.
func (l *Local) Events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return l.journal.events(ctx, after)
}

// Close implements Agent.
func (l *Local) Close() error {
	l.once.Do(l.close)
	return l.failed
}

func (l *Local) close() {
	l.mu.Lock()
	l.ending = true
	if l.run != nil { // first: with its question denied it must not go on
		l.run.cancel(stop("the agent is being closed"))
	}
	for id := range l.pending {
		l.answer(id, agentloop.AnswerDeny)
	}
	if l.opening != nil {
		l.opening(errClosed)
	}
	l.mu.Unlock()
	l.journal.free()
	l.work.Wait()
	if l.opened != nil {
		if err := l.opened.close(); err != nil {
			l.failed = named(err)
		}
		for _, ev := range l.opened.Loop.Untold() {
			l.journal.tell(Event{Event: ev})
		}
	}
	l.journal.close()
}
