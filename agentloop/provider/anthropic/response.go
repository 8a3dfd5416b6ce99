package anthropic

import (
	"encoding/json"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// answer is a whole message, and the beginning of a streamed one.
type answer struct {
	Type       string
	Model      string
	Content    []json.RawMessage
	StopReason string `json:"stop_reason"`
	Usage      usage
	Error      json.RawMessage
}

// event is any event of a streamed message.
type event struct {
	Type    string
	Message *answer
	Index   int
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
	}
	Usage usage
	Error json.RawMessage
}

// kinds are those of the events that are read.
var kinds = map[string]bool{"error": true, "message_start": true, "content_block_start": true,
	"content_block_delta": true, "message_delta": true, "message_stop": true}

// usage counts what is new, read from a cache and written to one apart. In a stream the numbers
// come again, each time with all that was used so far.
type usage struct {
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
	Details struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// update takes the numbers that v has.
func (u *usage) update(v usage) {
	take(&u.Input, v.Input)
	take(&u.Output, v.Output)
	take(&u.Read, v.Read)
	take(&u.Written, v.Written)
	take(&u.Details.Thinking, v.Details.Thinking)
}

func take(to **int64, from *int64) {
	if from != nil {
		*to = from
	}
}

func (u *usage) normal() *message.Usage {
	if u.Input == nil && u.Output == nil {
		return nil
	}
	return &message.Usage{
		Input:     number(u.Input) + number(u.Read) + number(u.Written),
		Output:    number(u.Output),
		Cached:    number(u.Read),
		Reasoning: number(u.Details.Thinking),
	}
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// finish is why the model stopped.
func finish(reason string) message.Finish {
	switch reason {
	case "end_turn", "stop_sequence":
		return message.FinishStop
	case "tool_use":
		return message.FinishCalls
	case "max_tokens", "model_context_window_exceeded":
		return message.FinishLength
	case "refusal":
		return message.FinishRefusal
	case "pause_turn", "compaction":
		return message.FinishPause
	}
	return message.FinishOther
}

// statuses are the HTTP statuses of the kinds of errors, for those that come in a stream.
var statuses = map[string]int{
	"invalid_request_error": 400,
	"authentication_error":  401,
	"billing_error":         402,
	"permission_error":      403,
	"not_found_error":       404,
	"request_too_large":     413,
	"rate_limit_error":      429,
	"api_error":             500,
	"timeout_error":         504,
	"overloaded_error":      529,
}

func statusOf(failure json.RawMessage) int {
	var e struct{ Type string }
	_ = json.Unmarshal(failure, &e) // one that is no object has no type
	return statuses[e.Type]
}
