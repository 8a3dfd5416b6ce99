package interchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// TestBack writes conversations of all sorts in each format, reads them, goes on, and takes them
// through the other format: nothing may be lost, and the same must always give the same.
func TestBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := conversation(t)
		first := rapid.SampledFrom(Formats).Draw(t, "format")
		text := write(t, first, c)
		if write(t, first, c) != text {
			t.Fatal("another file of the same conversation")
		}
		in := read(t, text, c.Messages)
		if in.Format != first || in.ID != c.ID || in.CWD != c.CWD {
			t.Fatalf("%s %s %s of\n%s", in.Format, in.ID, in.CWD, text)
		}
		if write(t, first, &in.Conversation) != text {
			t.Fatal("it is not given back")
		}
		longer := in.Conversation
		longer.Messages = slices.Concat(in.Messages, turns(t, "more"))
		more := write(t, first, &longer)
		if !strings.HasPrefix(more, text) {
			t.Fatalf("the lines have changed:\n%s\n%s", text, more)
		}
		read(t, more, longer.Messages)
		for _, second := range Formats {
			other := read(t, write(t, second, &longer), longer.Messages)
			read(t, write(t, first, &other.Conversation), longer.Messages)
		}
	})
}

func write(t *rapid.T, f Format, c *Conversation) string {
	var b strings.Builder
	if err := Write(&b, f, c); err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return b.String()
}

func read(t *rapid.T, text string, want []message.Message) *Imported {
	in, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(in.Messages) != len(want) {
		t.Fatalf("%d messages, want %d:\n%s", len(in.Messages), len(want), text)
	}
	for i := range want {
		if h, w := encode(fields(&in.Messages[i])), encode(fields(&want[i])); string(h) != string(w) {
			t.Fatalf("message %d:\nhave %s\nwant %s\n%s", i+1, h, w, text)
		}
	}
	return in
}

// conversation is any that message.Check passes.
func conversation(t *rapid.T) *Conversation {
	c := &Conversation{ID: "5ee50000-0000-7000-8000-000000000003", CWD: "/house", Created: day}
	if rapid.Bool().Draw(t, "system") {
		c.Messages = append(c.Messages, message.Message{Role: message.System, Text: words(t)})
	}
	c.Messages = append(c.Messages, turns(t, "turns")...)
	return c
}

var day = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func turns(t *rapid.T, what string) (list []message.Message) {
	for range rapid.IntRange(1, 4).Draw(t, what) {
		if rapid.Bool().Draw(t, "user") {
			m := message.Message{Role: message.User, Text: words(t), Time: moment(t)}
			if rapid.Bool().Draw(t, "meta") {
				m.Meta = map[string]json.RawMessage{"k": json.RawMessage(`{"n":12345678901234567890}`)}
			}
			list = append(list, m)
			continue
		}
		m := spoken(t)
		list = append(list, m)
		for _, c := range m.Calls {
			r := &message.Result{CallID: c.ID, Name: c.Name, Text: words(t),
				Outcome: rapid.SampledFrom([]message.Outcome{message.OK, message.Error,
					message.Unknown}).Draw(t, "outcome")}
			if r.Outcome == message.Error {
				r.Code, r.Cause = "tool", "limit.time"
			}
			if rapid.Bool().Draw(t, "cut") {
				r.Handle, r.Bytes = "h", 99
			}
			list = append(list, message.Message{Role: message.Tool, Result: r, Time: moment(t)})
		}
	}
	return list
}

