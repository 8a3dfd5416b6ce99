package reduce_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

func someLog(t testing.TB) (list []message.Message, log reduce.Log) {
	long := strings.Repeat("0123456789", 100)
	list = conversation(one(said(message.User, "hm "+long)), asked("a", "f", "{}", "x"),
		one(said(message.User, "go")), asked("b", "f", `{"a":"`+long+`"}`, long),
		asked("c", "f", "{}", long))
	policy := all
	policy.Turns = 2
	_, log = reduce.Project(list, policy, nil)
	if len(log) != 4 {
		t.Fatalf("%+v", log)
	}
	return list, log
}

// TestDecode pins what a stored log must be.
func TestDecode(t *testing.T) {
	_, log := someLog(t)
	text := string(reduce.Encode(log))
	if back, err := reduce.Decode([]byte(text)); err != nil || !reflect.DeepEqual(back, log) {
		t.Errorf("have %+v, %v", back, err)
	}
	if none, err := reduce.Decode(reduce.Encode(nil)); err != nil || len(none) != 0 {
		t.Errorf("nothing: %+v, %v", none, err)
	}
	later := strings.Replace(text, `{"id"`, `{"later":{"a":1},"id"`, 1)
	if back, err := reduce.Decode([]byte(later)); err != nil || !reflect.DeepEqual(back, log) {
		t.Errorf("a key of later: %v", err)
	}
	for name, tt := range map[string]struct {
		change func(reduce.Log) any
		want   string
	}{
		"no id": {func(l reduce.Log) any { l[1].ID = "r1"; return l }, `entry 2: "r1" is no id`},
		"number zero": {func(l reduce.Log) any { l[0].ID = "r0000-1234"; return l },
			`"r0000-1234" is no id`},
		"kind": {func(l reduce.Log) any { l[0].Kind = "x"; return l }, `the unknown kind "x"`},
		"stub": {func(l reduce.Log) any { l[0].Placeholder = "x"; return l }, "placeholder"},
		"stub of another": {func(l reduce.Log) any { l[0].Placeholder = l[1].Placeholder; return l },
			"placeholder"},
		"digest": {func(l reduce.Log) any { l[0].Pointer.SHA256 = strings.Repeat("0", 64); return l },
			"its digest is not that of its id"},
		"short digest": {func(l reduce.Log) any {
			l[0].Pointer.SHA256 = l[0].Pointer.SHA256[:63]
			return l
		}, "digest"},
		"negative": {func(l reduce.Log) any { l[0].Pointer.Message = -1; return l }, "out of range"},
		"huge": {func(l reduce.Log) any { l[0].Pointer.Messages = 1<<30 + 1; return l },
			"out of range"},
		"span": {func(l reduce.Log) any { l[1].Pointer.Span = reduce.Span{From: 2, To: 1}; return l },
			"out of range"},
		"no messages":   {func(l reduce.Log) any { l[0].Pointer.Messages = 0; return l }, "of its kind"},
		"many messages": {func(l reduce.Log) any { l[1].Pointer.Messages = 2; return l }, "of its kind"},
		"call of a result": {func(l reduce.Log) any { l[2].Pointer.Call = 1; return l },
			"of its kind"},
		"twice": {func(l reduce.Log) any { return append(l, l[3]) }, "its id is there twice"},
		"order": {func(l reduce.Log) any { l[1], l[2] = l[2], l[1]; return l },
			"entry 3: it is not after the entry before"},
		"inside turns": {func(l reduce.Log) any { l[1].Pointer.Message = 1; return l },
			"entry 2: it is not after the entry before"},
		"too many": {func(reduce.Log) any { return make(reduce.Log, reduce.MaxRecords+1) },
			"it has more than 9999 entries"},
		"no log":    {func(reduce.Log) any { return 7 }, `a number does not fit the field "records"`},
		"version":   {nil, "the unknown version 2: this program reads version 1"},
		"format":    {nil, `the format is "x"`},
		"not whole": {nil, "unexpected end"},
		"long":      {nil, "it has more than 8388608 bytes"},
	} {
		var damaged string
		switch name {
		case "version":
			damaged = strings.Replace(text, `"version":1`, `"version":2`, 1)
		case "format":
			damaged = strings.Replace(text, "wasmagent.reduction", "x", 1)
		case "not whole":
			damaged = text[:100]
		case "long":
			damaged = text + strings.Repeat(" ", reduce.MaxFile-len(text)+1)
		default:
			_, log := someLog(t)
			records, err := json.Marshal(tt.change(log))
			if err != nil {
				t.Fatal(err)
			}
			damaged = `{"format":"wasmagent.reduction","version":1,"records":` + string(records) + `}`
		}
		back, err := reduce.Decode([]byte(damaged))
		var e *reduce.Error
		if back != nil || !errors.Is(err, reduce.ErrLog) || !errors.As(err, &e) ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	fits := text + strings.Repeat(" ", reduce.MaxFile-len(text))
	if _, err := reduce.Decode([]byte(fits)); err != nil {
		t.Errorf("%d bytes: %v", len(fits), err)
	}
}

// TestVerify tells of each entry, and first of the log itself.
func TestVerify(t *testing.T) {
	list, log := someLog(t)
	if faults := reduce.Verify(list, log); faults != nil {
		t.Error(faults)
	}
	changed := clone(t, list)
	changed[4].Calls[0].Arguments += "!"
	changed[5].Result.Text += "!"
	faults := reduce.Verify(changed, log)
	if len(faults) != 2 || faults[0].ID != log[1].ID || faults[1].ID != log[2].ID {
		t.Errorf("have %v", faults)
	}
	log[0].ID = ""
	if faults := reduce.Verify(changed, log); len(faults) != 1 || faults[0].Fault != reduce.ErrLog {
		t.Errorf("have %v", faults)
	}
}

// TestPlaces pins what a pointer that leads nowhere is told as.
func TestPlaces(t *testing.T) {
	list, log := someLog(t)
	for name, tt := range map[string]struct {
		entry  int
		change func(*reduce.Pointer)
		want   string
	}{
		"message": {3, func(p *reduce.Pointer) { p.Message = 99 },
			"it is at message 100, and there are 8"},
		"messages": {0, func(p *reduce.Pointer) { p.Messages = 99 },
			"it is at message 99, and there are 8"},
		"half a turn": {0, func(p *reduce.Pointer) { p.Messages = 2 },
			"messages 1 to 2 are not turns that may go"},
		"what the user said last": {0, func(p *reduce.Pointer) { p.Messages = 4 },
			"messages 1 to 4 are not turns that may go"},
		"role": {1, func(p *reduce.Pointer) { p.Role = "user" }, `role "assistant", not "user"`},
		"call": {1, func(p *reduce.Pointer) { p.Call = 1 }, "it is call 2 of message 5, which has 1"},
		"span": {2, func(p *reduce.Pointer) { p.Span.To++ }, "it is bytes 10 to 1001 of 1000"},
		"no result": {2, func(p *reduce.Pointer) { p.Message, p.Role = 4, message.Assistant },
			"message 5 has no result"},
	} {
		changed := append(reduce.Log{}, log[tt.entry])
		tt.change(&changed[0].Pointer)
		_, err := reduce.InvertOne(list, changed, changed[0].ID)
		if !errors.Is(err, reduce.ErrUnresolved) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, kept := reduce.Project(list, reduce.Policy{}, changed); len(kept) != 0 {
			t.Errorf("%s: an entry that leads nowhere is kept: %+v", name, kept)
		}
	}
}

// FuzzDecode reads logs that anybody may have written, and does everything with them.
func FuzzDecode(f *testing.F) {
	list, log := someLog(f)
	f.Add(reduce.Encode(log))
	f.Add([]byte(`{"format":"wasmagent.reduction","version":1,"records":[{"id":"r0001-0000"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := reduce.Decode(text)
		if err != nil {
			return
		}
		if again, err := reduce.Decode(reduce.Encode(log)); err != nil || len(again) != len(log) {
			t.Fatalf("it is not read again: %v", err)
		}
		faults := reduce.Verify(list, log)
		items, err := reduce.View(list, log)
		if (err == nil) != (len(faults) == 0) {
			t.Fatalf("%v, %v", faults, err)
		}
		var view []message.Message
		for _, i := range items {
			view = append(view, i.Message)
		}
		if full, err := reduce.Invert(view, log, list); len(faults) == 0 && (err != nil ||
			!reflect.DeepEqual(full, list)) {
			t.Fatalf("not given back: %v", err)
		}
		for _, r := range log {
			_, _ = reduce.InvertOne(list, log, r.ID)
		}
		_, _ = reduce.Search(list, log, "0123")
		view, next := reduce.Project(list, reduce.Policy{}, log)
		if err := message.Check(view); err != nil {
			t.Fatal(err)
		}
		_ = reduce.Verify(list, next)
		_ = reduce.Leaks(view, next)
	})
}
