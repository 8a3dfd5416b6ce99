package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// chunk is a piece of a streamed answer, or a whole answer: they differ in one name.
type chunk struct {
	Model   string
	Choices []choice
	Usage   *usage
	Error   failure
}

type choice struct {
	Index          int
	Delta, Message part
	FinishReason   string `json:"finish_reason"`
	Error          failure
}

type part struct {
	Content          text
	Refusal          string
	Reasoning        text
	ReasoningContent text              `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Calls            []piece           `json:"tool_calls"`
}

// piece is a tool call or a part of one.
type piece struct {
	Index    *int
	ID       string
	Function struct {
		Name      string
		Arguments arguments
	}
	Extra json.RawMessage `json:"extra_content"`
}

// text is a string, nothing, or a list of parts of which those that are text count.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return json.Unmarshal(b, (*string)(t))
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type == "text" {
			*t += text(p.Text)
		}
	}
	return nil
}

// arguments are a string of JSON. There are servers that give the JSON itself.
type arguments string

func (a *arguments) UnmarshalJSON(b []byte) error {
	if b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(a))
}

// failure is an error inside a good answer.
type failure json.RawMessage

func (f *failure) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		*f = append((*f)[:0], b...)
	}
	return nil
}

// status is the HTTP status that the error names as its code, or 0.
func (f failure) status() int {
	var e struct{ Code json.RawMessage }
	_ = json.Unmarshal(f, &e) // one that is no object has no code
	n, err := strconv.Atoi(strings.Trim(string(e.Code), `"`))
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	CacheHit   int64 `json:"prompt_cache_hit_tokens"`
	In         struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) normal() *message.Usage {
	if u == nil {
		return nil
	}
	n := &message.Usage{Input: u.Prompt, Output: u.Completion,
		Cached: max(u.In.Cached, u.CacheHit), Reasoning: u.Out.Reasoning}
	// Some servers do not count reasoning as output, which only the total shows.
	if u.Out.Reasoning > 0 && u.Total == u.Prompt+u.Completion+u.Out.Reasoning {
		n.Output += u.Out.Reasoning
	}
	return n
}

// finish is why a model stopped. Not all servers tell calls from an end.
func finish(reason string, calls bool, refused bool) message.Finish {
	switch {
	case reason == "length":
		return message.FinishLength
	case reason == "content_filter", refused:
		return message.FinishRefusal
	case calls:
		return message.FinishCalls
	case reason == "stop", reason == "":
		return message.FinishStop
	}
	return message.FinishOther
}
