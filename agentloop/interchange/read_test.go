package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

var update = flag.Bool("update", false, "write what is expected anew")

// TestRead holds what files say against what is expected, and has them written again, byte for
// byte.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no cases")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, err := Read(bytes.NewReader(a.Files[0].Data), "")
			if err != nil {
				t.Fatal(err)
			}
			have := shown(in)
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(have)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[1].Data); have != want {
				t.Errorf("have\n%s\nwant\n%s", have, want)
			}
			kind, _, _ := strings.Cut(filepath.Base(file), "_")
			if !strings.HasPrefix(string(in.Format), kind) {
				t.Errorf("it is taken for one of %s", in.Format)
			}
			if have := written(t, in.Format, &in.Conversation); have != string(a.Files[0].Data) {
				t.Errorf("it is not given back:\n%s", have)
			}
			for _, f := range Formats {
				backAgain(t, f, in)
			}
		})
	}
}

// shown is what a file says, for people.
func shown(in *Imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q %s %s\n", in.Format, in.ID, in.Title, in.CWD,
		in.Created.Format("2006-01-02 15:04:05.000"))
	for _, n := range in.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for i := range in.Messages {
		fmt.Fprintf(&b, "%s\n", encode(fields(&in.Messages[i])))
	}
	return b.String()
}

func written(t testing.TB, f Format, c *Conversation) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, c); err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return b.String()
}

// backAgain writes a conversation that went on here, and reads it.
func backAgain(t testing.TB, f Format, in *Imported) {
	t.Helper()
	c := in.Conversation
	c.Messages = append(slices.Clone(c.Messages), message.Message{Role: message.User, Text: "More?"},
		message.Message{Role: message.Assistant, Text: "No."})
	text := written(t, f, &c)
	got, err := Read(strings.NewReader(text), f)
	if err != nil {
		t.Fatalf("%s: %v\n%s", f, err, text)
	}
	sameMessages(t, got.Messages, c.Messages)
	if again := written(t, f, &got.Conversation); again != text {
		t.Errorf("%s: it is not given back:\n%s\n%s", f, again, text)
	}
}

func sameMessages(t testing.TB, have, want []message.Message) {
	t.Helper()
	if len(have) != len(want) {
		t.Fatalf("%d messages, want %d", len(have), len(want))
	}
	for i := range want {
		if h, w := encode(fields(&have[i])), encode(fields(&want[i])); !bytes.Equal(h, w) {
			t.Errorf("message %d:\nhave %s\nwant %s", i+1, h, w)
		}
	}
}

// claudeText is a file that is all right.
const claudeText = `{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}` + "\n"

func TestRefused(t *testing.T) {
	a, err := txtar.ParseFile("testdata/refused.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := append(a.Files, txtar.File{Name: "nothing", Data: []byte("0 neither\n")},
		txtar.File{Name: "not UTF-8", Data: []byte("2 not UTF-8\n" + claudeText + "\xff\n")},
		txtar.File{Name: "too deep", Data: []byte("1 inside each other\n" +
			strings.Repeat("[", MaxDepth+1))})
	for _, tt := range cases {
		expected, text, _ := strings.Cut(string(tt.Data), "\n")
		line, want, _ := strings.Cut(expected, " ")
		_, err := Read(strings.NewReader(text), "")
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(err.Error(), want) || fmt.Sprint(e.Line) != line {
			t.Errorf("%s: have %v, want line %s: %s", tt.Name, err, line, want)
		}
		if strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: words of the program's own: %v", tt.Name, err)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, f := range append(slices.Clone(Formats), "word") {
		_, err := Read(strings.NewReader(claudeText), f)
		if (err == nil) != (f == ClaudeCode) {
			t.Errorf("%s: %v", f, err)
		}
	}
	c := &Conversation{Messages: []message.Message{{Role: message.User, Text: "x"}}}
	if err := Write(&bytes.Buffer{}, "word", c); err == nil {
		t.Error("written for word")
	}
	if err := Write(&bytes.Buffer{}, Codex, &Conversation{}); err == nil {
		t.Error("nothing was written")
	}
}

func TestLimits(t *testing.T) {
	max := limits{line: 10, file: 20, lines: 3}
	for text, want := range map[string]string{
		strings.Repeat("a", 10) + "\n": "", strings.Repeat("a", 11) + "\n": "line 1: more than 10 bytes",
		strings.Repeat("a", 10): "", strings.Repeat("a", 11): "line 1: more than 10 bytes",
		"123456789\n123456789\n": "", "1234567890\n123456789\n": "the session: more than 20 bytes",
		"1234567890\n123456789": "", "1234567890\n1234567890": "the session: more than 20 bytes",
		"\n\n\n": "", "\n\n\n\n": "the session: more than 3 lines",
		"\n\n\nx": "the session: more than 3 lines",
	} {
		lines, err := readLines(strings.NewReader(text), max)
		have := ""
		if err != nil {
			have = err.Error()
		}
		if (want == "") != (err == nil) || !strings.Contains(have, want) {
			t.Errorf("%q: have %v, want %q", text, err, want)
		}
		if err == nil && limited(lines, Codex, limits{10, int64(len(text)) + 1, 3}) != nil {
			t.Errorf("%q can be read, and not written", text)
		}
	}
	for name, lines := range map[string][]string{"a line": {"12345678901"},
		"the file": {"1234567890", "1234567890"}, "the lines": {"", "", "", ""}} {
		var raw [][]byte
		for _, l := range lines {
			raw = append(raw, []byte(l))
		}
		if limited(raw, Codex, max) == nil {
			t.Errorf("%s may be too long", name)
		}
	}
	deep := `{"type":"user","uuid":"u","x":` + strings.Repeat("[", MaxDepth-1) + `"\"]"` +
		strings.Repeat("]", MaxDepth-1) + `,"message":{"content":"x"}}`
	if _, err := Read(strings.NewReader(deep), ""); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", MaxLine)
	for text, want := range map[string]string{long: "neither", long + "x": "more than"} {
		if _, err := Read(strings.NewReader(text), ""); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

func TestDisk(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Read(failing{broken}, ""); err != broken {
		t.Error(err)
	}
	c := &Conversation{Messages: []message.Message{{Role: message.User, Text: "x"}}}
	if err := Write(failing{broken}, Codex, c); err != broken {
		t.Error(err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error)  { return 0, f.error }
func (f failing) Write([]byte) (int, error) { return 0, f.error }

// FuzzRead reads what may be a file, and writes it again: every byte of it.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/read/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range Formats {
			in, err := Read(bytes.NewReader(text), format)
			if err != nil {
				if !errors.As(err, new(*Error)) {
					t.Fatal(err)
				}
				continue
			}
			if err := message.Check(in.Messages); err != nil {
				t.Fatal(err)
			}
			stored := encode(in.Messages)
			in.Messages = nil
			if err := json.Unmarshal(stored, &in.Messages); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSuffix(string(text), "\n") + "\n"
			if have := written(t, format, &in.Conversation); have != want {
				t.Errorf("have %q\nwant %q", have, want)
			}
			backAgain(t, format, in)
		}
	})
}