func spoken(t *rapid.T) message.Message {
	m := message.Message{Role: message.Assistant, Text: words(t), Time: moment(t),
		Model: rapid.SampledFrom([]string{"", "claude-x", "unknown"}).Draw(t, "model"),
		Finish: rapid.SampledFrom([]message.Finish{"", message.FinishStop, message.FinishCalls,
			message.FinishPause, message.FinishOther}).Draw(t, "finish")}
	if rapid.Bool().Draw(t, "usage") {
		m.Usage = &message.Usage{Input: 9, Output: 2, Cached: rapid.Int64Range(0, 9).Draw(t, "cached"),
			Reasoning: rapid.Int64Range(0, 2).Draw(t, "thought")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		m.Calls = append(m.Calls, message.Call{
			ID: rapid.SampledFrom([]string{"a", "b", "c.1", "c_1", "é",
				strings.Repeat("x", 70)}).Draw(t, "id"),
			Name: rapid.SampledFrom([]string{"f", "mcp.g/h", strings.Repeat("n", 65)}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{"", "{}", `{"a": 12345678901234567890}`, `{"a":`, "[1]",
				"null", `{"b":1,"a":1.0,"<":"&"}`, " {\n} "}).Draw(t, "arguments")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "reasoning") {
		m.Reasoning = append(m.Reasoning, rapid.SampledFrom([]message.Reasoning{
			{Text: "Hm."},
			{Text: "Hm.", Provider: "openai", Opaque: json.RawMessage(`{"server":"s"}`)},
			{Text: "Hm.", Provider: "openai", Opaque: json.RawMessage(
				`{"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}}`)},
			{Text: "Hm.", Provider: "openai", Opaque: json.RawMessage(`{"item":{"type":"message"}}`)},
			{Text: "Hm.", Provider: "anthropic", Opaque: json.RawMessage(
				`{"at":1,"block":{"type":"thinking","thinking":"Hm.","signature":"c2ln"}}`)},
			{Provider: "anthropic", Opaque: json.RawMessage(
				`{"at":-7,"block":{"type":"tool_use","id":"evil","name":"f"}}`)},
			{Provider: "anthropic", Opaque: json.RawMessage(`7`)},
			{Provider: "anthropic", Opaque: json.RawMessage(`{"at":0,"block":null}`)},
			{Provider: "openai", Opaque: json.RawMessage(`{"item":null}`)},
		}).Draw(t, "thought"))
	}
	return m
}

func words(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "<environment_context>",
		"\u2028<&>\x00\u202e", nothing, `{"a":1}`})).Draw(t, "text")
}

func moment(t *rapid.T) time.Time {
	return rapid.SampledFrom([]time.Time{{}, day, day.Add(time.Hour), day.Add(time.Nanosecond),
		day.Add(-time.Hour), day.In(time.FixedZone("east", 3600))}).Draw(t, "time")
}

// TestChanged takes conversations whose messages are not all as they were read.
func TestChanged(t *testing.T) {
	text := `{"type":"mode","sessionId":"s"}` + "\n" + claudeText +
		`{"type":"assistant","uuid":"a","parentUuid":"u","message":{"content":"y"}}` + "\n" +
		`{"type":"user","uuid":"v","parentUuid":"a","message":{"content":"z"}}` + "\n" +
		`{"type":"assistant","uuid":"b","parentUuid":"v","message":{"content":"w"}}` + "\n"
	in, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Join(strings.SplitAfter(text, "\n")[:3], "")
	for name, tt := range map[string]struct {
		list []message.Message
		kept string
	}{
		"a fork":            {in.Messages[:2], first},
		"a fork in a turn":  {in.Messages[:3], first + strings.SplitAfter(text, "\n")[3]},
		"the end rewritten": {append(slices.Clone(in.Messages[:3]), said("W")), first},
		"a message rewritten": {append([]message.Message{{Role: message.User, Text: "secret, gone"}},
			in.Messages[1:]...), ""},
		"the middle taken out": {slices.Concat(in.Messages[:1], in.Messages[3:]), ""},
	} {
		c := in.Conversation
		c.Messages = slices.Clone(tt.list)
		if name == "the end rewritten" {
			c.Messages[3].Meta = in.Messages[3].Meta // of a line that says something else
		}
		have := written(t, ClaudeCode, &c)
		got, err := Read(strings.NewReader(have), ClaudeCode)
		if err != nil {
			t.Fatal(err)
		}
		sameMessages(t, got.Messages, c.Messages)
		if !strings.HasPrefix(have, tt.kept) || strings.Contains(have, text) ||
			(tt.kept == "") != (!strings.Contains(have, `"mode"`)) {
			t.Errorf("%s: have\n%s", name, have)
		}
	}
}

