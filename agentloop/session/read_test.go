package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

var update = flag.Bool("update", false, "write what reading gives into testdata/read/*.txtar")

// TestRead runs the case files: a file "session", or "quoted" with Go strings for what txtar cannot
// hold, and what reading it gives in "want".
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { readCase(t, file) })
	}
}

func readCase(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := caseInput(t, a)
	have := result(t, in)
	if *update {
		a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(have)})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(a.Files) != 2 || have != string(a.Files[1].Data) {
		t.Errorf("have\n%s\nwant\n%s", have, a.Files[len(a.Files)-1].Data)
	}
	goOn(t, in)
}

func caseInput(t *testing.T, a *txtar.Archive) []byte {
	t.Helper()
	if a.Files[0].Name == "session" {
		return a.Files[0].Data
	}
	var in []byte
	for line := range strings.Lines(string(a.Files[0].Data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, text...)
	}
	return in
}

func result(t *testing.T, in []byte) string {
	t.Helper()
	got, err := Read(bytes.NewReader(in))
	if err != nil {
		if invalid := new(InvalidError); !errors.As(err, &invalid) {
			t.Errorf("%T is no InvalidError", err)
		}
		return "error: " + err.Error() + "\n"
	}
	var out bytes.Buffer
	for _, w := range got.Warnings {
		out.WriteString("warning: " + w + "\n")
	}
	for _, m := range got.Messages {
		if err := appendLine(&out, m); err != nil {
			t.Error(err)
		}
	}
	return out.String()
}

// goOn holds that whatever can be read is a history that can be sent, and can be gone on with: the
// view is the same again, and the file needs no warning any more.
func goOn(t *testing.T, in []byte) {
	t.Helper()
	before, err := Read(bytes.NewReader(in))
	if err != nil {
		return
	}
	if err := message.Check(before.Messages); err != nil {
		t.Errorf("the view cannot be sent: %v", err)
	}
	d := openDir(t)
	writeFile(t, d, "s.jsonl", string(in))
	s, err := d.Resume("s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(t.Context(), said("more")); err != nil {
		t.Fatal(err)
	}
	after, err := d.Read("s")
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Warnings) > 0 && before.view.missing() == nil {
		t.Errorf("warnings after an append: %q", after.Warnings)
	}
	equal(t, "the resumed session", after.Messages, s.Messages())
	if len(before.view.missing()) == 0 { // else the results have a time now
		equal(t, "what was there before", after.Messages[:len(before.Messages)], before.Messages)
	}
	if n := len(before.Messages); after.Messages[n].Text != "more" || len(after.Messages) != n+1 {
		t.Errorf("%d messages became %d", n, len(after.Messages))
	}
	kept, _ := os.ReadFile(d.path("s.torn"))
	if want := before.torn; want != nil && string(kept) != string(want)+"\n" {
		t.Errorf("kept aside: %q, want %q", kept, want)
	}
}

func equal(t *testing.T, what string, have, want []message.Message) {
	t.Helper()
	a, errA := json.Marshal(have)
	b, errB := json.Marshal(want)
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%s: have %s\nwant %s (%v)", what, a, b, err)
	}
}

const header = `{"format":"wasmagent.session","version":1,"source":"wasmagent","id":"0190"}` + "\n"

func TestReadLimits(t *testing.T) {
	user := `{"role":"user","text":"x"}` + "\n"
	line := int64(len(header))
	file := int64(len(header) + len(user))
	for name, tt := range map[string]struct {
		in   string
		max  limits
		want string
	}{
		"at both limits": {header + user, limits{line, file}, ""},
		"a line too long": {header + user, limits{line - 1, file},
			"the session is not valid: line 1: the line has more than 75 bytes"},
		"a file too big": {header + user, limits{line, file - 1},
			"the session is not valid: the file has more than 102 bytes"},
		"a torn line counts": {header + user + strings.Repeat("x", 102), limits{101, 1000},
			"the session is not valid: line 3: the line has more than 101 bytes"},
	} {
		_, err := read(strings.NewReader(tt.in), tt.max)
		if have := text(err); have != tt.want {
			t.Errorf("%s: have %q, want %q", name, have, tt.want)
		}
	}
	long := func(n int) string {
		pad := strings.Repeat("x", n-len(header)-len(`,"pad":""`))
		return strings.Replace(header, "}", `,"pad":"`+pad+`"}`, 1)
	}
	if _, err := Read(strings.NewReader(long(MaxHeader))); err != nil {
		t.Errorf("a header of MaxHeader bytes: %v", err)
	}
	_, err := Read(strings.NewReader(long(MaxHeader + 1)))
	if !strings.HasSuffix(text(err), "line 1: no header: the line has more than 4096 bytes") {
		t.Errorf("a longer header: %v", err)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("the disk is broken")
	in := &failing{strings.NewReader(header), broken}
	if _, err := Read(in); !errors.Is(err, broken) {
		t.Errorf("have %v", err)
	}
}

type failing struct {
	*strings.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	if f.Len() == 0 {
		return 0, f.err
	}
	return f.Reader.Read(b)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzRead holds that nothing in a file makes reading panic, that every error says where, and that
// what can be read can be sent and gone on with.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/read/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if a.Files[0].Name == "session" {
			f.Add(a.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, err := Read(bytes.NewReader(in))
		if invalid := new(InvalidError); err != nil && !errors.As(err, &invalid) {
			t.Errorf("%T: %v", err, err)
		}
		goOn(t, in)
	})
}
