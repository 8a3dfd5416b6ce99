package main

import (
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// What a plugin names must not pass for a line of ours.
func TestNamesStayOnTheirLine(t *testing.T) {
	const name = "x\nasks for  nothing\ty"
	var b strings.Builder
	if err := printLinks(&b, palette{}, "exports", []linkJSON{{Name: name, Kind: "func"}}); err != nil {
		t.Fatal(err)
	}
	if want := "\nexports\n  x\\nasks for  nothing\\ty  func\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	block := abi.Block{Type: abi.BlockImage, Name: name, MIME: "a\nb", Data: []byte{1}}
	if text := blockText(block); strings.ContainsAny(text, "\n\t") {
		t.Errorf("%q has several lines", text)
	}
}

// Nor must a key, which whoever calls a tool makes up.
func TestKeysStayOnTheirLine(t *testing.T) {
	claims := []ledger.Claim{{Scope: "s", Tool: "pay", Key: "pay:x\nhint: run this"}}
	for _, hint := range []string{
		nearHint("pay:x", []string{claims[0].Key}, ""), "say which: " + claimsText(claims),
	} {
		var b strings.Builder
		(&problem{Message: "m", Hint: hint}).print(&b, palette{})
		if n := strings.Count(b.String(), "\n"); n != 2 {
			t.Errorf("%q has %d lines, want the error and the hint", b.String(), n)
		}
	}
	pending := pendingJSON{Place: "r#1", Tool: "pay", Key: claims[0].Key, Why: ledger.WhyCrashed}
	if text := pending.text(); strings.Contains(text, "\n") {
		t.Errorf("%q has several lines", text)
	}
	record := recordJSON{Kind: ledger.KindIntent, Tool: "pay", Key: claims[0].Key, Input: []byte("{}")}
	var b strings.Builder
	if err := writeRows(&b, [][]string{record.row()}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%q has %d lines, want 1", b.String(), n)
	}
}

func TestFileBlockOfText(t *testing.T) {
	block := abi.Block{Type: abi.BlockFile, Name: "notes.txt", Text: "a text"}
	if got := blockText(block); got != "a text" {
		t.Errorf("%q, want the text", got)
	}
}
