package interchange

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// long is a conversation of 1,000 turns with a call each: about 9 MB.
func long() *Conversation {
	c := &Conversation{ID: "5ee50000-0000-7000-8000-000000000005", CWD: "/", Created: day}
	output := strings.Repeat("a line of output\n", 500)
	for i := range 1000 {
		id := fmt.Sprint("call_", i)
		c.Messages = append(c.Messages, message.Message{Role: message.User, Text: "And then?"},
			message.Message{Role: message.Assistant, Text: "I look.",
				Calls: []message.Call{{ID: id, Name: "look", Arguments: `{"n":1}`}}},
			message.Message{Role: message.Tool, Result: &message.Result{CallID: id, Name: "look",
				Outcome: message.OK, Text: output}})
	}
	return c
}

func BenchmarkInterchange(b *testing.B) {
	for _, f := range Formats {
		var text bytes.Buffer
		if err := Write(&text, f, long()); err != nil {
			b.Fatal(err)
		}
		b.Run("Read/"+string(f), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(text.Bytes()), f); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Write/"+string(f), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			c := long()
			for b.Loop() {
				if err := Write(io.Discard, f, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestManyOfOneID has very many calls and results of the same ID: each result is for the call that
// comes next, and those before all calls are for none.
func TestManyOfOneID(t *testing.T) {
	const n = 20_000
	const item = `{"type":"response_item","payload":{"call_id":"c","type":"function_call`
	const call, result = item + `","name":"f"}}` + "\n", item + `_output"}}` + "\n"
	text := strings.Repeat(result, n) + strings.Repeat(call, n) + strings.Repeat(result, n)
	in, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Messages) != n+1 || in.Messages[n].Result.Outcome != message.OK {
		t.Errorf("%d messages", len(in.Messages))
	}
	want := fmt.Sprintf("%d results of no call of the conversation", n)
	if len(in.Notes) != 1 || in.Notes[0] != want {
		t.Errorf("%q", in.Notes)
	}
}
