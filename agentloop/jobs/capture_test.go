package jobs

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestCaptureHasWhatWasWritten writes and looks in any order: the looks together are what was
// written, up to the cap and the last whole character, and none ends within a character.
func TestCaptureHasWhatWasWritten(t *testing.T) {
	alphabet := []string{"a", "\n", "é", "漢", "🙂", "\xff", "\xe6", "\xf0\x9f"}
	rapid.Check(t, func(t *rapid.T) {
		c := &capture{max: rapid.IntRange(1, 40).Draw(t, "cap")}
		var written, seen string
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "look") {
				text, truncated := c.look()
				if truncated != (len(written) > c.max) {
					t.Fatalf("truncated is %v after %d bytes of %d", truncated, len(written), c.max)
				}
				seen += text
				continue
			}
			piece := strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 4).Draw(t, "piece"), "")
			cut := rapid.IntRange(0, len(piece)).Draw(t, "cut") // within a character, too
			c.write([]byte(piece[:cut]))
			c.write([]byte(piece[cut:]))
			written += piece
		}
		waiting := c.waiting()
		last, _ := c.look()
		if waiting != len(last) {
			t.Fatalf("%d bytes were waiting, and %d came", waiting, len(last))
		}
		if want := prefix(written, c.max); seen+last != want {
			t.Fatalf("seen %q, want %q of %q", seen+last, want, written)
		}
	})
}

// prefix is as much of text as fits, without a character at the end that is only begun: one that
// more bytes could make whole.
func prefix(text string, most int) string {
	text = text[:min(most, len(text))]
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		tail := text[len(text)-back:]
		if utf8.RuneStart(tail[0]) && !utf8.FullRuneInString(tail) {
			return text[:len(text)-back]
		}
	}
	return text
}

func TestCaptureAtItsLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		max    int
		writes []string
		want   string
		cut    bool
	}{
		{"ten bytes into four", 4, []string{"0123456789"}, "0123", true},
		{"as many as fit", 4, []string{"01", "23"}, "0123", false},
		{"one more", 4, []string{"01", "23", "4"}, "0123", true},
		{"nothing is taken after the cut", 4, []string{"012", "🙂", "3"}, "012", true},
		{"within a character", 4, []string{"漢漢"}, "漢", true},
		{"nothing more", 4, []string{"0123", ""}, "0123", false},
	} {
		c := &capture{max: tt.max}
		for _, w := range tt.writes {
			c.write([]byte(w))
		}
		for range 2 { // it stays cut
			text, truncated := c.look()
			if text != tt.want || truncated != tt.cut {
				t.Errorf("%s: %q, truncated %v", tt.name, text, truncated)
			}
			tt.want = ""
		}
	}
}

func TestLines(t *testing.T) {
	c := &capture{max: 100}
	c.line("first")
	c.write([]byte("half"))
	_, _ = c.look()
	c.line("second")
	c.write([]byte("end\n"))
	c.line("third")
	if text, _ := c.look(); text != "\nsecond\nend\nthird\n" {
		t.Errorf("%q", text)
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\tb  c\n":                    "a\n\tb  c\n",
		"\x1b[31;1mred\x1b[0m \x1b[2Jx":  "red x",
		"10%\r20%\r\ndone":               "10%\n20%\ndone",
		"a\u202eb\u200bc\x00\U000E0041d": "abcd",
		"\xff漢\xe6":                      "\uFFFD漢\uFFFD",
		"cut \x1b[":                      "cut ",
	} {
		if have := clean(text); have != want {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
}
