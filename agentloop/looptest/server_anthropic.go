package looptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

type anthropic struct{}

var anthropicFinish = map[message.Finish]string{
	message.FinishStop:    "end_turn",
	message.FinishCalls:   "tool_use",
	message.FinishLength:  "max_tokens",
	message.FinishRefusal: "refusal",
	message.FinishPause:   "pause_turn",
}

// content is a list of blocks, or a text.
type content []struct {
	Type, ID, Name, Text string
	Signature            string
	Input                map[string]any
	CallID               string `json:"tool_use_id"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*c = nil
		return nil
	}
	type plain content
	return json.Unmarshal(b, (*plain)(c))
}

func (anthropic) check(header http.Header, body []byte) (asked, error) {
	var req struct {
		asked
		MaxTokens int `json:"max_tokens"`
		Messages  []struct {
			Role    string
			Content content
		}
		Tools []struct {
			Name   string
			Schema map[string]any `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	switch {
	case header.Get("Anthropic-Version") == "":
		return asked{}, errors.New("the header anthropic-version is required")
	case req.Model == "" || len(req.Messages) == 0 || req.MaxTokens <= 0:
		return asked{}, errors.New("model, messages and max_tokens are required")
	}
	for _, t := range req.Tools {
		if t.Name == "" || t.Schema["type"] != "object" {
			return asked{}, errors.New("a tool has no name, or takes no object")
		}
	}
	var calls []string
	for i, m := range req.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return asked{}, fmt.Errorf("messages.%d: the role %q, not %q", i, m.Role, want)
		}
		var next, results []string
		for _, block := range m.Content {
			switch {
			case block.Type == "tool_use" && block.Input == nil:
				return asked{}, fmt.Errorf("messages.%d: a tool_use whose input is no object", i)
			case block.Type == "text" && block.Text == "":
				return asked{}, fmt.Errorf("messages.%d: an empty text", i)
			case block.Type == "thinking" && block.Signature == "":
				return asked{}, fmt.Errorf("messages.%d: thinking without its signature", i)
			case block.Type == "tool_use":
				next = append(next, block.ID)
			case block.Type == "tool_result":
				results = append(results, block.CallID)
			}
		}
		if err := checkCalls(calls, results); err != nil {
			return asked{}, fmt.Errorf("messages.%d: %w", i, err)
		}
		calls = next
	}
	return req.asked, checkCalls(calls, nil)
}

var anthropicFailures = map[int]string{400: "invalid_request_error", 401: "authentication_error",
	403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
	529: "overloaded_error"}

func (anthropic) failure(status int, text string) any {
	kind := anthropicFailures[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": text}}
}

// signature is that of all thinking.
const signature = "c2lnbmF0dXJl"

func (anthropic) blocks(answer *Answer) []object {
	blocks := []object{}
	if answer.Reasoning != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": answer.Reasoning,
			"signature": signature})
	}
	if answer.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": answer.Text})
	}
	for _, c := range answer.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name,
			"input": c.Arguments})
	}
	return blocks
}

func (anthropic) message(req asked, u message.Usage) object {
	return object{"id": fmt.Sprintf("msg_%d", req.n), "type": "message", "role": "assistant",
		"model": req.Model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": u.Input - u.Cached, "cache_read_input_tokens": u.Cached,
			"cache_creation_input_tokens": 0, "output_tokens": 1}}
}

func (anthropic) output(u message.Usage) object {
	return object{"output_tokens": u.Output,
		"output_tokens_details": object{"thinking_tokens": u.Reasoning}}
}

func (a anthropic) whole(req asked, answer *Answer) any {
	whole := a.message(req, answer.Usage)
	blocks := a.blocks(answer)
	for _, block := range blocks {
		if arguments, ok := block["input"].(string); ok && json.Valid([]byte(arguments)) {
			block["input"] = json.RawMessage(arguments)
		} else if ok {
			block["input"] = object{} // only a stream can have half of a call
		}
	}
	whole["content"] = blocks
	whole["stop_reason"] = anthropicFinish[answer.finish()]
	maps.Copy(whole["usage"].(object), a.output(answer.Usage))
	return whole
}

func (a anthropic) events(req asked, answer *Answer) []event {
	var list []event
	add := func(kind string, fields object) {
		fields["type"] = kind
		list = append(list, event{kind, fields})
	}
	add("message_start", object{"message": a.message(req, answer.Usage)})
	add("ping", object{})
	for i, block := range a.blocks(answer) {
		delta := func(fields object) {
			add("content_block_delta", object{"index": i, "delta": fields})
		}
		start, grow := a.streamed(block)
		add("content_block_start", object{"index": i, "content_block": start})
		for _, piece := range grow {
			delta(piece)
		}
		add("content_block_stop", object{"index": i})
	}
	if answer.Break != "" {
		failure := a.failure(http.StatusInternalServerError, answer.Break)
		return append(list, event{"error", failure})
	}
	add("message_delta", object{
		"delta": object{"stop_reason": anthropicFinish[answer.finish()], "stop_sequence": nil},
		"usage": a.output(answer.Usage)})
	add("message_stop", object{})
	return list
}

// streamed is how a block begins in a stream, and the pieces that follow.
func (anthropic) streamed(block object) (object, []object) {
	var grow []object
	switch block["type"] {
	case "thinking":
		for _, piece := range pieces(block["thinking"].(string)) {
			grow = append(grow, object{"type": "thinking_delta", "thinking": piece})
		}
		grow = append(grow, object{"type": "signature_delta", "signature": block["signature"]})
		return object{"type": "thinking", "thinking": "", "signature": ""}, grow
	case "text":
		for _, piece := range pieces(block["text"].(string)) {
			grow = append(grow, object{"type": "text_delta", "text": piece})
		}
		return object{"type": "text", "text": ""}, grow
	}
	for _, piece := range pieces(block["input"].(string)) {
		grow = append(grow, object{"type": "input_json_delta", "partial_json": piece})
	}
	return object{"type": "tool_use", "id": block["id"], "name": block["name"],
		"input": object{}}, grow
}
