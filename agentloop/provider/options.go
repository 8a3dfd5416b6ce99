package provider

import (
	"log/slog"
	"net/http"
	"time"
)

// How often and how long a request is tried again.
const (
	Retries     = 3
	FirstWait   = 2 * time.Second  // doubles each time, with jitter
	MaxWait     = 60 * time.Second // also of what a provider asks for
	DefaultIdle = 5 * time.Minute
)

// Limits of what a provider may answer.
const (
	MaxAnswer = 64 << 20 // bytes of one answer, streamed or not
	MaxEvent  = 16 << 20 // bytes of one event of a streamed answer, and of one of its lines
	MaxCalls  = 128      // tool calls of one answer
	MaxParts  = 4096     // parts of any kind in one answer
)

// Options of a provider that is reached by HTTP. Nil ones mean the zero value, and each field's
// zero means the default it names.
type Options struct {
	BaseURL string // http or https; default: the vendor's own. A query stays, user names are refused.

	// APIKey is sent with each request; default: what the environment variable KeyVariable holds.
	// KeyVariable is by default the vendor's own (such as OPENAI_API_KEY) for the vendor's own
	// BaseURL. For another BaseURL it has no default, so that no server gets a key that is not
	// meant for it; where both are empty, no key is sent.
	APIKey, KeyVariable string

	MaxTokens int               // of one answer; default: the server's, for Anthropic 16,384
	Headers   map[string]string // more headers of each request; they replace those of the wire
	Extra     map[string]any    // more fields of each request's body, such as temperature

	Client    *http.Client  // default: one with net/http's transport. Redirects are never followed.
	Idle      time.Duration // how long nothing may come; default: 5 minutes
	NoStream  bool          // ask for each answer in one piece
	PlainHTTP bool          // send a key also over plain HTTP to another machine
	Logger    *slog.Logger  // is told what is tried again; default: nobody is
}
