package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

func init() {
	now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
}

// remembers is a host with an empty space.
func remembers() *pdktest.Host { return &pdktest.Host{Remembers: map[string]pdk.Raw{}} }

func call(t *testing.T, h *pdktest.Host, tool, args string) string {
	t.Helper()
	got, err := h.Call(tool, args)
	if err != nil {
		return err.Error()
	}
	return got
}

func TestNotes(t *testing.T) {
	h := remembers()
	for _, step := range []struct{ tool, args, want string }{
		{"note_find", `{}`, `{"notes":[],"more":false}`},
		{"note_add", `{"text": "The dog is called Rex.", "tags": ["dog"]}`, `{"id":1}`},
		{"note_add", `{"text": "Tea, not coffee."}`, `{"id":2}`},
		{"note_add", `{"text": "REX is six.", "tags": ["dog", "age"]}`, `{"id":3}`},
		{"note_find", `{"tag": "age"}`,
			`{"notes":[{"id":3,"text":"REX is six.","tags":["dog","age"],"added":"2026-03-01T12:00:00Z"}],"more":false}`},
		{"note_find", `{"contains": "tea"}`,
			`{"notes":[{"id":2,"text":"Tea, not coffee.","added":"2026-03-01T12:00:00Z"}],"more":false}`},
		{"note_remove", `{"id": 2}`, `{"removed":true}`},
		{"note_remove", `{"id": 2}`, `{"removed":false}`},
		{"note_add", `{"text": "A number is not given twice."}`, `{"id":4}`},
		{"note_add", `{"text": " "}`, "invalid_input: at /text: is empty"},
	} {
		if got := call(t, h, step.tool, step.args); got != step.want {
			t.Errorf("%s %s: %s; want %s", step.tool, step.args, got, step.want)
		}
	}
	for args, want := range map[string]string{
		`{}`: "4 3 1 false", `{"tag": "dog"}`: "3 1 false", `{"contains": "rex"}`: "3 1 false",
		`{"limit": 2}`: "4 3 true", `{"limit": 2, "before": 3}`: "1 false",
		`{"limit": 3}`:  "4 3 1 false",
		`{"before": 1}`: "false", `{"tag": "cat"}`: "false",
	} {
		if got := ids(t, h, args); got != want {
			t.Errorf("%s: %s; want %s", args, got, want)
		}
	}
}

func ids(t *testing.T, h *pdktest.Host, args string) string {
	t.Helper()
	var found Found
	if err := json.Unmarshal([]byte(call(t, h, "note_find", args)), &found); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, n := range found.Notes {
		text += fmt.Sprint(n.ID, " ")
	}
	return text + fmt.Sprint(found.More)
}

// TestManyNotes has more than the host lists at a time.
func TestManyNotes(t *testing.T) {
	h := remembers()
	for range 1005 {
		call(t, h, "note_add", `{"text": "x"}`)
	}
	if got := ids(t, h, `{"limit": 2}`); got != "1005 1004 true" {
		t.Error(got)
	}
	if got := ids(t, h, `{"limit": 2, "before": 3}`); got != "2 1 false" {
		t.Error(got)
	}
}

func TestNotGranted(t *testing.T) {
	for tool, args := range map[string]string{"note_add": `{"text": "x"}`, "note_find": `{}`,
		"note_remove": `{"id": 1}`} {
		if got := call(t, &pdktest.Host{}, tool, args); !strings.HasPrefix(got,
			"handler: denied: ") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestLimits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ä", n) }
	for name, test := range map[string]struct{ at, past AddInput }{
		"text": {AddInput{Text: long(maxText)}, AddInput{Text: long(maxText + 1)}},
		"tags": {AddInput{Text: "x", Tags: strings.Fields(strings.Repeat("t ", maxTags))},
			AddInput{Text: "x", Tags: strings.Fields(strings.Repeat("t ", maxTags+1))}},
		"tag": {AddInput{Text: "x", Tags: []string{long(maxTag)}},
			AddInput{Text: "x", Tags: []string{long(maxTag + 1)}}},
		"least": {AddInput{Text: "x", Tags: []string{"t"}},
			AddInput{Text: "x", Tags: []string{""}}},
	} {
		if err := check(test.at); err != nil {
			t.Errorf("%s: at the limit: %v", name, err)
		}
		if err := check(test.past); err == nil {
			t.Errorf("%s: past the limit: no error", name)
		}
	}
	h := remembers()
	for last, want := range map[int]string{maxIDs - 1: fmt.Sprintf(`{"id":%d}`, maxIDs),
		maxIDs: "handler: full: there are no more numbers"} {
		raw, err := pdk.Encode(last)
		if err != nil {
			t.Fatal(err)
		}
		h.Remembers[lastKey] = raw
		if got := call(t, h, "note_add", `{"text": "x"}`); got != want {
			t.Errorf("after %d: %s", last, got)
		}
	}
	if _, err := h.Call("note_find", fmt.Sprintf(`{"limit": %d}`, maxFound)); err != nil {
		t.Error(err)
	}
	if _, err := h.Call("note_find", fmt.Sprintf(`{"limit": %d}`, maxFound+1)); err == nil {
		t.Error("more notes than a call gives")
	}
}
