package main

import (
	"fmt"
	"strings"
)

// maxShift is how many lines from its stated place a hunk is looked for.
const maxShift = 1000

// conflict says why a hunk does not fit the text.
type conflict struct {
	Hunk     int    `json:"hunk"`               // from 1
	Line     int    `json:"line"`               // of the text, from 1
	Expected string `json:"expected,omitempty"` // the hunk's line
	Found    string `json:"found,omitempty"`    // the text's line
	Reason   string `json:"reason"`
}

func (c *conflict) Error() string {
	return fmt.Sprintf("hunk %d does not fit at line %d: %s", c.Hunk, c.Line, c.Reason)
}

// move tells that a hunk fits at another line than its header says.
type move struct {
	Hunk       int `json:"hunk" doc:"number of the hunk, from 1"`
	HeaderLine int `json:"header_line" doc:"line where the header puts it"`
	Line       int `json:"line" doc:"line of the old text where it was applied"`
}

// apply changes text by all hunks, or by none when one of them does not fit (*conflict).
func apply(text string, hunks []hunk) (string, []move, error) {
	a := applier{lines: splitLines(text)}
	var moves []move
	for i := range hunks {
		h := &hunks[i]
		at, err := a.place(i+1, h)
		if err != nil {
			return "", nil, err
		}
		if at != h.first() {
			moves = append(moves, move{i + 1, h.oldStart, h.oldStart + at - h.first()})
		}
		a.copyTo(at)
		a.write(h)
		a.shift = at - h.first()
	}
	a.copyTo(len(a.lines))
	return a.out.String(), moves, nil
}

type applier struct {
	lines []string // the old text
	next  int      // index of the first line that is not yet copied
	shift int      // how far from its stated place the last hunk was found
	out   strings.Builder
	open  bool // the last line written has no newline
}

// first is the index of the hunk's first old line; a hunk without old lines follows a line.
func (h *hunk) first() int {
	if h.oldCount == 0 {
		return h.oldStart
	}
	return h.oldStart - 1
}

// place finds the one index where the old lines of the hunk are.
func (a *applier) place(number int, h *hunk) (int, error) {
	old := h.side('+')
	want := h.first() + a.shift
	if len(old) == 0 {
		want = h.first() // nothing to look for: only the stated place can be right
	}
	if want >= a.next && a.matches(want, old) {
		return want, nil
	}
	var found []int
	if len(old) > 0 {
		end := min(len(a.lines)-len(old), want+maxShift)
		for at := max(a.next, want-maxShift); at <= end; at++ {
			if a.matches(at, old) {
				found = append(found, at)
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return 0, a.conflict(number, h, want, found)
}

// matches reports whether the old lines are at index at.
func (a *applier) matches(at int, old []string) bool {
	if at > len(a.lines)-len(old) {
		return false
	}
	for i, line := range old {
		if !a.same(at+i, line) {
			return false
		}
	}
	return true
}

// same compares line at of the text with a hunk's line. A text that ends without a newline fits
// a diff that does not mention it.
func (a *applier) same(at int, line string) bool {
	have := a.lines[at]
	return have == line || at == len(a.lines)-1 && have+"\n" == line
}

func (a *applier) copyTo(end int) {
	for ; a.next < end; a.next++ {
		a.writeLine(a.lines[a.next])
	}
}

func (a *applier) write(h *hunk) {
	for _, l := range h.lines {
		switch l.op {
		case ' ':
			a.copyTo(a.next + 1)
		case '-':
			a.next++
		case '+':
			a.writeLine(l.text)
		}
	}
}

func (a *applier) writeLine(line string) {
	if a.open {
		a.out.WriteByte('\n')
	}
	a.out.WriteString(line)
	a.open = !strings.HasSuffix(line, "\n")
}

// conflict explains why the hunk does not fit at index want, nor at exactly one other place.
func (a *applier) conflict(number int, h *hunk, want int, found []int) *conflict {
	old := h.side('+')
	c := &conflict{Hunk: number, Line: max(want, 0) + 1}
	switch {
	case len(found) > 1:
		c.Reason = fmt.Sprintf("its lines are not there but in %d other places (lines %d and %d "+
			"first); correct the header or add context", len(found), found[0]+1, found[1]+1)
		return c
	case want < a.next:
		c.Reason = fmt.Sprintf("the hunk before it already reached line %d; put the hunks in "+
			"order and join those that overlap", a.next)
		return c
	case a.matches(want, h.side('-')) && h.newCount > 0:
		c.Reason = "the text already has this change"
		return c
	}
	for i := 0; ; i++ {
		at := want + i
		if at >= len(a.lines) || i == len(old) {
			c.Line = min(at, len(a.lines)) + 1
			c.Reason = fmt.Sprintf("the text ends after line %d", len(a.lines))
			if i < len(old) {
				c.Expected = cut(old[i])
				c.Reason += fmt.Sprintf(", the diff expects %q", c.Expected)
			}
			return c
		}
		if !a.same(at, old[i]) {
			c.Line, c.Expected, c.Found = at+1, cut(old[i]), cut(a.lines[at])
			c.Reason = fmt.Sprintf("the text has %q, the diff expects %q%s", c.Found, c.Expected,
				nearMiss(a.lines[at], old[i]))
			return c
		}
	}
}

// nearMiss says so when two lines differ in what is easily overlooked.
func nearMiss(found, expected string) string {
	switch {
	case strings.TrimRight(found, "\r\n") == strings.TrimRight(expected, "\r\n"):
		return "; only the line ends differ"
	case strings.Join(strings.Fields(found), " ") == strings.Join(strings.Fields(expected), " "):
		return "; only the white space differs"
	}
	return ""
}
