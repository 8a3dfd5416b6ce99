package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

func openDir(t testing.TB) *Dir {
	t.Helper()
	d, err := OpenDir(t.TempDir(), &Options{now: func() time.Time { return time.Unix(1e9, 0).UTC() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func writeFile(t *testing.T, d *Dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, d *Dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(d.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func create(t *testing.T, d *Dir, name string, list ...message.Message) *Session {
	t.Helper()
	s, err := d.Create(name, "", Meta{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Append(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	return s
}

func said(text string) message.Message { return message.Message{Role: message.User, Text: text} }

func calls(ids ...string) message.Message {
	m := message.Message{Role: message.Assistant, Model: "m",
		Usage: &message.Usage{Input: 3, Output: 2}}
	for _, id := range ids {
		m.Calls = append(m.Calls, message.Call{ID: id, Name: "f", Arguments: "{}"})
	}
	return m
}

func meta(value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"k": json.RawMessage(value)}
}

func answer(id string) message.Message {
	return message.Message{Role: message.Tool,
		Result: &message.Result{CallID: id, Outcome: message.OK, Text: "1"}}
}

func TestSaveAndLoad(t *testing.T) {
	d := openDir(t)
	list := []message.Message{
		{Role: message.System, Text: "Be brief."},
		{Role: message.User, Text: "line\nbreaks\r\n and \u2028, \x00, </script>, é"},
		calls("a", "b"), answer("a"), answer("b"),
		{Role: message.Assistant, Text: "Done.", Meta: meta("[1,\n2]")},
	}
	s := create(t, d, "work", list...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(readFile(t, d, "work.jsonl"), "\n"); n != 1+len(list) {
		t.Errorf("%d lines for a header and %d messages", n, len(list))
	}
	s, err := d.Resume("work")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	equal(t, "the messages", s.Messages(), list)
	if len(s.Warnings()) > 0 {
		t.Errorf("warnings %q", s.Warnings())
	}
	h := s.Header()
	if len(h.ID) != 36 || h.ID[14] != '7' || h.Created.Unix() != 1e9 {
		t.Errorf("header %+v", h)
	}
}

func TestModes(t *testing.T) {
	d := openDir(t)
	inner, err := OpenDir(filepath.Join(d.folder, "a", "sessions"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	s := create(t, inner, "s", said("x"))
	writeTorn(t, inner, "s", s)
	for file, want := range map[string]fs.FileMode{
		".": 0o700 | fs.ModeDir, "s.jsonl": 0o600, "s.meta.json": 0o600, "s.lock": 0o600, "s.torn": 0o600,
	} {
		info, err := os.Stat(inner.path(file))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v (%v), want %v", file, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(inner.folder, 0o720); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(inner.folder, nil); !strings.Contains(text(err), "chmod 700") {
		t.Errorf("a folder that a group can write to: %v", err)
	}
}

// writeTorn leaves half a line behind s, and appends.
func writeTorn(t *testing.T, d *Dir, name string, s *Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d, name+".jsonl", readFile(t, d, name+".jsonl")+`{"role":"us`)
	s, err := d.Resume(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Append(t.Context(), said("y")), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestTornTwice(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"))
	before := readFile(t, d, "s.jsonl")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d, "s.jsonl", before+`{"role":"us`)
	s, err := d.Resume("s")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have := readFile(t, d, "s.jsonl"); have != before+`{"role":"us` {
		t.Errorf("resuming alone changed the file: %q", have)
	}
	for range 2 {
		writeFile(t, d, "s.jsonl", before)
		writeTorn(t, d, "s", mustResume(t, d, "s"))
	}
	if have := readFile(t, d, "s.torn"); have != strings.Repeat(`{"role":"us`+"\n", 2) {
		t.Errorf("kept aside: %q", have)
	}
}

func mustResume(t *testing.T, d *Dir, name string) *Session {
	t.Helper()
	s, err := d.Resume(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A call whose result never came gets one when the next turn begins, in the file and in the view.
func TestUnknownIsStored(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"), calls("a", "b"), answer("b"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustResume(t, d, "s")
	defer s.Close()
	if open := s.Unanswered(); len(open) != 1 || open[0].ID != "a" || len(s.Warnings()) != 0 {
		t.Errorf("unanswered %v, warnings %q", open, s.Warnings())
	}
	before := mustRead(t, d, "s").Warnings
	if len(before) != 1 || before[0] != `call "a" of f has no result: it counts as unknown` {
		t.Errorf("warnings %q", before)
	}
	if err := s.Append(t.Context(), said("y")); err != nil {
		t.Fatal(err)
	}
	got, err := d.Read("s")
	if err != nil || len(got.Warnings) > 0 {
		t.Fatal(err, got.Warnings)
	}
	equal(t, "the file's view", got.Messages, s.Messages())
	a, b := got.Messages[2], got.Messages[3]
	if a.Result.Outcome != message.Unknown || a.Result.CallID != "a" || a.Time.IsZero() {
		t.Errorf("the first result is %+v", a)
	}
	if b.Result.Outcome != message.OK || b.Result.CallID != "b" {
		t.Errorf("the second result is %+v", b)
	}
}

// A result that is found out later, before the next turn, is taken.
func TestLateResultIsTaken(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", calls("a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustResume(t, d, "s")
	defer s.Close()
	if err := s.Append(t.Context(), answer("a"), said("y")); err != nil {
		t.Fatal(err)
	}
	equal(t, "the messages", s.Messages(), []message.Message{calls("a"), answer("a"), said("y")})
}

func TestAppendRefuses(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"), calls("a"), answer("a"))
	file := readFile(t, d, "s.jsonl")
	view := s.Messages()
	for name, tt := range map[string]struct {
		list []message.Message
		want string
	}{
		"a result for no call": {[]message.Message{said("y"), answer("z")},
			`line 6: a result of call "z", which no earlier message asks for`},
		"a second result": {[]message.Message{answer("a")}, `line 5: a second result of call "a"`},
		"an unknown role": {[]message.Message{{Role: "x"}}, `line 5: the unknown role "x"`},
		"a later system prompt": {[]message.Message{{Role: message.System}},
			"line 5: a system prompt that is not the first message"},
		"a line too long": {[]message.Message{said(strings.Repeat("x", MaxLine))},
			"line 5: the line would have more than 33554432 bytes"},
	} {
		err := s.Append(t.Context(), tt.list...)
		if invalid := new(InvalidError); !errors.As(err, &invalid) ||
			err.Error() != "session "+d.path("s.jsonl")+" is not valid: "+tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	raw := said("y")
	raw.Meta = meta("{")
	if err := s.Append(t.Context(), raw); err == nil {
		t.Error("a raw value that is no JSON was stored")
	}
	if have := readFile(t, d, "s.jsonl"); have != file {
		t.Errorf("the file has changed: %q", have)
	}
	equal(t, "the view", s.Messages(), view)
	if err := s.Append(t.Context(), said("y")); err != nil {
		t.Errorf("a refused message spoiled the session: %v", err)
	}
}

// The longest line that may be written can be read.
func TestLongestLine(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a line of 32 MiB")
	}
	d := openDir(t)
	s := create(t, d, "s")
	empty := len(`{"role":"user","text":""}` + "\n")
	if err := s.Append(t.Context(), said(strings.Repeat("x", MaxLine-empty))); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Read("s"); err != nil || len(got.Messages) != 1 {
		t.Errorf("reading it: %v", err)
	}
}

func TestFileLimit(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"))
	s.size = MaxFile // as if it were full
	err := s.Append(t.Context(), said("y"))
	if !strings.HasSuffix(text(err), "line 3: the file would have more than 268435456 bytes") {
		t.Errorf("have %v", err)
	}
	if err := os.Truncate(d.path("s.jsonl"), MaxFile+1); err != nil {
		t.Fatal(err)
	}
	want := "session " + d.path("s.jsonl") + " is not valid: the file has more than 268435456 bytes"
	if _, err := d.Read("s"); text(err) != want {
		t.Errorf("have %v", err)
	}
}

// A write that fails leaves the file as it was, and the session usable.
func TestWriteFails(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"))
	file, good := s.file, readFile(t, d, "s.jsonl")
	reader, err := os.Open(d.path("s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s.file = reader // which cannot be written
	err = s.Append(t.Context(), said("y"))
	if err == nil || !strings.Contains(err.Error(), "resume the session") {
		t.Errorf("neither written nor cut: %v", err)
	}
	if err := s.Append(t.Context(), said("z")); err == nil {
		t.Error("it may end in half a line, and was written")
	}
	s.file, s.fault = file, nil
	equal(t, "the view", s.Messages(), []message.Message{said("x")})
	if have := readFile(t, d, "s.jsonl"); have != good {
		t.Errorf("the file has changed: %q", have)
	}
}

// Calls without stored results are told, and a result that comes late takes the place of unknown.
func TestUnanswered(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"), calls("a", "b", "c"), answer("a"))
	var ids []string
	for _, c := range s.Unanswered() {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("have %v", ids)
	}
	if err := s.Append(t.Context(), answer("b"), said("y")); err != nil {
		t.Fatal(err)
	}
	if open := s.Unanswered(); len(open) != 0 {
		t.Errorf("have %v", open)
	}
	list := s.Messages()
	if list[3].Result.Outcome != message.OK || list[4].Result.Outcome != message.Unknown {
		t.Errorf("have %+v", list)
	}
}
