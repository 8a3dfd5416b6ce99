package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	s, err := d.Create(name, Meta{})
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
	m := message.Message{Role: message.Assistant, Model: "m", Usage: &message.Usage{Input: 3, Output: 2}}
	for _, id := range ids {
		m.Calls = append(m.Calls, message.Call{ID: id, Name: "f", Arguments: "{}"})
	}
	return m
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
		{Role: message.Assistant, Text: "Done.", Meta: map[string]json.RawMessage{"k": json.RawMessage("[1,\n2]")}},
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
	if _, err := OpenDir(inner.folder, nil); err == nil || !strings.Contains(err.Error(), "chmod 700") {
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
	if w := s.Warnings(); len(w) != 1 || w[0] != `call "a" of f has no result: it counts as unknown` {
		t.Errorf("warnings %q", w)
	}
	if err := s.Append(t.Context(), said("y")); err != nil {
		t.Fatal(err)
	}
	got, err := d.Read("s")
	if err != nil || len(got.Warnings) > 0 {
		t.Fatal(err, got.Warnings)
	}
	equal(t, "the file's view", got.Messages, s.Messages())
	if m := got.Messages[2]; m.Result.Outcome != message.Unknown || m.Result.CallID != "a" || m.Time.IsZero() {
		t.Errorf("the first result is %+v", m)
	}
	if m := got.Messages[3]; m.Result.Outcome != message.OK || m.Result.CallID != "b" {
		t.Errorf("the second result is %+v", m)
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
		"a result for no call":  {[]message.Message{said("y"), answer("z")}, `line 6: a result of call "z", which no earlier message asks for`},
		"a second result":       {[]message.Message{answer("a")}, `line 5: a second result of call "a"`},
		"an unknown role":       {[]message.Message{{Role: "x"}}, `line 5: the unknown role "x"`},
		"a later system prompt": {[]message.Message{{Role: message.System}}, "line 5: a system prompt that is not the first message"},
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
	raw.Meta = map[string]json.RawMessage{"k": json.RawMessage("{")}
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
	if err == nil || !strings.HasSuffix(err.Error(), "line 3: the file would have more than 268435456 bytes") {
		t.Errorf("have %v", err)
	}
	if err := os.Truncate(d.path("s.jsonl"), MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read("s"); text(err) != "session "+d.path("s.jsonl")+" is not valid: the file has more than 268435456 bytes" {
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

func TestNames(t *testing.T) {
	d := openDir(t)
	long := strings.Repeat("a", MaxName)
	for _, name := range []string{"a", "0", "a-b_c", long} {
		if err := create(t, d, name).Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"..", ".", "../x", "a/b", `a\b`, "/etc/passwd", "A", "é", "-a", "_a", "a.b", "a\n",
		"a\x00", " a", long + "a"} {
		bad := new(NameError)
		for what, try := range map[string]func() error{
			"create":  func() error { _, err := d.Create(name, Meta{}); return err },
			"resume":  func() error { _, err := d.Resume(name); return err },
			"read":    func() error { _, err := d.Read(name); return err },
			"fork":    func() error { _, err := d.Fork(name, "f", 0); return err },
			"fork to": func() error { _, err := d.Fork("a", name, 0); return err },
			"archive": func() error { return d.SetArchived(name, true) },
		} {
			if err := try(); !errors.As(err, &bad) || bad.Name != name {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if list, err := d.List(); err != nil || len(list) != 4 {
		t.Errorf("%d sessions (%v)", len(list), err)
	}
	s := create(t, d, "")
	if s.Name() != s.Header().ID {
		t.Errorf("without a name it is %q, its ID is %q", s.Name(), s.Header().ID)
	}
}

func TestNotThereAndThere(t *testing.T) {
	d := openDir(t)
	_, errResume := d.Resume("s")
	_, errRead := d.Read("s")
	_, errFork := d.Fork("s", "f", 0)
	for _, err := range []error{errResume, errRead, errFork, d.SetArchived("s", true)} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), d.path("s.jsonl")) {
			t.Errorf("have %v", err)
		}
	}
	if list, err := os.ReadDir(d.folder); err != nil || len(list) > 0 {
		t.Errorf("files were made: %v (%v)", list, err)
	}
	if err := create(t, d, "s").Close(); err != nil {
		t.Fatal(err)
	}
	_, errCreate := d.Create("s", Meta{})
	_, errFork = d.Fork("s", "s", 0)
	for _, err := range []error{errCreate, errFork} {
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("have %v", err)
		}
	}
}

func TestFilesOfOtherKinds(t *testing.T) {
	d := openDir(t)
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	if err := os.WriteFile(outside, []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Mkdir(d.path("dir.jsonl"), 0o700), os.Symlink(outside, d.path("out.jsonl")),
		os.Symlink("in2.jsonl", d.path("in.jsonl")), os.Symlink(outside, d.path("locked.lock")))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, d, "in2.jsonl", header)
	for name, want := range map[string]string{
		"dir": "a directory", "out": "a symbolic link, which is not followed",
		"in": "a symbolic link, which is not followed",
	} {
		_, errRead := d.Read(name)
		_, errResume := d.Resume(name)
		_, errFork := d.Fork(name, "f", 0)
		for _, err := range []error{errRead, errResume, errFork} {
			if text(err) != "session "+d.path(name+".jsonl")+" is not valid: "+want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := d.Create("locked", Meta{}); !strings.Contains(text(err), "symbolic link") {
		t.Errorf("a lock elsewhere: %v", err)
	}
	list, err := d.List()
	if err != nil || len(list) != 4 {
		t.Fatalf("%d sessions (%v)", len(list), err)
	}
	for _, i := range list {
		if invalid := new(InvalidError); (i.Name == "in2") != (i.Err == nil) ||
			i.Err != nil && !errors.As(i.Err, &invalid) {
			t.Errorf("%s: %v", i.Name, i.Err)
		}
	}
}

func TestBusy(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"))
	_, errResume := d.Resume("s")
	_, errCreate := d.Create("s", Meta{})
	for _, err := range []error{errResume, errCreate, d.SetArchived("s", true)} {
		if busy := new(BusyError); !errors.As(err, &busy) || busy.File != d.path("s.lock") {
			t.Errorf("have %v", err)
		}
	}
	if got, err := d.Read("s"); err != nil || len(got.Messages) != 1 {
		t.Errorf("reading needs no lock: %v", err)
	}
	if _, err := d.List(); err != nil {
		t.Errorf("nor does a list: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if err := s.Append(t.Context(), said("y")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := mustResume(t, d, "s").Close(); err != nil {
		t.Error(err)
	}
}

func TestFork(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s")
	later := `{"role":"user","text":"y","later":{"version":[1,  2]}}` + "\n"
	if err := s.Append(t.Context(), said("x"), calls("a", "b"), answer("b")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := readFile(t, d, "s.jsonl") + later
	writeFile(t, d, "s.jsonl", file)
	whole := mustRead(t, d, "s")
	for at := range len(whole.Messages) + 1 {
		f, err := d.Fork("s", fmt.Sprint("f", at), at)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := at
		if at == 0 {
			n = len(whole.Messages)
		}
		// a fork between a call and its result leaves the call unknown
		if m := f.Messages()[:n]; m[0].Text != "x" || message.Check(f.Messages()) != nil {
			t.Errorf("at %d: %+v", at, m)
		}
		if p := f.Header().Parent; p == nil || *p != (Parent{whole.Header.ID, "s", n}) || f.Header().ID == p.ID {
			t.Errorf("at %d: header %+v", at, f.Header())
		}
	}
	if fork := readFile(t, d, "f0.jsonl"); !strings.HasSuffix(fork, later) {
		t.Errorf("what this version does not know is lost: %s", fork)
	}
	if readFile(t, d, "s.jsonl") != file {
		t.Error("the parent has changed")
	}
	for _, at := range []int{-1, 6} {
		_, err := d.Fork("s", "g", at)
		if bad := new(RangeError); !errors.As(err, &bad) || *bad != (RangeError{"s", at, 5}) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

func mustRead(t *testing.T, d *Dir, name string) *Transcript {
	t.Helper()
	got, err := d.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestListAndArchive(t *testing.T) {
	d := openDir(t)
	for i, name := range []string{"b", "a", "c"} {
		s := create(t, d, name, said("  Tell me\n "+strings.Repeat("é", 100)), calls("a"), answer("a"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000*(i/2)), 0) // a and b at once, c later
		if err := os.Chtimes(d.path(name+".jsonl"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, d, "not a session.jsonl", "")
	writeFile(t, d, "notes.txt", "")
	if err := d.SetArchived("a", true); err != nil {
		t.Fatal(err)
	}
	list, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
		if i.Err != nil || i.Header.ID == "" || i.Meta.Model != "m" || i.Bytes == 0 {
			t.Errorf("%+v", i)
		}
		if want := "Tell me " + strings.Repeat("é", titleLength-9) + "…"; i.Meta.Title != want {
			t.Errorf("title %q", i.Meta.Title)
		}
		want := Counts{Messages: 3, Calls: 1, Usage: message.Usage{Input: 3, Output: 2}, Bytes: i.Bytes}
		if i.Meta.Counts == nil || *i.Meta.Counts != want {
			t.Errorf("counts %+v", i.Meta.Counts)
		}
		if i.Meta.Archived != (i.Name == "a") {
			t.Errorf("%s archived: %v", i.Name, i.Meta.Archived)
		}
	}
	if fmt.Sprint(names) != "[c a b]" {
		t.Errorf("order %v", names)
	}
	if _, err := d.Resume("a"); !errors.Is(err, ErrArchived) {
		t.Errorf("resuming an archived session: %v", err)
	}
	f, err := d.Fork("a", "f", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), d.SetArchived("a", false), mustResume(t, d, "a").Close()); err != nil {
		t.Error(err)
	}
}

// What a meta file says can be made anew, so a bad one is no reason to refuse its session.
func TestBadMeta(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s", said("x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, d, "s.jsonl", readFile(t, d, "s.jsonl")+`{"role":"user"}`+"\n")
	if list, err := d.List(); err != nil || list[0].Meta.Counts != nil || list[0].Err != nil {
		t.Errorf("counts of another state: %+v (%v)", list, err)
	}
	writeFile(t, d, "s.meta.json", "{")
	if list, err := d.List(); err != nil || list[0].Header.ID == "" || list[0].Err == nil {
		t.Errorf("%+v (%v)", list, err)
	}
	s = mustResume(t, d, "s")
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "s.meta.json") {
		t.Errorf("warnings %q", w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(); err != nil || list[0].Meta.Title != "x" || list[0].Meta.Counts.Messages != 2 {
		t.Errorf("%+v (%v)", list, err)
	}
	writeFile(t, d, "s.meta.json", strings.Repeat(" ", MaxMeta-2)+"{}")
	if _, err := d.readMeta("s"); err != nil {
		t.Errorf("a meta file of MaxMeta bytes: %v", err)
	}
	writeFile(t, d, "s.meta.json", strings.Repeat(" ", MaxMeta-1)+"{}")
	if _, err := d.readMeta("s"); err == nil {
		t.Error("a larger one was read")
	}
}

func TestListLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("writes ten thousand files")
	}
	d := openDir(t)
	for i := range MaxSessions {
		writeFile(t, d, fmt.Sprintf("s%d.jsonl", i), "")
	}
	list, err := d.List()
	if err != nil || len(list) != MaxSessions {
		t.Fatalf("%d sessions: %v", len(list), err)
	}
	writeFile(t, d, "one-more.jsonl", "")
	if _, err := d.List(); err == nil || !strings.Contains(err.Error(), "10000") {
		t.Errorf("have %v", err)
	}
}

func TestAppendSideBySide(t *testing.T) {
	d := openDir(t)
	s := create(t, d, "s")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := s.Append(t.Context(), said("x"), calls("a"), answer("a")); err != nil {
					t.Error(err)
				}
				s.Messages()
			}
		})
	}
	all.Wait()
	equal(t, "the file", mustRead(t, d, "s").Messages, s.Messages())
}
