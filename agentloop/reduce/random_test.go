package reduce_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// TestAnyHistory makes views of conversations of every shape that grow, under policies of every
// shape, and holds each to all that is promised: a provider takes it, the same again is the same,
// what was reduced stays so, and it gives the record back.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []message.Message
		var log reduce.Log
		for range rapid.IntRange(1, 6).Draw(t, "growths") {
			list = append(list, someTurns(t, len(list))...)
			before, policy := mustJSON(t, list), somePolicy(t)
			view, next := reduce.Project(list, policy, log)
			if mustJSON(t, list) != before {
				t.Fatal("the record was changed")
			}
			checkView(t, list, view, next)
			again, nextAgain := reduce.Project(list, policy, next)
			if !reflect.DeepEqual(view, again) || !reflect.DeepEqual(next, nextAgain) {
				t.Fatalf("another view the second time:\n%+v\n%+v", next, nextAgain)
			}
			checkKept(t, log, next)
			log = next
		}
	})
}

// checkView holds a view against its record, also after both have been stored.
func checkView(t *rapid.T, list, view []message.Message, log reduce.Log) {
	if err := message.Check(view); err != nil {
		t.Fatal(err)
	}
	for _, m := range view {
		for _, c := range m.Calls {
			if len(c.Arguments) > 0 && c.Arguments[0] == '{' && !json.Valid([]byte(c.Arguments)) {
				t.Fatalf("arguments that are no object: %s", c.Arguments)
			}
		}
	}
	if last := lastSaid(list); last != nil && !slices.ContainsFunc(view, func(m message.Message) bool {
		return m.Role == message.User && m.Text == last.Text
	}) {
		t.Fatal("what the user said last is not in the view")
	}
	full, err := reduce.Invert(view, log, list)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(full, list) {
		t.Fatalf("have %s\nwant %s", mustJSON(t, full), mustJSON(t, list))
	}
	stored, err := reduce.Decode(reduce.Encode(log))
	if err != nil {
		t.Fatal(err)
	}
	var reloaded []message.Message
	if err := json.Unmarshal([]byte(mustJSON(t, list)), &reloaded); err != nil {
		t.Fatal(err)
	}
	items, err := reduce.View(reloaded, stored)
	if err != nil {
		t.Fatal(err)
	}
	var shown []message.Message
	for _, i := range items {
		shown = append(shown, i.Message)
	}
	if have, want := mustJSON(t, shown), mustJSON(t, view); have != want {
		t.Fatalf("stored and shown: %s\nwant %s", have, want)
	}
	if err := reduce.Leaks(list, log); err != nil {
		t.Fatal(err)
	}
	if err := reduce.Leaks(view, log); (err == nil) != (len(log) == 0) {
		t.Fatalf("%d stubs, and the view leaks %v", len(log), err)
	}
}

// checkKept checks that what was reduced stays so: under the same id, or in turns that were
// cleared.
func checkKept(t *rapid.T, before, after reduce.Log) {
	for _, old := range before {
		_, ok := after.Find(old.ID)
		p := old.Pointer
		if !ok && !slices.ContainsFunc(after, func(r reduce.Record) bool {
			q := r.Pointer
			return r.Kind == reduce.Turns && q.Message <= p.Message &&
				p.Message+p.Messages <= q.Message+q.Messages
		}) {
			t.Fatalf("%+v is gone", old)
		}
	}
}

func lastSaid(list []message.Message) *message.Message {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == message.User {
			return &list[i]
		}
	}
	return nil
}

