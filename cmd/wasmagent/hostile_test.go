package main

import (
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
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

func TestFileBlockOfText(t *testing.T) {
	block := abi.Block{Type: abi.BlockFile, Name: "notes.txt", Text: "a text"}
	if got := blockText(block); got != "a text" {
		t.Errorf("%q, want the text", got)
	}
}
