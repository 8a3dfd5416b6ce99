package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
)

// All but yes is no, also the end of the input, and an answer that goes on for ever.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		answer string
		yes    bool
	}{
		{"y\n", true}, {"Y\r\n", true}, {" yes \n", true}, {"YES", true},
		{"", false}, {"\n", false}, {"n\n", false}, {"yep\n", false}, {"y y\n", false},
		{strings.Repeat(" ", 100) + "y\n", false},
	} {
		var shown strings.Builder
		err := ask(&shown, strings.NewReader(c.answer), "fetch\x1b[2J")
		refused, ok := errors.AsType[*notAgreedError](err)
		if c.yes && err != nil || !c.yes && (!ok || refused.text == "") {
			t.Errorf("%q: %v", c.answer, err)
		}
		if shown.String() != `Allow fetch\u001b[2J? [y/N] ` {
			t.Errorf("asks %q", shown.String())
		}
	}
}

// What is shown of a file is of the one that is allowed, and not of one that was put there for the
// look.
func TestImportsAreOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.wasm")
	if err := os.WriteFile(file, hosttest.Tiny("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := hostImports(&loader.Plugin{Path: file, Digest: "sha256:of another"})
	if _, ok := errors.AsType[*loader.ChangedError](err); !ok {
		t.Errorf("%v", err)
	}
}
