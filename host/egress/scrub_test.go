package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
)

func TestScrub(t *testing.T) {
	s := newScrubber([]word{{"abcdefgh", "A"}, {"efghijkl", "B"}, {"abcdefghijklmnop", "C"}})
	for text, want := range map[string]string{
		"":                         "",
		"abcdefg":                  "abcdefg",
		"abcdefgh":                 "[secret A]",
		"xabcdefghx":               "x[secret A]x",
		"abcdefghabcdefgh":         "[secret A][secret A]",
		"efghijkl":                 "[secret B]",
		"abcdefghijkl.":            "[secret A].", // both, as one
		"abcdefghijklmnop.":        "[secret C].", // the longest that begins there
		"abcdefgabcdefgh":          "abcdefg[secret A]",
		"hgfedcba":                 "[secret A]",
		"ABCDEFGH":                 "[secret A]",
		"6162636465666768":         "[secret A]",
		"%61%62%63%64%65%66%67%68": "[secret A]",
	} {
		if got := s.text(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	if (*scrubber)(nil).text("abcdefgh") != "abcdefgh" {
		t.Error("without secrets a text changed")
	}
}

// TestBase64Within shows, for each place in a longer text, that nothing of a value but the bits at
// its two ends is left of its base64.
func TestBase64Within(t *testing.T) {
	value := "correct horse battery"
	s := newScrubber([]word{{value, "A"}})
	for before := range 9 {
		for after := range 4 {
			text := strings.Repeat("<", before) + value + strings.Repeat(">", after)
			for _, coding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				whole := coding.EncodeToString([]byte(text))
				got := s.text(whole)
				rest := len(got) - len("[secret A]")
				if !strings.Contains(got, "[secret A]") || rest > len(whole)-len(value)*8/6+1 {
					t.Errorf("%d %d: %s of %s", before, after, got, whole)
				}
			}
		}
	}
}

func TestFormsAreLongEnough(t *testing.T) {
	for _, value := range []string{"12345678", "aaaaaaaa", "pässword", "\U0001F512\U0001F511",
		"K\u212aelvin", "\"\\/<>&'+"} {
		for _, form := range forms(value) {
			if len(form) < window {
				t.Errorf("%q: %q", value, form)
			}
		}
	}
}

// naive replaces forms position by position, in the first n bytes of text: slow and plain.
func naive(all []form, text string, n int) string {
	var out strings.Builder
	end := 0
	for i := range n {
		var longest form
		for _, f := range all {
			if len(f.text) > len(longest.text) && strings.HasPrefix(text[i:], f.text) {
				longest = f
			}
		}
		if i >= end {
			out.WriteString(longest.marker)
		}
		if end = max(end, i+len(longest.text)); i >= end {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// FuzzScrub shows that however a text is cut, the same comes out; that it is what looking at every
// position gives; and that no form of a secret is in it. Secrets are letters and digits: one of
// other characters could arise from what replaces it.
func FuzzScrub(f *testing.F) {
	f.Add("correcthorse", "horsebattery", "xx\x00yy\x01zz", uint64(3))
	f.Add("aaaaaaaa", "aaaaaaaaaa", "\x00\x00a\x01", uint64(1))
	f.Add("abcabcabc", "cabcabca", "abcabcabcabcabca\x02\x03\x12\x11", uint64(99))
	f.Fuzz(func(t *testing.T, one, two, text string, cuts uint64) {
		words := []word{{letters(one), "["}, {letters(two), "["}}
		if len(words[0].value) < MinSecret || len(words[1].value) < MinSecret || len(one)+len(two) > 40 ||
			len(text) > 100 {
			return
		}
		var all []form
		for _, w := range words {
			for _, text := range forms(w.value) {
				all = append(all, form{text, marker(w.name)})
			}
		}
		input := weave(all, text)
		s := newScrubber(words)
		want := s.text(input)
		if slow := naive(all, input, len(input)); want != slow {
			t.Fatalf("%q: %q, and position by position %q", input, want, slow)
		}
		st := stream{s: s}
		for rest := input; rest != ""; cuts = cuts*6364136223846793005 + 1442695040888963407 {
			n := min(len(rest), int(cuts>>60))
			st.write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got := st.finish(true); string(got) != want {
			t.Fatalf("%q: in pieces %q, at once %q", input, got, want)
		}
		for _, f := range all {
			if strings.Contains(want, f.text) {
				t.Fatalf("%q is in %q", f.text, want)
			}
		}
		n := int(cuts % uint64(len(input)+1))
		st = stream{s: s}
		st.write([]byte(input[:n]))
		want = naive(all, input[:n], naiveSafe(all, input[:n]))
		if got := st.finish(false); string(got) != want {
			t.Fatalf("%q, cut off: %q, not %q", input[:n], got, want)
		}
	})
}

// naiveSafe is where the first form begins that goes on behind the end of text.
func naiveSafe(all []form, text string) int {
	for i := range len(text) {
		for _, f := range all {
			if len(f.text) > len(text)-i && strings.HasPrefix(f.text, text[i:]) {
				return i
			}
		}
	}
	return len(text)
}

// weave puts forms of the words, and beginnings of them, where a text has low bytes.
func weave(all []form, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 64 {
			b.WriteByte(c)
			continue
		}
		f := all[int(c/2)*len(all)/32].text
		b.WriteString(f[:len(f)-int(c%2)])
	}
	return b.String()
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isAlnum(byte(r)) {
			return r
		}
		return -1
	}, s)
}

// TestSkipTable shows that a form is found wherever it stands, beside anything.
func TestSkipTable(t *testing.T) {
	s := newScrubber([]word{{"correct horse", "A"}})
	noise := bytes.Repeat(binary.BigEndian.AppendUint64(nil, 0x636f727265637420), 3) // "correct "
	for i := range 40 {
		text := strings.Repeat("c", i) + "correct horse" + string(noise)
		want := strings.Repeat("c", i) + "[secret A]" + string(noise)
		if got := s.text(text); got != want {
			t.Errorf("%d: %q", i, got)
		}
	}
}
