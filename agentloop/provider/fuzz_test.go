package provider_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// FuzzAnswers has servers answer anything. What comes of it is a message that can be sent back, or
// an error that says whose fault it is.
func FuzzAnswers(f *testing.F) {
	f.Add(true, true, `data: {"choices":[{"delta":{"content":"x","tool_calls":[{"id":"a","function":`+
		`{"name":"f","arguments":"{}"}}],"reasoning_details":[{"index":0,"text":"y"}]}}]}`+
		"\n\ndata: [DONE]\n\n")
	f.Add(true, false, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{}}`)
	f.Add(false, true, `data: {"type":"content_block_start","content_block":{"type":"tool_use"}}`+
		"\n\n"+
		`data: {"type":"content_block_delta","delta":{"partial_json":"{"}}`+"\n\n"+
		`data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}`+"\n\n")
	f.Add(false, false,
		`{"content":[{"type":"thinking","thinking":"x"},{"type":"y"}],"stop_reason":"z"}`)
	f.Fuzz(func(t *testing.T, isOpenAI, streamed bool, body string) {
		wire := "anthropic"
		if isOpenAI {
			wire = "openai"
		}
		answer := func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		m, _, err := ask(t, wire, "http://127.0.0.1", provider.Options{NoStream: !streamed,
			Client: &http.Client{Transport: roundTrip(answer)}})
		_, decode := errors.AsType[*provider.DecodeError](err)
		_, status := errors.AsType[*provider.StatusError](err)
		if err != nil && !decode && !status {
			t.Fatalf("have %v", err)
		}
		if err != nil {
			return
		}
		history := []message.Message{m}
		ids := map[string]bool{}
		for _, c := range m.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("the id %q is not one", c.ID)
			}
			ids[c.ID] = true
			history = append(history, result(c.ID, message.OK, ""))
		}
		if err := message.Check(history); err != nil || m.Role != message.Assistant || m.Finish == "" {
			t.Errorf("have %+v, %v", m, err)
		}
	})
}
