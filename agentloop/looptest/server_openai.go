package looptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

type openAI struct{}

// object is one of JSON.
type object = map[string]any

var openAIFinish = map[message.Finish]string{
	message.FinishStop:    "stop",
	message.FinishCalls:   "tool_calls",
	message.FinishLength:  "length",
	message.FinishRefusal: "content_filter",
}

func (openAI) check(header http.Header, body []byte) (asked, error) {
	var req struct {
		asked
		Messages []struct {
			Role    string
			Content any
			Calls   []struct {
				ID       string
				Type     string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			CallID string `json:"tool_call_id"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name       string
				Parameters map[string]any
			}
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	if req.Model == "" || len(req.Messages) == 0 {
		return asked{}, errors.New("model and messages are required")
	}
	for _, t := range req.Tools {
		if t.Type != "function" || t.Function.Name == "" || t.Function.Parameters["type"] != "object" {
			return asked{}, errors.New("a tool is not a function that takes an object")
		}
	}
	var calls, results []string
	for i, m := range req.Messages {
		if m.Role == "tool" {
			results = append(results, m.CallID)
			continue
		}
		if err := checkCalls(calls, results); err != nil {
			return asked{}, err
		}
		calls, results = nil, nil
		switch {
		case m.Role != "system" && m.Role != "user" && m.Role != "assistant":
			return asked{}, fmt.Errorf("messages[%d]: the role %q", i, m.Role)
		case m.Content == nil && len(m.Calls) == 0:
			return asked{}, fmt.Errorf("messages[%d]: no content", i)
		}
		for _, c := range m.Calls {
			if c.Type != "function" || c.Function.Name == "" || !json.Valid([]byte(c.Function.Arguments)) {
				return asked{}, fmt.Errorf("messages[%d]: a call that is none", i)
			}
			calls = append(calls, c.ID)
		}
	}
	return req.asked, checkCalls(calls, results)
}

func (openAI) failure(status int, text string) any {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return object{"error": object{"message": text, "type": kind, "param": nil, "code": nil}}
}

func (answer *Answer) finish() message.Finish {
	if answer.Finish == "" && len(answer.Calls) > 0 {
		return message.FinishCalls
	}
	if answer.Finish == "" {
		return message.FinishStop
	}
	return answer.Finish
}

func (openAI) usage(u message.Usage) object {
	return object{"prompt_tokens": u.Input, "completion_tokens": u.Output,
		"total_tokens":              u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}
}

func (openAI) chunk(req asked, kind string, choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": req.Model,
		"choices": choices}
}

func (o openAI) whole(req asked, answer *Answer) any {
	said := object{"role": "assistant", "content": nil, "refusal": nil}
	if answer.Text != "" || len(answer.Calls) == 0 {
		said["content"] = answer.Text
	}
	if answer.Reasoning != "" {
		said["reasoning_content"] = answer.Reasoning
	}
	var calls []object
	for _, c := range answer.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		said["tool_calls"] = calls
	}
	whole := o.chunk(req, "chat.completion", object{"index": 0, "message": said, "logprobs": nil,
		"finish_reason": openAIFinish[answer.finish()]})
	whole["usage"] = o.usage(answer.Usage)
	return whole
}

func (o openAI) events(req asked, answer *Answer) []event {
	var list []event
	add := func(delta object, finish any) {
		list = append(list, event{"", o.chunk(req, "chat.completion.chunk",
			object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish})})
	}
	add(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(answer.Reasoning) {
		add(object{"reasoning_content": piece}, nil)
	}
	for _, piece := range pieces(answer.Text) {
		add(object{"content": piece}, nil)
	}
	for i, c := range answer.Calls {
		add(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(c.Arguments) {
			add(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	if answer.Break != "" {
		return append(list, event{"", o.failure(http.StatusInternalServerError, answer.Break)})
	}
	add(object{}, openAIFinish[answer.finish()])
	if req.Options.Usage {
		last := o.chunk(req, "chat.completion.chunk")
		last["usage"] = o.usage(answer.Usage)
		list = append(list, event{"", last})
	}
	return append(list, event{"", "[DONE]"})
}
