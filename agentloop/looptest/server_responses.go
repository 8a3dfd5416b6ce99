package looptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// responses is OpenAI's newer API. It keeps nothing: a request has the whole conversation.
type responses struct{ openAI }

func (responses) check(_ http.Header, body []byte) (asked, error) {
	var req struct {
		asked
		Input []struct {
			Type, Role, Name, Arguments string
			Content                     any
			CallID                      string `json:"call_id"`
		}
		Previous string `json:"previous_response_id"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return asked{}, err
	}
	if req.Model == "" || len(req.Input) == 0 || req.Previous != "" {
		return asked{}, errors.New("model and the whole input are required")
	}
	var calls, results []string
	for i, item := range req.Input {
		switch item.Type {
		case "message", "":
			if item.Role == "" || item.Content == nil {
				return asked{}, fmt.Errorf("input[%d]: a message without a role or content", i)
			}
		case "function_call":
			if item.Name == "" || !json.Valid([]byte(item.Arguments)) {
				return asked{}, fmt.Errorf("input[%d]: a call that is none", i)
			}
			calls = append(calls, item.CallID)
		case "function_call_output":
			results = append(results, item.CallID)
		}
	}
	return req.asked, checkCalls(calls, results)
}

// items are what an answer says, each as it is when it is complete.
func (responses) items(req asked, answer *Answer) []object {
	items := []object{}
	if answer.Reasoning != "" {
		items = append(items, object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", req.n),
			"summary":           []object{{"type": "summary_text", "text": answer.Reasoning}},
			"encrypted_content": signature})
	}
	if answer.Text != "" || len(answer.Calls) == 0 {
		items = append(items, object{"type": "message", "id": fmt.Sprintf("msg_%d", req.n),
			"role": "assistant", "status": "completed", "content": []object{
				{"type": "output_text", "text": answer.Text, "annotations": []object{}}}})
	}
	for _, c := range answer.Calls {
		items = append(items, object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID,
			"name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	return items
}

func (responses) response(req asked, status string, output []object) object {
	return object{"id": fmt.Sprintf("resp_%d", req.n), "object": "response",
		"created_at": 1700000000, "model": req.Model,
		"status": status, "output": output, "error": nil, "incomplete_details": nil}
}

func (responses) usage(u message.Usage) object {
	return object{"input_tokens": u.Input, "output_tokens": u.Output,
		"total_tokens":          u.Input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.Cached},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning}}
}

func (r responses) whole(req asked, answer *Answer) any {
	whole := r.response(req, "completed", r.items(req, answer))
	if answer.finish() == message.FinishLength {
		whole["status"] = "incomplete"
		whole["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	whole["usage"] = r.usage(answer.Usage)
	return whole
}

func (r responses) events(req asked, answer *Answer) []event {
	var list []event
	add := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, len(list)
		list = append(list, event{kind, fields})
	}
	add("response.created", object{"response": r.response(req, "in_progress", []object{})})
	for i, item := range r.items(req, answer) {
		add("response.output_item.added", object{"output_index": i, "item": r.begun(item)})
		for _, piece := range r.grow(item) {
			piece["output_index"], piece["item_id"] = i, item["id"]
			add(piece["type"].(string), piece)
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	if answer.Break != "" {
		failed := r.response(req, "failed", []object{})
		failed["error"] = object{"code": "server_error", "message": answer.Break}
		add("response.failed", object{"response": failed})
		return list
	}
	whole := r.whole(req, answer).(object)
	add("response."+whole["status"].(string), object{"response": whole})
	return list
}

// begun is how an item begins in a stream.
func (responses) begun(item object) object {
	begun := object{"type": item["type"], "id": item["id"]}
	switch item["type"] {
	case "reasoning":
		begun["summary"] = []object{}
	case "message":
		begun["role"], begun["status"], begun["content"] = "assistant", "in_progress", []object{}
	default:
		begun["call_id"], begun["name"] = item["call_id"], item["name"]
		begun["arguments"], begun["status"] = "", "in_progress"
	}
	return begun
}

// grow lists the pieces that follow.
func (responses) grow(item object) (list []object) {
	switch item["type"] {
	case "message":
		part := item["content"].([]object)[0]
		list = append(list, object{"type": "response.content_part.added", "content_index": 0,
			"part": object{"type": "output_text", "text": "", "annotations": []object{}}})
		for _, piece := range pieces(part["text"].(string)) {
			list = append(list, object{"type": "response.output_text.delta", "content_index": 0,
				"delta": piece})
		}
		list = append(list, object{"type": "response.content_part.done", "content_index": 0,
			"part": part})
	case "function_call":
		for _, piece := range pieces(item["arguments"].(string)) {
			list = append(list, object{"type": "response.function_call_arguments.delta",
				"delta": piece})
		}
	}
	return list
}
