//lint:file-ignore SA1019 Clients of the older era hear what a tool logs in no other way.

package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// everyWay runs a test over both transports and in both eras.
func everyWay(t *testing.T, test func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(strings.ReplaceAll(w.String(), " ", "_"), func(t *testing.T) { test(t, w) })
	}
}

func TestList(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		c := w.connect(t, s, nil)
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]*mcp.Tool{}
		for _, tool := range list.Tools {
			seen[tool.Name] = tool
		}
		if seen["read_more"] == nil || len(seen) != 17 {
			t.Fatalf("have %v", toolNames(t, c))
		}
		for name, want := range map[string]string{
			"echo":  `{"destructiveHint":false,"idempotentHint":false,"readOnlyHint":true}`,
			"point": `{"destructiveHint":true,"idempotentHint":true,"readOnlyHint":false}`,
			"count": `{"destructiveHint":true,"idempotentHint":false,"readOnlyHint":false}`,
		} {
			if have, _ := json.Marshal(seen[name].Annotations); string(have) != want {
				t.Errorf("%s has the hints %s", name, have)
			}
		}
		for name, want := range map[string]string{
			"echo":  `null`,
			"point": `{"properties":{"x":{"type":"integer"}},"required":["x"],"type":"object"}`,
			"count": `{"properties":{"result":{"type":"integer"}},"required":["result"],"type":"object"}`,
		} {
			if have, _ := json.Marshal(seen[name].OutputSchema); string(have) != want {
				t.Errorf("%s has the output schema %s", name, have)
			}
		}
	})
}

func TestResults(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		c := w.connect(t, s, nil)
		for _, tt := range []struct{ tool, args, text, structured, meta string }{
			{"echo", `{"a":[1,2.5,"<"]}`, `{"a":[1,2.5,"<"]}`, `null`, ""},
			{"echo", `null`, `{}`, `null`, ""},
			{"point", `{"x":7}`, `{"x":7}`, `{"x":7}`, ""},
			{"point", `{"x":"7"}`, `{"x":7}`, `{"x":7}`, "notes"},
			{"count", `{}`, `42`, `{"result":42}`, ""},
			{"tree", `{}`, `[[],null]`, `{"result":[[],null]}`, ""},
		} {
			res := call(t, c, tt.tool, json.RawMessage(tt.args))
			structured, _ := json.Marshal(res.StructuredContent)
			if res.IsError || textOf(res) != tt.text || string(structured) != tt.structured {
				t.Errorf("%s %s: %q, %s", tt.tool, tt.args, textOf(res), structured)
			}
			meta, _ := json.Marshal(res.Meta[mcpserver.MetaResult])
			if !strings.Contains(string(meta), tt.meta) || tt.meta == "" && string(meta) != "null" {
				t.Errorf("%s %s: %s", tt.tool, tt.args, meta)
			}
		}
	})
}

func TestBlocks(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		res := call(t, w.connect(t, s, nil), "image", nil)
		if len(res.Content) != 5 {
			t.Fatalf("have %d blocks", len(res.Content))
		}
		image, _ := res.Content[1].(*mcp.ImageContent)
		audio, _ := res.Content[2].(*mcp.AudioContent)
		if image == nil || !bytes.Equal(image.Data, pixel) || image.MIMEType != "image/png" {
			t.Errorf("the image is %+v", res.Content[1])
		}
		if audio == nil || string(audio.Data) != "beep" || audio.MIMEType != "audio/wav" {
			t.Errorf("the audio is %+v", res.Content[2])
		}
		for i, want := range []string{
			`{"uri":"wasmagent://result/a%2Fb.bin","mimeType":"application/octet-stream","blob":"AAE="}`,
			`{"uri":"wasmagent://result/c.txt","mimeType":"text/plain","text":"hello"}`,
		} {
			file, _ := res.Content[3+i].(*mcp.EmbeddedResource)
			if have, _ := json.Marshal(file.Resource); string(have) != want {
				t.Errorf("the file is %s", have)
			}
		}
	})
}