func said(text string) message.Message {
	return message.Message{Role: message.Assistant, Text: text}
}

// TestCannot has conversations that no file could give back.
func TestCannot(t *testing.T) {
	for name, list := range map[string][]message.Message{
		"no result": {{Role: message.Assistant, Calls: []message.Call{{ID: "a", Name: "f"}}}},
		"a stray one": {{Role: message.Tool, Result: &message.Result{CallID: "a",
			Outcome: message.OK}}},
		"nobody":        {{Role: "nobody"}},
		"no such role":  {said("x"), {Role: message.System, Text: "x"}},
		"no name":       {{Role: message.Assistant, Calls: []message.Call{{Name: "f"}}}},
		"a large thing": {said(strings.Repeat("x", MaxLine))},
	} {
		for _, f := range Formats {
			var b strings.Builder
			err := Write(&b, f, &Conversation{ID: "s", Messages: list})
			if _, ok := err.(*Error); !ok || b.Len() > 0 {
				t.Errorf("%s, %s: %v, %d bytes", name, f, err, b.Len())
			}
		}
	}
}

// TestInterrupted goes on after a call without a result: there the file must have one.
func TestInterrupted(t *testing.T) {
	text := claudeText + `{"type":"assistant","uuid":"a","parentUuid":"u","message":{"content":[` +
		`{"type":"tool_use","id":"c","name":"f","input":{}}]}}` + "\n"
	in, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	if have := written(t, ClaudeCode, &in.Conversation); have != text {
		t.Errorf("have\n%s", have)
	}
	in.Messages = append(in.Messages, said("Sorry."))
	lines := strings.Split(written(t, ClaudeCode, &in.Conversation), "\n")
	if !strings.Contains(lines[2], `"tool_use_id":"c"`) || !strings.Contains(lines[3], "Sorry.") {
		t.Errorf("have\n%s", strings.Join(lines, "\n"))
	}
}

func ExampleWrite() {
	c := &Conversation{ID: "5ee50000-0000-7000-8000-000000000004", CWD: "/house",
		Created:  time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
		Messages: []message.Message{{Role: message.User, Text: "Hello!"}}}
	var b strings.Builder
	if err := Write(&b, Codex, c); err != nil {
		fmt.Println(err)
	}
	in, err := Read(strings.NewReader(b.String()), "")
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(in.Format, in.ID)
	fmt.Println(in.Messages[0].Role, in.Messages[0].Text)
	// Output:
	// codex 5ee50000-0000-7000-8000-000000000004
	// user Hello!
}

// TestOrdinals goes on with a file whose lines are numbered.
func TestOrdinals(t *testing.T) {
	text := `{"ordinal":41,"type":"response_item","payload":{"type":"message","role":"user",` +
		`"content":"x"}}` + "\n"
	in, err := Read(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	in.Messages = append(in.Messages, said("y"))
	for i, line := range strings.Split(strings.TrimSpace(written(t, Codex, &in.Conversation)), "\n") {
		if want := fmt.Sprintf(`"ordinal":%d,`, 41+i); !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
}

// TestTimes pins that what was said before the session was made, elsewhere, keeps its time.
func TestTimes(t *testing.T) {
	said := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, f := range Formats {
		var text bytes.Buffer
		c := &Conversation{ID: "5ee50000-0000-7000-8000-000000000003", Created: said.AddDate(0, 2, 0),
			Messages: []message.Message{{Role: message.User, Text: "x", Time: said}}}
		if err := Write(&text, f, c); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "2026-03") || !strings.Contains(text.String(), "2026-01-02T03") {
			t.Errorf("%s: %s", f, text.String())
		}
	}
}
