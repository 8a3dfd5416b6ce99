package session

import (
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

func TestNames(t *testing.T) {
	d := openDir(t)
	long := strings.Repeat("a", MaxName)
	for _, name := range []string{"a", "0", "a-b_c", long} {
		if err := create(t, d, name).Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"..", ".", "../x", "a/b", `a\b`, "/etc/passwd", "A", "é", "-a", "_a",
		"a.b", "a\n", "a\x00", " a", long + "a"} {
		bad := new(NameError)
		for what, try := range map[string]func() error{
			"create":  func() error { _, err := d.Create(name, "", Meta{}); return err },
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
	_, errCreate := d.Create("s", "", Meta{})
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
	if _, err := d.Create("locked", "", Meta{}); !strings.Contains(text(err), "symbolic link") {
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
	_, errCreate := d.Create("s", "", Meta{})
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
		// … which is stored, so that nobody makes the call again
		if open := f.Unanswered(); len(open) != 0 {
			t.Errorf("at %d: calls %v are open", at, open)
		}
		p := f.Header().Parent
		want := Parent{ID: whole.Header.ID, Name: "s", Messages: n}
		if p == nil || *p != want || f.Header().ID == p.ID {
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
	if err := errors.Join(f.Close(), d.SetArchived("a", false)); err != nil {
		t.Error(err)
	}
	if err := mustResume(t, d, "f").Close(); err != nil { // a fork is not put away
		t.Error(err)
	}
	if err := mustResume(t, d, "a").Close(); err != nil {
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
	if err := d.SetArchived("s", false); err != nil {
		t.Errorf("archived: %v", err)
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
	list, err := d.List()
	if err != nil || list[0].Meta.Title != "x" || list[0].Meta.Counts.Messages != 2 {
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