// TestFailures has all that can go wrong with a call: a result that is an error, never one with
// structured content.
func TestFailures(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		var log bytes.Buffer
		s, _ := withTestTools(t, &mcpserver.Options{Logger: logTo(&log)})
		c := w.connect(t, s, nil)
		for _, tt := range []struct{ tool, args, text, meta string }{
			{"point", `{"x":"one"}`, "at /x: want an integer",
				`{"attempts":0,"cause":"schema","fault":"caller","kind":"invalid_input"}`},
			{"point", `[1]`, "want an object",
				`{"attempts":0,"cause":"schema","fault":"caller","kind":"invalid_input"}`},
			{"fail_key", `{}`, `the field "order.id"`,
				`{"attempts":1,"cause":"key","fault":"caller","kind":"missing_idempotency_key"}`},
			{"fail_handler", `{}`, `reported: "no_disk: the disk is full"`,
				`{"attempts":1,"cause":"failed","fault":"world","kind":"handler"}`},
			{"fail_malformed", `{}`, "its reply cannot be read",
				`{"attempts":1,"cause":"bad_msgpack","fault":"tool","kind":"malformed_result"}`},
			{"fail_serialization", `{}`, "a channel has no form",
				`{"attempts":1,"cause":"guest_output","fault":"tool","kind":"output_serialization"}`},
			{"fail_host", `{}`, "the host has a fault of its own", `{"attempts":0,"fault":"host"}`},
		} {
			res := call(t, c, tt.tool, json.RawMessage(tt.args))
			meta, _ := json.Marshal(res.Meta[mcpserver.MetaError])
			if !res.IsError || res.StructuredContent != nil || len(res.Content) != 1 {
				t.Errorf("%s: %+v", tt.tool, res)
			}
			if !strings.Contains(textOf(res), tt.text) || string(meta) != tt.meta {
				t.Errorf("%s: %q, %s", tt.tool, textOf(res), meta)
			}
			if strings.Contains(textOf(res), "sda") {
				t.Errorf("the model is told of the host's disk")
			}
		}
		if !strings.Contains(log.String(), "/dev/sda is gone") {
			t.Errorf("the operator is not told of the disk: %s", log.String())
		}
	})
}

// TestProtocolErrors pins what is not a result at all.
func TestProtocolErrors(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		c := w.connect(t, s, nil)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "nobody"})
		if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("an unknown tool: %v", err)
		}
		_, err = c.ListPrompts(t.Context(), nil)
		if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("a method that the server does not have: %v", err)
		}
		if res := call(t, c, "count", nil); res.IsError {
			t.Error("the next call is not answered")
		}
	})
}

func TestProgressAndLog(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		steps := make(chan *mcp.ProgressNotificationParams, 10)
		lines := make(chan *mcp.LoggingMessageParams, 10)
		c := w.connect(t, s, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context,
				r *mcp.ProgressNotificationClientRequest) {
				steps <- r.Params
			},
			LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
				lines <- r.Params
			},
		})
		params := &mcp.CallToolParams{Name: "steps"}
		params.SetProgressToken("token")
		if w.version == sessions {
			if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
				t.Fatal(err)
			}
		} else {
			params.Meta[mcp.MetaKeyLogLevel] = "info"
		}
		if _, err := c.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		line := <-lines
		if line.Data != "about to begin" || line.Logger != "steps" || line.Level != "warning" {
			t.Errorf("the line is %+v", line)
		}
		last := -1.0
		for last < 3 {
			step := <-steps
			if step.Progress <= last || step.ProgressToken != "token" || step.Message != "step" ||
				step.Total != 3 {
				t.Errorf("after %v: %+v", last, step)
			}
			last = step.Progress
		}
	})
}

func TestCancelReachesTheTool(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, registry := withTestTools(t, nil)
		begun, ended := make(chan struct{}), make(chan error, 1)
		err := registry.Add(tool(spec("caught"),
			func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
				close(begun)
				<-ctx.Done()
				ended <- ctx.Err()
				return plugins.Output{}, ctx.Err()
			}))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = mcpserver.New(registry, nil)
		t.Cleanup(func() { s.Close() })
		c := w.connect(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "caught"})
			done <- err
		}()
		<-begun
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("the tool was not cancelled")
		}
		if res := call(t, c, "count", nil); res.IsError {
			t.Error("the next call is not answered")
		}
	})
}

func TestListChanged(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		changed := make(chan struct{}, 10)
		c := w.connect(t, s, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
				changed <- struct{}{}
			},
		})
		if slices.Contains(toolNames(t, c), "grown") {
			t.Fatal("too early")
		}
		call(t, c, "grow", nil)
		<-changed
		if !slices.Contains(toolNames(t, c), "grown") {
			t.Error("told of a change that is not there")
		}
		if res := call(t, c, "grown", nil); textOf(res) != "1" {
			t.Errorf("have %+v", res)
		}
	})
}

var marker = regexp.MustCompile(`read_more \{"handle":"([^"]+)","offset":(\d+)\}`)

func TestReadMore(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		c := w.connect(t, s, nil)
		res := call(t, c, "long", nil)
		m := marker.FindStringSubmatch(textOf(res))
		if m == nil {
			t.Fatal("no handle")
		}
		handle, offset := m[1], json.Number(m[2])
		next := call(t, c, "read_more", map[string]any{"handle": handle, "offset": offset})
		if next.IsError || !strings.Contains(textOf(next), "line\n") {
			t.Errorf("have %.100s", textOf(next))
		}
		if bad := call(t, c, "read_more", map[string]any{"handle": "out-x"}); !bad.IsError {
			t.Error("a handle of nothing is answered")
		}
	})
}
