// Package anthropictools gives the tools of a registry to a program that talks to a model with
// Anthropic's own SDK, and carries out their calls. The loop is the program's:
//
//	for {
//		said, err := client.Messages.New(ctx, params) // with anthropictools.Tools
//		params.Messages = append(params.Messages, said.ToParam())
//		if said.StopReason != anthropic.StopReasonToolUse {
//			return said, nil
//		}
//		results, err := anthropictools.Answer(ctx, registry, said)
//		params.Messages = append(params.Messages, results)
//	}
package anthropictools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/wasmagent/wasmagent/plugins"
)

// Tools offers the tools of a registry, sorted by name. Their schemas are sent as they are.
func Tools(r *plugins.Registry) []anthropic.ToolUnionParam {
	var list []anthropic.ToolUnionParam
	for spec := range r.Specs() {
		tool := anthropic.ToolParam{Name: spec.Name}
		if spec.Description != "" {
			tool.Description = anthropic.String(spec.Description)
		}
		if spec.InputSchema != "" {
			tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](
				json.RawMessage(spec.InputSchema))
		}
		list = append(list, anthropic.ToolUnionParam{OfTool: &tool})
	}
	return list
}

// Answer carries out the calls of a message, one after another, and gives the message that answers
// them. A call that gives no result is answered with a text for the model, marked as an error.
// Answer itself fails only where the program must act: ctx is done or the host is at fault; then no
// message is to be sent.
func Answer(ctx context.Context, r *plugins.Registry, m *anthropic.Message) (
	anthropic.MessageParam, error) {
	var results []anthropic.ContentBlockParamUnion
	for _, block := range m.Content {
		c, ok := block.AsAny().(anthropic.ToolUseBlock)
		if !ok {
			continue
		}
		result, err := r.Call(ctx, plugins.Call{ID: c.ID, Tool: c.Name, Input: c.Input})
		said := text(result.Output)
		switch plugins.FaultOf(err) {
		case plugins.FaultNone:
		case plugins.FaultHost:
			return anthropic.MessageParam{}, err
		default:
			said = plugins.ModelText(err)
		}
		results = append(results, anthropic.NewToolResultBlock(c.ID, said, err != nil))
	}
	return anthropic.NewUserMessage(results...), nil
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
