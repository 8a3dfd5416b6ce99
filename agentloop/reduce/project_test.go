package reduce_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

func said(role message.Role, text string) message.Message {
	return message.Message{Role: role, Text: text}
}

// asked is a message of the model's that calls one tool, with the result.
func asked(id, tool, arguments, result string) []message.Message {
	return []message.Message{
		{Role: message.Assistant, Calls: []message.Call{{ID: id, Name: tool, Arguments: arguments}}},
		{Role: message.Tool, Result: &message.Result{CallID: id, Name: tool, Outcome: message.OK,
			Text: result}},
	}
}

func conversation(parts ...[]message.Message) []message.Message { return slices.Concat(parts...) }

func one(m ...message.Message) []message.Message { return m }

// all reduces whatever is longer than the smallest trigger.
var all = reduce.Policy{Trigger: reduce.MinTrigger, Keep: 10, Protect: -1}

// TestKinds pins the view of each kind, and that it gives the record back.
func TestKinds(t *testing.T) {
	long, other := strings.Repeat("0123456789", 100), strings.Repeat("é", 400)
	for name, tt := range map[string]struct {
		list   []message.Message
		policy reduce.Policy
		want   []string // what is in each message of the view, as JSON
	}{
		"output": {conversation(one(said(message.User, "go")), asked("a", "read", "{}", long)), all,
			[]string{`"go"`, `"{}"`, `"text":"0123456789\n[reduced output r0001-`}},
		"output, between characters": {conversation(one(said(message.User, "go")),
			asked("a", "read", "{}", "aé"+other)), reduce.Policy{Trigger: 600, Keep: 2, Protect: -1},
			[]string{`"go"`, `"{}"`, `"text":"a\n[reduced output r0001-`}},
		"output, nothing kept": {conversation(one(said(message.User, "go")),
			asked("a", "read", "{}", long)), reduce.Policy{Trigger: 1, Keep: -1, Protect: -1},
			[]string{`"go"`, `"{}"`, `"text":"[reduced output r0001-`}},
		"duplicate": {conversation(one(said(message.User, "go")), asked("a", "read", "{}", long[:400]),
			asked("b", "re]d\n", "{}", long[:400])), all,
			[]string{`"go"`, `"{}"`, long[:400], `"{}"`,
				`the same 400 bytes as an earlier result of re?d?]"`}},
		"a duplicate of nothing much": {conversation(one(said(message.User, "go")),
			asked("a", "read", "{}", "no"), asked("b", "read", "{}", "no")), all,
			[]string{`"go"`, `"{}"`, `"no"`, `"{}"`, `"no"`}},
		"input": {conversation(one(said(message.User, "go")),
			asked("a", "write", `{"a":"`+long+`"}`, "ok")), all,
			[]string{`"go"`, `"{\"begins\":\"{\\\"a\\\":\\\"0123\",\"reduced\":\"[reduced input r0001-`,
				`"ok"`}},
		"input that is no JSON": {conversation(one(said(message.User, "go")),
			asked("a", "write", strings.Repeat("\x00", 600), "ok")), reduce.Policy{Trigger: 1, Keep: 200,
			Protect: -1}, []string{`"go"`, `"{\"reduced\":\"[reduced input r0001-`, `"ok"`}},
		"turns": {conversation(one(said(message.System, "be brief"), said(message.User, long)),
			asked("a", "read", "{}", "x"), asked("b", "w", "{}", "x"), one(said(message.User, "go"))),
			reduce.Policy{Turns: 1}, []string{`"be brief"`, `: 3 messages left out with 1 call: read]"`,
				`"{}"`, `"x"`, `"go"`}},
	} {
		t.Run(name, func(t *testing.T) {
			view, log := reduce.Project(tt.list, tt.policy, nil)
			if len(view) != len(tt.want) {
				t.Fatalf("have %s", asJSON(t, view))
			}
			for i, want := range tt.want {
				if have := asJSON(t, view[i]); !strings.Contains(have, want) {
					t.Errorf("message %d: %s, want %s", i+1, have, want)
				}
			}
			full, err := reduce.Invert(view, log, tt.list)
			if err != nil || !reflect.DeepEqual(full, tt.list) {
				t.Errorf("have %s, %v", asJSON(t, full), err)
			}
		})
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEdges pins the numbers: what is as long as it may be stays, and what is a byte longer does
// not.
func TestEdges(t *testing.T) {
	for name, tt := range map[string]struct {
		policy  reduce.Policy
		trigger int
		kept    int
	}{
		"default": {reduce.Policy{Protect: -1}, 8192, 1024},
		"set":     {reduce.Policy{Trigger: 1000, Keep: 7, Protect: -1}, 1000, 7},
		"small":   {reduce.Policy{Trigger: 3, Keep: 9999, Protect: -1}, 512, 256},
	} {
		for _, more := range []int{0, 1} {
			text := strings.Repeat("a", tt.trigger+more)
			list := conversation(one(said(message.User, "go")), asked("a", "f", text, text))
			view, log := reduce.Project(list, tt.policy, nil)
			if len(log) != 2*more {
				t.Fatalf("%s, %d bytes: %d entries", name, len(text), len(log))
			}
			if kept, _, _ := strings.Cut(view[2].Result.Text, "\n"); more == 1 && len(kept) != tt.kept {
				t.Errorf("%s: %d bytes are kept", name, len(kept))
			}
			if more == 1 && (len(view[2].Result.Text) >= len(text) ||
				len(view[1].Calls[0].Arguments) >= len(text)) {
				t.Errorf("%s: it is longer than before", name)
			}
		}
	}
	long := strings.Repeat("a", 9000)
	list := one(said(message.User, "go"))
	for i := range 4 {
		list = append(list, asked("a", "f", long+string(rune('a'+i)), long+string(rune('0'+i)))...)
	}
	for protect, want := range map[int]int{0: 2, 1: 3, 3: 1, 9: 0, -1: 4} {
		if _, log := reduce.Project(list, reduce.Policy{Protect: protect}, nil); len(log) != 2*want {
			t.Errorf("protect %d: %d entries", protect, len(log))
		}
	}
}

// TestLogOnly pins that what is written like a stub by somebody else stays what it is.
func TestLogOnly(t *testing.T) {
	list := conversation(one(said(message.User, "go")),
		asked("a", "f", "{}", strings.Repeat("a", 600)))
	_, log := reduce.Project(list, all, nil)
	stub := log[0].Placeholder
	list = append(list, conversation(
		asked("b", "f", `{"reduced":"`+stub+`"}`, "a\n"+stub), one(said(message.User, stub)),
		one(said(message.Assistant, stub)))...)
	view, log := reduce.Project(list, all, log)
	if len(log) != 1 || !reflect.DeepEqual(view[3:], list[3:]) {
		t.Errorf("%d entries, have %s", len(log), asJSON(t, view))
	}
	full, err := reduce.Invert(view, log, list)
	if err != nil || !reflect.DeepEqual(full, list) {
		t.Errorf("have %s, %v", asJSON(t, full), err)
	}
}

// TestTighten pins that what was tightened stays so, under its id, and is never loosened.
func TestTighten(t *testing.T) {
	text := strings.Repeat("a", 20_000)
	list := conversation(one(said(message.User, "go")), asked("a", "f", text, text+"b"))
	loose := reduce.Policy{Protect: -1}
	_, first := reduce.Project(list, loose, nil)
	_, tight := reduce.Project(list, reduce.Policy{Protect: -1, Keep: 10}, first)
	for i := range first {
		if tight[i].ID != first[i].ID || tight[i].Pointer.Span.From != 10 ||
			first[i].Pointer.Span.From != 1024 {
			t.Errorf("%+v has become %+v", first[i], tight[i])
		}
	}
	if _, again := reduce.Project(list, loose, tight); !reflect.DeepEqual(again, tight) {
		t.Errorf("%+v has become %+v", tight, again)
	}
}

// TestClearMore clears further turns: they become one with those before, and what was reduced
// inside goes with them.
func TestClearMore(t *testing.T) {
	long := strings.Repeat("a", 600)
	list := one(said(message.System, "s"), said(message.User, "the task"))
	for i := range 6 {
		list = append(list, asked("a", "f", "{}", long+string(rune('0'+i)))...)
	}
	policy := all
	policy.Turns = 3
	_, some := reduce.Project(list, policy, nil)
	if len(some) != 4 || some[0].Pointer.Message != 2 || some[0].Pointer.Messages != 6 {
		t.Fatalf("%+v", some)
	}
	policy.Turns = 1
	_, more := reduce.Project(list, policy, some)
	if len(more) != 2 || more[0].Pointer.Messages != 10 || more[1].ID != some[3].ID {
		t.Fatalf("%+v", more)
	}
	if _, same := reduce.Project(list, all, more); !reflect.DeepEqual(same, more) {
		t.Errorf("%+v has become %+v", more, same)
	}
	// Once the user has said more, the task is old, too.
	list = append(list, said(message.Assistant, "done"), said(message.User, "and now this"))
	policy.Turns = -1
	view, last := reduce.Project(list, policy, more)
	if len(view) != 3 || len(last) != 1 || view[0].Role != message.System ||
		view[1].Role != message.User || view[2].Text != "and now this" {
		t.Errorf("have %s", asJSON(t, view))
	}
}

// TestFull pins that a log has an end, and what is there stays.
func TestFull(t *testing.T) {
	list := one(said(message.User, "go"))
	for i := range reduce.MaxRecords + 1 {
		list = append(list, asked("a", "f", "{}", strings.Repeat("a", 500)+asJSON(t, 1000000+i)+
			strings.Repeat("b", 20))...)
	}
	view, log := reduce.Project(list, all, nil)
	if len(log) != reduce.MaxRecords ||
		view[len(view)-1].Result.Text != list[len(list)-1].Result.Text {
		t.Errorf("%d entries", len(log))
	}
	if stored, err := reduce.Decode(reduce.Encode(log)); err != nil || len(stored) != len(log) {
		t.Errorf("%v, %d entries", err, len(stored))
	}
	policy := all
	policy.Turns = 1
	if view, log = reduce.Project(list, policy, log); len(log) != 2 || len(view) != 4 {
		t.Errorf("cleared, there are %d entries and %d messages", len(log), len(view))
	}
}

// TestFaults pins the errors: an entry that is gone, a record that was cut, a byte that has changed
// are three, each with the id.
func TestFaults(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	list := conversation(one(said(message.User, "the first thing "+long)), asked("a", "f", "{}", "x"),
		one(said(message.User, "go")), asked("b", "f", `{"a":"`+long+`"}`, long),
		asked("c", "f", "{}", long), asked("d", "f", "{}", "x"))
	policy := all
	policy.Turns = 3
	view, log := reduce.Project(list, policy, nil)
	if len(log) != 4 {
		t.Fatalf("%+v", log)
	}
	flip := func(text string) string { return text[:500] + "!" + text[501:] }
	for i, r := range log {
		without := slices.Delete(slices.Clone(log), i, i+1)
		cut := list[:r.Pointer.Message+max(r.Pointer.Messages, 1)-1]
		flipped := clone(t, list)
		switch m := &flipped[r.Pointer.Message]; r.Kind {
		case reduce.Turns:
			m.Text = flip(m.Text)
		case reduce.Input:
			m.Calls[0].Arguments = flip(m.Calls[0].Arguments)
		default:
			m.Result.Text = flip(m.Result.Text)
		}
		for name, tt := range map[string]struct {
			log  reduce.Log
			list []message.Message
			want reduce.Fault
		}{
			"deleted": {without, list, reduce.ErrMissing},
			"cut":     {log[:i+1], cut, reduce.ErrUnresolved},
			"flipped": {log, flipped, reduce.ErrMismatch},
		} {
			full, err := reduce.Invert(view, tt.log, tt.list)
			var e *reduce.Error
			if full != nil || !errors.As(err, &e) || e.ID != r.ID || !errors.Is(err, tt.want) ||
				!strings.Contains(err.Error(), r.ID) {
				t.Errorf("%s, %s: %v, %d messages", r.Kind, name, err, len(full))
			}
			text, err := reduce.InvertOne(tt.list, tt.log, r.ID)
			if text != "" || !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v, %d bytes", r.Kind, name, err, len(text))
			}
			if items, err := reduce.View(tt.list, tt.log); (err == nil) != (name == "deleted") {
				t.Errorf("%s, %s: %v, %d messages", r.Kind, name, err, len(items))
			}
		}
	}
}

func clone(t *testing.T, list []message.Message) (copied []message.Message) {
	t.Helper()
	if err := json.Unmarshal([]byte(asJSON(t, list)), &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestForeignView refuses views of something else.
func TestForeignView(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	list := conversation(one(said(message.User, "go")), asked("a", "f", "{}", long),
		asked("b", "f", "{}", "x"))
	view, log := reduce.Project(list, all, nil)
	changed := clone(t, view)
	changed[0].Text = "stop"
	outcome := clone(t, view)
	outcome[4].Result.Outcome = message.Error
	none := clone(t, view)
	none[4].Result = nil
	for name, tt := range map[string]struct {
		view []message.Message
		want reduce.Fault
	}{
		"changed": {changed, reduce.ErrMismatch}, "outcome": {outcome, reduce.ErrMismatch},
		"no result": {none, reduce.ErrMismatch},
		"longer":    {append(clone(t, view), said(message.User, "more")), reduce.ErrMismatch},
		"shorter":   {view[:4], reduce.ErrUnresolved},
	} {
		if full, err := reduce.Invert(tt.view, log, list); full != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInvertOne gives one original of two, and leaves the other.
func TestInvertOne(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	list := conversation(one(said(message.User, "go")), asked("a", "f", "{}", long+"a"),
		asked("b", "f", "{}", long+"b"), asked("c", "f", "{}", "x"))
	list[1].Meta = map[string]json.RawMessage{"secret": []byte("1")}
	_, log := reduce.Project(list, all, nil)
	text, err := reduce.InvertOne(list, log, log[1].ID)
	if err != nil || text != long+"b" {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	policy := all
	policy.Turns = 1
	_, log = reduce.Project(list, policy, log)
	text, err = reduce.InvertOne(list, log, log[0].ID)
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 5 || lines[1] != asJSON(t, list[2]) ||
		strings.Contains(text, "secret") {
		t.Errorf("%v, %s", err, text)
	}
}

// TestNotUTF8 pins that the digest of what JSON cannot hold is that of what comes back from it.
func TestNotUTF8(t *testing.T) {
	text := strings.Repeat("a\xff\xfe é \\ufffd ", 100)
	list := conversation(one(said(message.User, text)), asked("a", "f", text, text),
		asked("b", "f", "{}", "x"), one(said(message.User, "go")))
	for _, turns := range []int{0, 1} {
		_, log := reduce.Project(list, reduce.Policy{Trigger: 1, Protect: -1, Turns: turns}, nil)
		if len(log) == 0 {
			t.Fatal("nothing was reduced")
		}
		for _, l := range [][]message.Message{list, clone(t, list)} {
			if faults := reduce.Verify(l, log); len(faults) > 0 {
				t.Error(faults[0])
			}
		}
	}
}

// TestRawParts pins that raw parts which are no JSON keep nothing from being cleared.
func TestRawParts(t *testing.T) {
	m := said(message.Assistant, strings.Repeat("a", 600))
	m.Reasoning = []message.Reasoning{{Opaque: []byte("{")}}
	list := one(said(message.User, "hm"), m, said(message.User, "go"))
	view, log := reduce.Project(list, reduce.Policy{Turns: -1}, nil)
	full, err := reduce.Invert(view, log, list)
	if err != nil || len(view) != 2 || !reflect.DeepEqual(full, list) {
		t.Errorf("%v, %d messages", err, len(view))
	}
}
