package mcpserver_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// The public conformance suite calls tools of these names; .ci/long runs it against a server that
// has them.

const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":` +
	`{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},` +
	`"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":` +
	`["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":` +
	`[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":` +
	`{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":` +
	`{"required":["email"]},"additionalProperties":false}`

func conformanceTools(registry *plugins.Registry) []plugins.Tool {
	say := abi.Block{Type: "text", Text: "This is a simple text response for testing."}
	image := abi.Block{Type: "image", Data: pixel, MIME: "image/png"}
	file := abi.Block{Type: "file", Text: "This is an embedded resource content.", MIME: "text/plain",
		Name: "test"}
	about := func(name, description string, reply invoke) plugins.Tool {
		return tool(abi.ToolSpec{Name: name, Description: description, Effect: abi.EffectRead}, reply)
	}
	changes := 0
	return []plugins.Tool{
		about("test_simple_text", "Gives text.", blocks(say)),
		about("test_image_content", "Gives an image.", blocks(image)),
		about("test_audio_content", "Gives audio.",
			blocks(abi.Block{Type: "audio", Data: []byte("RIFF"), MIME: "audio/wav"})),
		about("test_embedded_resource", "Gives a file.", blocks(file)),
		about("test_multiple_content_types", "Gives text, an image and a file.",
			blocks(say, image, file)),
		about("test_tool_with_logging", "Logs three lines.", spoken(0)),
		about("test_tool_with_progress", "Reports its progress.", spoken(100)),
		about("test_streaming_elicitation", "Reports its progress.", spoken(100)),
		about("test_logging_tool", "Logs three lines.", spoken(0)),
		about("test_error_handling", "Fails.", failsWith(&abi.Failure{Permanent: true,
			Message: "This tool intentionally returns an error for testing"})),
		about("test_trigger_tool_change", "Changes the list of tools.",
			func(context.Context, plugins.Call) (plugins.Output, error) {
				changes++
				name := fmt.Sprintf("changed_%d", changes)
				return value(`"changed"`), registry.Add(about(name, "Came later.", gives("1")))
			}),
		tool(abi.ToolSpec{Name: "json_schema_2020_12_tool", Description: "Has a schema.",
			InputSchema: schema202012}, gives("1")),
	}
}

// spoken makes a tool that logs, or reports progress up to a total. It takes its time, as tools do
// that have something to report.
func spoken(total float64) invoke {
	return func(ctx context.Context, call plugins.Call) (plugins.Output, error) {
		for i := range 3 {
			if total > 0 && call.Progress != nil {
				call.Progress(abi.Progress{Done: total / 2 * float64(i), Total: total})
			} else if total == 0 {
				call.Log(abi.LevelInfo, []string{"started", "working", "done"}[i])
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return plugins.Output{}, ctx.Err()
			}
		}
		return value(`"done"`), nil
	}
}
