// Package openaitools gives the tools of a registry to a program that talks to a model with
// OpenAI's own SDK, and carries out their calls. The loop is the program's:
//
//	for {
//		completion, err := client.Chat.Completions.New(ctx, params) // with openaitools.Tools
//		said := completion.Choices[0].Message
//		params.Messages = append(params.Messages, said.ToParam())
//		if len(said.ToolCalls) == 0 {
//			return said.Content, nil
//		}
//		results, err := openaitools.Answer(ctx, registry, said)
//		params.Messages = append(params.Messages, results...)
//	}
package openaitools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/wasmagent/wasmagent/plugins"
)

// Tools offers the tools of a registry, sorted by name.
func Tools(r *plugins.Registry) ([]openai.ChatCompletionToolUnionParam, error) {
	var list []openai.ChatCompletionToolUnionParam
	for spec := range r.Specs() {
		f := shared.FunctionDefinitionParam{Name: spec.Name}
		if spec.Description != "" {
			f.Description = openai.String(spec.Description)
		}
		if spec.InputSchema != "" {
			if err := json.Unmarshal([]byte(spec.InputSchema), &f.Parameters); err != nil {
				return nil, fmt.Errorf("tool %q: its schema is not an object: %w", spec.Name, err)
			}
		}
		list = append(list, openai.ChatCompletionFunctionTool(f))
	}
	return list, nil
}

// Answer carries out the calls of a message, one after another, and gives the messages that answer
// them. A call that gives no result is answered with a text for the model that begins with
// "error: ", since the API has no mark for it. Answer itself fails only where the program must act:
// ctx is done or the host is at fault; then no message is to be sent.
func Answer(ctx context.Context, r *plugins.Registry, m openai.ChatCompletionMessage) (
	[]openai.ChatCompletionMessageParamUnion, error) {
	var list []openai.ChatCompletionMessageParamUnion
	for _, c := range m.ToolCalls {
		result, err := r.Call(ctx, plugins.Call{ID: c.ID, Tool: c.Function.Name,
			Input: json.RawMessage(c.Function.Arguments)})
		said := text(result.Output)
		switch plugins.FaultOf(err) {
		case plugins.FaultNone:
		case plugins.FaultHost:
			return nil, err
		default:
			said = "error: " + plugins.ModelText(err)
		}
		list = append(list, openai.ToolMessage(said, c.ID))
	}
	return list, nil
}

// text is an output as a model reads it: the JSON value, or the texts of the content and a line
// for each block that is none.
func text(out plugins.Output) string {
	if out.Content == nil {
		return string(out.Value)
	}
	parts := make([]string, len(out.Content))
	for i, block := range out.Content {
		parts[i] = block.Text
		if block.Type != "text" {
			parts[i] = fmt.Sprintf("[%.64q, %.64q: %d bytes, which are not shown]", block.Type,
				block.MIME, len(block.Data))
		}
	}
	return strings.Join(parts, "\n")
}
