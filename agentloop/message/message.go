package message

import (
	"encoding/json"
	"time"
)

// Role says who speaks.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one turn of one speaker. Which fields may be set depends on its role.
type Message struct {
	Role      Role        `json:"role"`
	Text      string      `json:"text,omitempty"`      // not of the role tool: see Result
	Reasoning []Reasoning `json:"reasoning,omitempty"` // the assistant's, never shown as its answer
	Calls     []Call      `json:"calls,omitempty"`     // the assistant's
	Result    *Result     `json:"result,omitempty"`    // of the role tool, and only there
	Finish    Finish      `json:"finish,omitempty"`    // why the assistant stopped
	Usage     *Usage      `json:"usage,omitempty"`     // of the request that gave this message
	Model     string      `json:"model,omitempty"`     // that gave this message
	Time      time.Time   `json:"time,omitzero"`

	// Meta is for whoever keeps the message. It is never sent to a provider.
	Meta map[string]json.RawMessage `json:"meta,omitempty"`
}

// Reasoning is a part of what a model thought before it spoke. Opaque is what its provider wants to
// have back as it was, such as a signature; another provider is not sent it.
type Reasoning struct {
	Text     string          `json:"text,omitempty"`
	Provider string          `json:"provider,omitempty"` // whose Opaque it is: openai, anthropic
	Opaque   json.RawMessage `json:"opaque,omitempty"`
}

// Call is a model's wish to call a tool.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote them; they may be no JSON at all
}

// Result is what became of a call.
type Result struct {
	CallID  string  `json:"call_id"`
	Name    string  `json:"name,omitempty"` // of the tool
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text"`

	// Code and Cause name an error for programs: agentloop.Code and plugins.CauseOf.
	Code  string `json:"code,omitempty"`
	Cause string `json:"cause,omitempty"`

	// Handle names the full text where Text was cut; Bytes is how long that is.
	Handle string `json:"handle,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
}

// Interrupted is the result of a call that has none, and of which nothing more is known.
func Interrupted(c Call, at time.Time) Message {
	return Message{Role: Tool, Time: at, Result: &Result{CallID: c.ID, Name: c.Name, Outcome: Unknown,
		Text: "The call was interrupted: the tool may or may not have run."}}
}

// Outcome says how a call ended.
type Outcome string

const (
	OK      Outcome = "ok"
	Error   Outcome = "error"
	Unknown Outcome = "unknown" // interrupted: the tool may or may not have run
)

// Finish is why a model stopped, in words that are the same for every provider.
type Finish string

const (
	FinishStop    Finish = "stop"       // it has said what it wanted
	FinishCalls   Finish = "tool_calls" // it waits for the results of its calls
	FinishLength  Finish = "length"     // it may not write more
	FinishRefusal Finish = "refusal"    // it, or a filter, will not say more
	FinishPause   Finish = "pause"      // it wants to be sent what it has said, and goes on
	FinishOther   Finish = "other"      // a reason that is none of these
)

// Usage is what requests took, in tokens.
type Usage struct {
	Input     int64 `json:"input"`               // with those that a cache had
	Output    int64 `json:"output"`              // with those for reasoning
	Cached    int64 `json:"cached,omitempty"`    // of the input
	Reasoning int64 `json:"reasoning,omitempty"` // of the output
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.Reasoning += v.Reasoning
}

// Spec offers a tool to a model.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of an object
}

// Request asks a model for its next message.
type Request struct {
	Messages []Message // with the system prompt, if there is one, first
	Tools    []Spec    // sorted by name

	// Delta is given what the model says as it says it. Nil: not wanted.
	Delta func(Delta)
}

// Delta is a piece of a message that is still being written.
type Delta struct {
	Text      string
	Reasoning string
}