func mustJSON(t rapid.TB, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func somePolicy(t *rapid.T) reduce.Policy {
	return reduce.Policy{
		Trigger: rapid.SampledFrom([]int{0, 1, 512, 700, 2000}).Draw(t, "trigger"),
		Keep:    rapid.SampledFrom([]int{0, -1, 1, 100, 5000}).Draw(t, "keep"),
		Protect: rapid.IntRange(-1, 3).Draw(t, "protect"),
		Turns:   rapid.IntRange(-1, 5).Draw(t, "turns"),
	}
}

// someTurns is how a conversation goes on.
func someTurns(t *rapid.T, n int) (list []message.Message) {
	if n == 0 && rapid.Bool().Draw(t, "system") {
		list = append(list, message.Message{Role: message.System, Text: someText(t)})
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "turns") {
		m := message.Message{Role: message.Assistant, Text: someText(t), Model: "m",
			Time: time.Unix(int64(n), 0).UTC(), Usage: &message.Usage{Input: 3},
			Reasoning: []message.Reasoning{{Text: "hm", Provider: "p", Opaque: []byte(`{"s":1}`)}},
			Meta:      map[string]json.RawMessage{"k": []byte(`"v"`)}}
		if i == 0 && n == 0 || rapid.Bool().Draw(t, "user") {
			list = append(list, message.Message{Role: message.User, Text: someText(t)})
			continue
		}
		for c := range rapid.IntRange(0, 3).Draw(t, "calls") {
			m.Calls = append(m.Calls, message.Call{ID: fmt.Sprintf("c%d-%d-%d", n, i, c),
				Name: rapid.SampledFrom([]string{"read", "a]b\n", "", "ü"}).Draw(t, "name"),
				Arguments: rapid.SampledFrom([]string{"", "{}", "[1", `{"a":"` +
					strings.Repeat("x", 900) + `"}`, `{"b":"` + strings.Repeat(`\"`, 450) + `"}`,
					strings.Repeat("\x01", 800)}).Draw(t, "arguments")})
		}
		list = append(list, m)
		for _, c := range m.Calls {
			list = append(list, message.Message{Role: message.Tool, Result: &message.Result{
				CallID: c.ID, Name: c.Name, Outcome: message.OK, Text: someText(t)}})
		}
	}
	return list
}

// someText is short or long, of characters of every length, the same as another one now and then,
// and now and then it looks like a stub.
func someText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "hello", strings.Repeat("a", 300),
		strings.Repeat("é漢🙂", 90), strings.Repeat("b\n", 1000), strings.Repeat("漢", 300),
		"[reduced output r0001-abcd: 1 of 2 bytes left out]",
		"a\n[reduced duplicate r0002-0000: the same]",
		"[reduced turns r0001-abcd: 3 messages left out]",
	}).Draw(t, "text")
}

// TestAnyFit makes any conversation fit into any room: what comes of it fits, or nothing does.
func TestAnyFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := someTurns(t, 0)
		for range rapid.IntRange(0, 6).Draw(t, "more") {
			list = append(list, someTurns(t, len(list))...)
		}
		limit := rapid.IntRange(0, 20_000).Draw(t, "limit")
		tried := 0
		room := func(view []message.Message) reduce.Room {
			tried++
			switch n := len(mustJSON(t, view)); {
			case n > limit:
				return reduce.TooLong
			case n > limit*3/4:
				return reduce.Fits
			}
			return reduce.Roomy
		}
		policy := somePolicy(t)
		view, log, ok := reduce.Fit(list, policy, nil, room)
		if tried > 100 {
			t.Fatalf("%d views were tried", tried)
		}
		checkView(t, list, view, log)
		if (room(view) != reduce.TooLong) != ok {
			t.Fatalf("ok is %v", ok)
		}
		least, _ := reduce.Project(list, reduce.Policy{Trigger: 1, Keep: -1, Protect: -1, Turns: -1}, nil)
		if !ok && room(least) != reduce.TooLong {
			t.Fatalf("the tightest view fits and was not found: %s", mustJSON(t, least))
		}
		again, same, _ := reduce.Fit(list, policy, log, room)
		if ok && (!reflect.DeepEqual(again, view) || !reflect.DeepEqual(same, log)) {
			t.Fatal("what fits is changed again")
		}
	})
}
