package session_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// What is written without a folder is read as a session's file is; what could not be read is
// refused.
func TestWrite(t *testing.T) {
	asks := message.Message{Role: message.Assistant,
		Calls: []message.Call{{ID: "a", Name: "f", Arguments: "{}"}}}
	list := []message.Message{{Role: message.User, Text: "go\n<on>"}, asks}
	created := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	var text bytes.Buffer
	if err := session.Write(&text, "id", created, list); err != nil {
		t.Fatal(err)
	}
	read, err := session.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if h := read.Header; h.ID != "id" || !h.Created.Equal(created.Truncate(time.Millisecond)) {
		t.Errorf("%+v", h)
	}
	if m := read.Messages; len(m) != 3 || m[0].Text != list[0].Text ||
		m[1].Calls[0] != asks.Calls[0] || m[2].Result.Outcome != message.Unknown {
		t.Errorf("%+v", m)
	}

	stray := message.Message{Role: message.Tool, Result: &message.Result{CallID: "b", Outcome: "ok"}}
	long := message.Message{Role: message.User, Text: strings.Repeat("x", session.MaxLine)}
	for want, tt := range map[string]struct {
		id   string
		list []message.Message
	}{
		"message 3: a result of call":                        {"id", append(list, stray)},
		"message 1: the file or its line would have too man": {"id", []message.Message{long}},
		"the header would have more than 4096 bytes":         {strings.Repeat("x", session.MaxHeader), nil},
	} {
		err := session.Write(io.Discard, tt.id, created, tt.list)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, have %v", want, err)
		}
	}
}
