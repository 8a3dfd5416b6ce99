package plugins

import "testing"

func TestCleanLines(t *testing.T) {
	for in, want := range map[string]string{
		"one":                             "one",
		"\n one \n":                       "one",
		"fact\n\tat\n\t\tdeep\n\nend":     "fact\n    at\n      deep\n  end",
		"a\n\t\t\t\tfour\n\t\t\t\t\tfive": "a\n          four\n          five",
		"a\n\x1b[1m\u202eb":               "a\n  b",
	} {
		if got := cleanLines(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestShortDigest(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"sha256:0b3c":          "sha256:0b3c",
		"sha256:0123456789ab":  "sha256:0123456789ab",
		"sha256:0123456789abc": "sha256:0123456789ab",
		"0123456789abcdef":     "0123456789ab",
	} {
		if got := shortDigest(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
