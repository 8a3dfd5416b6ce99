package mcp

import (
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// Defaults of Limits.
const (
	DefaultTime   = 30 * time.Second // of a call
	DefaultStart  = 30 * time.Second // until the server is there and its tools are listed
	DefaultOutput = 16 << 20         // bytes of an answer
	DefaultCalls  = 16               // calls of one server that run at once
	DefaultTools  = abi.MaxTools     // tools of one server
)

// Limits that no option changes.
const (
	MaxNameBytes    = 256       // of a tool's name as its server has it
	MaxSchemas      = 1 << 20   // bytes of JSON Schema, all tools of a server together
	MaxPages        = 64        // that a list of tools may come in
	MaxListBytes    = 4 << 20   // of JSON that a list of tools may have, all pages together
	MaxBlocks       = 1024      // blocks of content in a result
	MaxFailureChars = 4096      // of what a server says about a failure; more is cut
	MaxOutput       = 512 << 20 // bytes that Limits.Output can be
	MaxAnswerBytes  = 64 << 10  // of an HTTP answer that is an error
	envelope        = 64 << 10  // bytes of a message around an answer
	maxDetails      = 16 << 10  // bytes of structured content that a failure carries
	maxWord         = 256       // characters of a code, a link or a block's name
	sniffed         = 1 << 10   // bytes kept of either end of a message that is too long
)

// Limits of what a server says beside its answers.
const (
	MaxProgressChars = 512  // of one message of progress
	MaxLineChars     = 2048 // of one line that it logs or prints to stderr
	LinesPerSecond   = 100  // of its log and of its stderr; more are dropped and counted
	NewsPerMinute    = 60   // lines about its tools, and newsBurst at once; more are counted
	newsBurst        = 100
	maxTold          = 1024    // things about its tools that are remembered as said
	maxNamed         = 10      // tools that one line names
	maxReason        = 256     // characters of a reason in the log
	MaxTail          = 4 << 10 // bytes of its stderr that an error about its end quotes
	MaxAsks          = 100     // requests in a session, which are all refused; more are not even that
	PingsPerSecond   = 1       // on average, and pingBurst at once; more are not answered
	pingBurst        = 10
)

// How long things take at most that nobody waits for gladly.
const (
	RestartWait  = 500 * time.Millisecond // before the second start in a row; then twice as long
	MaxStarts    = 5                      // in a row without a good answer; then GiveUpTime
	GiveUpTime   = time.Minute            // in which calls fail at once
	ChangeQuiet  = 200 * time.Millisecond // between a change of the tools and looking at them
	WriteTimeout = 10 * time.Second       // for a command to read from its stdin
	CloseGrace   = 2 * time.Second        // for a command after its stdin is closed, then SIGTERM
	cancelGrace  = 100 * time.Millisecond // for the news of cancelled calls to leave before a session
	quietGrace   = time.Second            // for an answer to the wish for a quieter log
	stuckGrace   = time.Second            // for a call to leave after its end, then the command is ended
	PingTime     = 5 * time.Second        // for a command to answer a ping after a call's time-out, or it is ended
)

// Limits bound what one server may use. Zero fields are the documented defaults.
type Limits struct {
	Time   time.Duration // of a call, a start that it has to wait for too; 0: DefaultTime
	Start  time.Duration // until the tools are listed; 0: DefaultStart
	Output int           // bytes of an answer; 0: DefaultOutput
	Calls  int           // that run at once, others wait; 0: DefaultCalls
	Tools  int           // more are withheld; 0: DefaultTools
}

func (l Limits) orDefaults() Limits {
	orDefault(&l.Time, DefaultTime)
	orDefault(&l.Start, DefaultStart)
	orDefault(&l.Output, DefaultOutput)
	orDefault(&l.Calls, DefaultCalls)
	orDefault(&l.Tools, DefaultTools)
	return l
}

func (l Limits) check() string {
	switch {
	case l.Time < 0 || l.Start < 0 || l.Output < 0 || l.Calls < 0 || l.Tools < 0:
		return "a limit is negative"
	case l.Output > MaxOutput:
		return "the limit of an answer is past 512 MiB"
	}
	return ""
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
