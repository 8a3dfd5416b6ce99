package egress

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestScrubber(t *testing.T) {
	s, err := NewScrubber(map[string][]string{
		"short": {"hush-hush"}, "long": {"hush-hush-hush"}, "two": {"earlier value", "later value"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a hush-hush b":              "a [secret short] b",
		"a hush-hush-hush b":         "a [secret long] b", // the longer one, not its beginning and a rest
		"earlier value, later value": "[secret two], [secret two]",
		"hush hush":                  "hush hush",
		base64.StdEncoding.EncodeToString([]byte("user:hush-hush-hush")): "dXNlcjp[secret long]",
	} {
		if have := s.Text(text); !strings.HasPrefix(have, want) {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
	if have := s.Head("it is hush-hu"); have != "it is " {
		t.Errorf("the beginning of a secret is %q", have)
	}
	if have := s.Head("it is hush-hush, I say"); have != "it is [secret short], I say" {
		t.Errorf("have %q", have)
	}
	var none *Scrubber
	if none.Text("text") != "text" || none.Head("text") != "text" {
		t.Error("none changes a text")
	}
}

func TestScrubberRefuses(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"at the least":  {strings.Repeat("x", MinSecret), ""},
		"shorter":       {strings.Repeat("x", MinSecret-1), "shorter than 8 bytes"},
		"at the most":   {strings.Repeat("x", MaxSecret), ""},
		"longer":        {strings.Repeat("x", MaxSecret+1), "longer than 8192 bytes"},
		"its own place": {"[secret ", "its own name"},
	} {
		_, err := NewScrubber(map[string][]string{"token": {c.value}})
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), c.value) && c.value != "[secret " {
			t.Errorf("%s: the error shows it: %v", name, err)
		}
	}
}
