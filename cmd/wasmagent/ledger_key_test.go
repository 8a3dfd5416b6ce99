package main

import "testing"

// FuzzKeyText checks that every key is read as it is shown, and shown as nothing that a terminal
// obeys.
func FuzzKeyText(f *testing.F) {
	for _, key := range []string{"", "pay:7", `"`, `"pay:7"`, "pay:a\x00b", "pay:\xff", "pay:ä",
		"pay:\t", "pay:\ufffd", "pay:\U000e0101", `pay:a\x00b`, "pay: a "} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		for _, text := range []string{keyText(key), quotedKey(key)} {
			if keyOf(text) != key || oneLine(text) != text {
				t.Errorf("the key %q is shown as %s, which is read as %q", key, text, keyOf(text))
			}
		}
	})
}
