package abi

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "Sort rows by a column.", "Sort rows by a column."},
		{"empty", "", ""},
		{"other scripts", "Größe, 日本語, נתונים", "Größe, 日本語, נתונים"},
		{"emoji", "ready 🚀", "ready 🚀"},
		{"line breaks", "one\r\n\ttwo\u2028three\u0085four", "one two three four"},
		{"spaces", "  a \u00a0\u3000 b  ", "a b"},
		{"only spaces", " \n ", ""},
		{"nul, bell, delete", "a\x00b\ac\x7fd", "abcd"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"eight-bit introducer", "\u009b31mred", "red"},
		{"sequence cut off", "a\x1b[12", "a"},
		{"window title", "\x1b]0;title\ax", "]0;titlex"},
		{"lone escape", "a\x1bb", "ab"},
		{"bidirectional", "user\u202egnp.exe\u202c \u2066x\u2069\u200f\u061c", "usergnp.exe x"},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufeffg\u00adh", "abcdegh"},
		{"tags", "ok\U000e0068\U000e0069\U000e007f", "ok"},
		{"variation selectors", "a\ufe0fb\U000e0101c", "abc"},
		{"fillers", "a\u3164b\u115fc\u2800d\u034fe", "abcde"},
		{"private use", "a\ue000b\U0010fffdc", "abc"},
		{"not UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := CleanText(tt.in, MaxTextChars)
			if got != tt.want {
				t.Errorf("CleanText(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := CleanText(got, MaxTextChars); again != got {
				t.Errorf("cleaning %q again gives %q", got, again)
			}
		})
	}
}

func TestCleanTextCut(t *testing.T) {
	tests := []struct {
		name, in string
		max      int
		want     string
	}{
		{"at the limit", "abcde", 5, "abcde"},
		{"one past", "abcdef", 5, "abcd…"},
		{"wide characters at the limit", "日本語日本", 5, "日本語日本"},
		{"wide characters one past", "日本語日本語", 5, "日本語日…"},
		{"the space counts", "abcd e", 5, "abcd…"},
		{"the space fits", "abc d", 5, "abc d"},
		{"removed characters do not count", "a\x00b\x00c\x00d\x00e\x00\x00", 5, "abcde"},
		{"white space past the limit", "abcde \n ", 5, "abcde"},
		{"one character", "ab", 1, "…"},
		{"none", "ab", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := CleanText(tt.in, tt.max); got != tt.want {
				t.Errorf("CleanText(%q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
			}
		})
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\x1b[31mb\u202e\xff c", 3)
	f.Add(strings.Repeat("日 ", 40), 7)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = 1 + max&0xff
		got := CleanText(s, max)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > max {
			t.Fatalf("CleanText(%q, %d) = %q", s, max, got)
		}
		if strings.ContainsAny(got, "\x1b\x00\n\r\u202e\u200b") {
			t.Fatalf("CleanText(%q, %d) = %q", s, max, got)
		}
		if again := CleanText(got, max); again != got {
			t.Fatalf("cleaning %q again gives %q", got, again)
		}
	})
}

func TestCutText(t *testing.T) {
	for _, tt := range []struct {
		text string
		max  int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 3, "äö…"}, {"äöü", 3, "äöü"}, {"ab", 1, "…"},
	} {
		if have := CutText(tt.text, tt.max); have != tt.want {
			t.Errorf("%q at %d: %q, want %q", tt.text, tt.max, have, tt.want)
		}
	}
}
