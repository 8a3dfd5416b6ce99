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
	MaxWaiting  = 256              // calls that wait for others to end; more are refused
	MaxWait     = 30 * time.Second // how long a call waits for others to end
	MaxMessage  = plugins.MaxInput + 64<<10
	MaxBlocks   = 256              // blocks of content in a result; the rest is left out
	HandleAge   = 30 * time.Minute // how long read_more can read on in an output
	SessionKeep = 8 << 20          // bytes of cut outputs that a session keeps

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

// Limits of HTTP.
const (
	MaxRequests       = 1024             // requests at once, open streams too
	MaxHeaderBytes    = 16 << 10         // of a request's headers
	ReadHeaderTimeout = 10 * time.Second // for a request's headers
	ReadBodyTimeout   = 30 * time.Second // for a request's body
	WriteTimeout      = 30 * time.Second // for one piece of an answer
	IdleTimeout       = 2 * time.Minute  // of a connection between requests
	SessionIdle       = 30 * time.Minute // of a session between requests
	ShutdownGrace     = 5 * time.Second  // for answers under way when the server ends
)
