package excerpt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestCutAtTheLimit pins the edge: Max bytes pass, one more is cut.
func TestCutAtTheLimit(t *testing.T) {
	for name, tt := range map[string]struct{ max, limit int }{
		"default": {0, excerpt.DefaultMax},
		"set":     {4000, 4000},
		"small":   {10, excerpt.MinMax},
	} {
		s := &excerpt.Store{Max: tt.max}
		text := strings.Repeat("a", tt.limit)
		if e := s.Cut(text); e.Text != text || e.Handle != "" || e.Bytes != 0 || !s.Empty() {
			t.Errorf("%s: %d bytes were cut", name, tt.limit)
		}
		e := s.Cut(text + "b")
		if len(e.Text) > tt.limit || e.Handle == "" || e.Bytes != tt.limit+1 || s.Empty() {
			t.Errorf("%s: %d bytes, handle %q, of %d", name, len(e.Text), e.Handle, e.Bytes)
		}
		if !strings.HasPrefix(e.Text, "aaaa") || !strings.HasSuffix(e.Text, "aab") {
			t.Errorf("%s: head or tail is missing", name)
		}
	}
}

// TestReadAll reads texts of characters of every length through the tool, page by page.
func TestReadAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aé漢🙂\n")), 400, 3000, -1).Draw(t, "text")
		s := &excerpt.Store{Max: excerpt.MinMax}
		e := s.Cut(text)
		if e.Bytes == 0 {
			if e.Text != text {
				t.Fatal("a short text was changed")
			}
			return
		}
		if !utf8.ValidString(e.Text) || len(e.Text) > excerpt.MinMax {
			t.Fatalf("a broken excerpt of %d bytes", len(e.Text))
		}
		marker := regexp.MustCompile(`\n\[… (\d+) of \d+ bytes left out here: read_more ` +
			`\{"handle":"[^"]+","offset":(\d+)\} reads on …\]\n`)
		m := marker.FindStringSubmatchIndex(e.Text)
		left, _ := strconv.Atoi(e.Text[m[2]:m[3]])
		offset, _ := strconv.Atoi(e.Text[m[4]:m[5]])
		head, tail := e.Text[:m[0]], e.Text[m[1]:]
		if head != text[:offset] || tail != text[offset+left:] {
			t.Fatal("head, what is left out and tail are not the text")
		}
		read := head
		for len(read) < len(text) {
			page, err := readMore(s, e.Handle, len(read))
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.ValidString(page) || len(page) == 0 {
				t.Fatalf("a broken page %q", page)
			}
			read += page
		}
		if read != text {
			t.Fatal("the pages are not the text")
		}
	})
}

func readMore(s *excerpt.Store, handle string, offset int) (string, error) {
	tools := plugins.NewRegistry(nil)
	if err := tools.Add(s.Tool()); err != nil {
		return "", err
	}
	res, err := tools.Call(context.Background(), plugins.Call{Tool: excerpt.Name,
		Input: fmt.Appendf(nil, `{"handle":%q,"offset":%d}`, handle, offset)})
	if err != nil {
		return "", err
	}
	return res.Content[0].Text, nil
}

// TestReadMoreRefuses pins what the model is told when there is nothing to read.
func TestReadMoreRefuses(t *testing.T) {
	s := &excerpt.Store{Max: excerpt.MinMax}
	handle := s.Cut(strings.Repeat("a", 2000)).Handle
	for _, tt := range []struct {
		handle string
		offset int
		want   string
	}{
		{"out-0", 0, `no output is kept under the handle 'out-0'`},
		{handle, 2000, "the output ends at byte 2000"},
		{handle, -1, "at /offset"},
	} {
		_, err := readMore(s, tt.handle, tt.offset)
		if text := plugins.ModelText(err); !strings.Contains(text, tt.want) {
			t.Errorf("%s, %d: %q, want %q", tt.handle, tt.offset, text, tt.want)
		}
	}
	if page, err := readMore(s, handle, 1999); err != nil || page != "a" {
		t.Errorf("the last byte: %q, %v", page, err)
	}
}

// TestKeepIsBounded pins that the oldest texts make room for new ones.
func TestKeepIsBounded(t *testing.T) {
	s := &excerpt.Store{Max: excerpt.MinMax, Keep: 6000}
	var handles []string
	for i := range 3 {
		handles = append(handles, s.Cut(strings.Repeat(strconv.Itoa(i), 3000)).Handle)
	}
	if again := s.Cut(strings.Repeat("2", 3000)).Handle; again != handles[2] {
		t.Errorf("the same text has the handles %s and %s", handles[2], again)
	}
	for i, handle := range handles {
		if _, err := readMore(s, handle, 0); (err == nil) != (i > 0) {
			t.Errorf("text %d: %v", i, err)
		}
	}
	if e := s.Cut(strings.Repeat("a", 6000)); e.Handle == "" {
		t.Error("a text of Keep bytes is not kept")
	}
	e := s.Cut(strings.Repeat("a", 6001))
	if e.Handle != "" || !strings.Contains(e.Text, "too many to be kept") {
		t.Errorf("a text of more than Keep bytes: handle %q", e.Handle)
	}
}

// TestNoCharacters pins that bytes which are no text at all are cut all the same.
func TestNoCharacters(t *testing.T) {
	s := &excerpt.Store{Max: excerpt.MinMax}
	b := make([]byte, 5000)
	for i := range b {
		b[i] = 0x80 | byte(rand.IntN(0x40))
	}
	if e := s.Cut(string(b)); len(e.Text) > excerpt.MinMax {
		t.Errorf("%d bytes", len(e.Text))
	}
}

func TestTool(t *testing.T) {
	s := &excerpt.Store{Max: excerpt.MinMax}
	handle := s.Cut(strings.Repeat("a", 2000)).Handle
	input, _ := json.Marshal(map[string]any{"handle": handle})
	pluginstest.Tool(t, s.Tool(),
		pluginstest.Case{Name: "read", Input: string(input)},
		pluginstest.Case{Name: "gone", Input: `{"handle":"x"}`, Kind: plugins.ErrHandler})
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &excerpt.Store{Max: excerpt.MinMax, Age: time.Minute}
		text := strings.Repeat("a", 2000)
		handle := s.Cut(text).Handle
		time.Sleep(time.Minute - 1)
		if _, err := readMore(s, handle, 0); err != nil {
			t.Errorf("just before its age: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := readMore(s, handle, 0); err == nil || !s.Empty() {
			t.Error("at its age: still there")
		}
		if again := s.Cut(text).Handle; again != handle {
			t.Errorf("the same text has the handles %s and %s", handle, again)
		}
	})
}

func TestSecret(t *testing.T) {
	s := &excerpt.Store{Max: excerpt.MinMax, Secret: true}
	text := strings.Repeat("a", 2000)
	first, second := s.Cut(text).Handle, s.Cut(text).Handle
	if first == second || len(first) < len("out-")+26 {
		t.Errorf("the handles %s and %s can be guessed", first, second)
	}
	for _, handle := range []string{first, second} {
		if page, err := readMore(s, handle, 1990); err != nil || page != "aaaaaaaaaa" {
			t.Errorf("%s: %q, %v", handle, page, err)
		}
	}
}
