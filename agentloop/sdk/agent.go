package sdk

import (
	"context"
	"io"
	"iter"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Agent is an agent in one conversation, as whoever drives it sees it: a window, a server, a
// command line. All of it may be called at any time and from anywhere; what does not fit the moment
// is refused. An error of it is an *agentloop.SdkError with a stable name, but for that of a
// context. Before there is a conversation the name is not_found, and after Close it is closed,
// except where it says otherwise.
type Agent interface {
	// Start begins a conversation and gives its ID. Resume goes on with a session. An agent that
	// has its conversation is busy, and one for which either has failed is as it was before.
	Start(ctx context.Context, opts *StartOptions) (id string, err error)
	Resume(ctx context.Context, session string) (id string, err error)

	// Input says something and has the model and its tools take turns. It does not wait for them:
	// what happens, and how it ends, is told by Events. Without messages the conversation goes on
	// where it stopped. The run ends early when ctx does. While one is at work, the agent is busy.
	Input(ctx context.Context, said ...message.Message) error

	// Events gives what happened after the event with the number after (0: from the beginning),
	// then what happens. It ends with an error: closed when the agent is, after the last event, or
	// that of ctx. There may be any number of listeners, and each hears all; one that is so late
	// that events are no longer kept hears how many it has Missed. Listening may begin before a
	// conversation does. What events point to must not be changed.
	Events(ctx context.Context, after int64) iter.Seq2[Event, error]

	// Interrupt ends the run that is at work, in order, for a reason (nil: an interrupt), and
	// withdraws its question. It does not wait. The run fails with the Code cancelled; the reason is
	// in its text, and errors.Is finds it. Without a run the error is not_found.
	Interrupt(reason error) error

	// Steer says something to the run that is at work: see agentloop.Steering. Without a run the
	// error is not_found.
	Steer(said ...message.Message) error

	// Respond answers a question by its ID. One that is not there, or has been answered, is
	// not_found.
	Respond(question string, answer agentloop.Answer) error

	// Export writes the conversation so far in a format; "" is Native. One that nobody writes is an
	// unsupported_action.
	Export(w io.Writer, format string) error

	// Close ends the conversation: open questions are denied, the run is ended in order, and all is
	// waited for and told. It may be called twice, but not from within the run, such as by a tool.
	Close() error
}

// StartOptions are how a conversation begins. Nil and zero fields are the documented defaults.
type StartOptions struct {
	Session string // the name to record it under; "": it is not recorded
	System  string // the system prompt; "": the agent's own
}

// Event is what happened in a conversation: an event of its runs, or one of the kinds below.
type Event struct {
	message.Event
	Seq int64 `json:"seq"` // the first is 1, and each next one more; that of Missed is the last missed

	Question *Question `json:"question,omitempty"` // of Asked and Answered

	// Of Failed. Code is agentloop.Code of what Err has behind it, and the event's text is Err's.
	Name string              `json:"name,omitempty"`
	Code string              `json:"code,omitempty"`
	Err  *agentloop.SdkError `json:"-"`
}

// Kinds of events beside those of package message. Of these, message.Said is told of all that the
// user says.
const (
	Asked    message.EventKind = "asked"    // somebody must Respond
	Answered message.EventKind = "answered" // or withdrawn: the text is one of the words below
	Failed   message.EventKind = "failed"   // the last event of a run that ended in an error
	Missed   message.EventKind = "missed"   // events that this listener came too late for
)

// Question is a call that somebody must decide on.
type Question struct {
	ID      string       `json:"id"`
	Call    message.Call `json:"call"`    // with the arguments that it would run with
	Subject string       `json:"subject"` // what AnswerAllowSession is about, beside the tool

	// Asked is the same, with all that is known of the tool. Done is closed when no answer is
	// wanted any more.
	Asked agentloop.Question `json:"-"`
	Done  <-chan struct{}    `json:"-"`
}

// What became of a question.
const (
	Withdrawn    = "withdrawn" // its run has ended
	Denied       = "deny"
	Allowed      = "allow"
	AllowSession = "allow_session"
)

var words = map[agentloop.Answer]string{
	agentloop.AnswerDeny:         Denied,
	agentloop.AnswerAllow:        Allowed,
	agentloop.AnswerAllowSession: AllowSession,
}
