package main

import (
	"errors"
	"strings"
	"testing"
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
