package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"escape sequence", "\x1b[31mred", `\u001b[31mred`},
		{"carriage return", "safe\rgone", `safe\u000dgone`},
		{"C1", "\u009b31m", `\u009b31m`},
		{"direction", "user\u202etxt.exe", `user\u202etxt.exe`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"tags, beyond 16 bits", "hi\U000e0041", `hi\udb40\udc41`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"variation selectors", "a\ufe00b\U000e0101", `a\ufe00b\udb40\udd01`},
		{"fillers", "a\u3164b\uffa0c\u115fd", `a\u3164b\uffa0c\u115fd`},
		{"blank braille", "a\u2800b", `a\u2800b`},
		{"private use", "a\ue000b", `a\ue000b`},
		{"spaces stay", "1\u00a0000\u2009€\u3000円", "1\u00a0000\u2009€\u3000円"},
		{"not UTF-8", "a\xffb", `a\xffb`},
		{"joiners stay", "می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"},
		{"other scripts", "Zoë 東京", "Zoë 東京"},
	} {
		if got := visible(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// In JSON the escapes change how a string is written and not what it is.
func TestWriteJSON(t *testing.T) {
	in := map[string]string{"a": "\x1b\u202e\u2028\U000e0041<&>", "b": "\u007f"}
	for _, form := range []string{"json", "jsonl"} {
		var b strings.Builder
		if err := writeJSON(&b, form, in); err != nil {
			t.Fatal(err)
		}
		if strings.IndexFunc(b.String(), invisible) >= 0 {
			t.Errorf("%s: %q has characters that cannot be seen", form, b.String())
		}
		if lines := strings.Count(b.String(), "\n"); (lines == 1) != (form == "jsonl") {
			t.Errorf("%s: %d lines", form, lines)
		}
		out := map[string]string{}
		if err := json.Unmarshal([]byte(b.String()), &out); err != nil {
			t.Fatal(err)
		}
		for key, want := range in {
			if out[key] != want {
				t.Errorf("%s: %q came back as %q", form, want, out[key])
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {64 << 10, "64.0 KiB"},
		{1<<20 - 1, "1024.0 KiB"}, {1 << 20, "1.0 MiB"}, {5 << 29, "2.5 GiB"},
	} {
		if got := bytesText(c.n); got != c.want {
			t.Errorf("bytesText(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	long := strings.Repeat("ä", maxSummary)
	for _, c := range []struct{ in, want string }{
		{"One. Two.", "One."}, {"One\nTwo", "One"}, {"", ""}, {"v1.2 is it", "v1.2 is it"},
		{long, long}, {long + "x", long[:2*(maxSummary-1)] + "…"},
	} {
		if got := summary(c.in); got != c.want {
			t.Errorf("summary(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPalette(t *testing.T) {
	if got := (palette{}).red("x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	if got := (palette{on: true}).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
}
