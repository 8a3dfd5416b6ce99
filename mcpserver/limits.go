package mcpserver

import (
	"time"

	"github.com/wasmagent/wasmagent/plugins"
)

// Defaults of Options.
const (
	DefaultDirectTools  = 40  // tools that are shown one by one; of more, clients search
	DefaultCalls        = 64  // calls that run at once
	DefaultSessionCalls = 16  // calls of one session that run at once
	DefaultSessions     = 256 // HTTP sessions
)

// Limits that no option changes.
const (
	MaxWaiting        = 256              // calls that wait for others to end; more are refused
	MaxSessionWaiting = 64               // of one session
	MaxSharedWaiting  = 192              // of one token's clients without sessions, all together
	MaxWait           = 30 * time.Second // how long a call waits for others to end

	// Asks are what the server answers itself: lists of tools, and calls of its own tools. They
	// never wait for calls of other tools.
	MaxAsks        = 16 // at once
	MaxSessionAsks = 4  // of one session
	MaxSharedAsks  = 12 // of one token's clients without sessions, all together

	FinishTime = 30 * time.Second // for calls under way when a client over stdio has closed its end

	MaxMessage  = plugins.MaxInput + 64<<10
	MaxBlocks   = 256              // blocks of content in a result; the rest is left out
	HandleAge   = 30 * time.Minute // how long read_more can read on in an output
	SessionKeep = 8 << 20          // bytes of cut outputs that a session keeps

	MaxGiven = 4096 // tools of earlier lists whose schemas are kept for a client; of more, none

	MaxSearchHits = 50 // tools that one search gives
	MaxQuery      = 512
	searchHits    = 8 // when the client does not say how many

	MaxProgressChars = 512  // of one message of progress
	MaxLogChars      = 2048 // of one line that a tool logs
	maxPendingLogs   = 64   // lines that wait to be sent; more are dropped
)

// How often the client hears of a call's progress at most, and how long the list of tools has to be
// still before clients are told that it changed, unless it never is.
const (
	ProgressEvery = 50 * time.Millisecond
	ChangeQuiet   = 100 * time.Millisecond
	ChangeDelay   = time.Second
)

// ListSettle is how long clients without sessions have to list the tools anew when one of them has
// seen that a tool's output schema changed. Until then none of them gets structured content of that
// tool: the server cannot tell who knows which schema.
const ListSettle = 10 * time.Second

// How many refused requests are logged one by one, of each reason, and how soon the others are
// counted in one line. Of what a stranger sent so many bytes are logged.
const (
	RefusalLines  = 10
	RefusalPeriod = time.Minute
	MaxLogged     = 128
)

// Limits of HTTP.
const (
	MaxRequests       = 1024             // requests at once, open streams too; over stdio also
	MaxListens        = 256              // open streams of one token's clients without sessions
	MaxHeaderBytes    = 16 << 10         // of a request's headers
	ReadHeaderTimeout = 10 * time.Second // for a request's headers
	ReadBodyTimeout   = 30 * time.Second // for a request's body
	WriteTimeout      = 30 * time.Second // for one piece of an answer
	IdleTimeout       = 2 * time.Minute  // of a connection between requests
	SessionIdle       = 30 * time.Minute // of a session between requests
	ShutdownGrace     = 5 * time.Second  // for answers under way when the server ends
)
