package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// noNewline follows a line of a diff that has no newline in its text.
const noNewline = `\ No newline at end of file`

// hunk is one block of a unified diff: counts of lines, starts from 1.
type hunk struct {
	oldStart, oldCount int
	newStart, newCount int
	lines              []hunkLine
}

// hunkLine is a line that is kept (op ' '), removed ('-') or added ('+'). Its text ends in a
// newline unless the diff says that there is none.
type hunkLine struct {
	op   byte
	text string
}

func (h *hunk) add(op byte, lines []string) {
	for _, text := range lines {
		h.lines = append(h.lines, hunkLine{op, text})
	}
	if op != '+' {
		h.oldCount += len(lines)
	}
	if op != '-' {
		h.newCount += len(lines)
	}
}

// side gives the hunk's lines but those of one op: without '+' it is the text before the change,
// without '-' the text after it.
func (h *hunk) side(without byte) []string {
	var lines []string
	for _, l := range h.lines {
		if l.op != without {
			lines = append(lines, l.text)
		}
	}
	return lines
}

func (h *hunk) header() string {
	span := func(start, count int) string {
		if count == 1 {
			return strconv.Itoa(start)
		}
		return fmt.Sprintf("%d,%d", start, count)
	}
	return fmt.Sprintf("@@ -%s +%s @@", span(h.oldStart, h.oldCount), span(h.newStart, h.newCount))
}

// reversed gives the hunk that undoes h.
func (h *hunk) reversed() hunk {
	r := hunk{h.newStart, h.newCount, h.oldStart, h.oldCount, make([]hunkLine, len(h.lines))}
	for i, l := range h.lines {
		switch l.op {
		case '-':
			l.op = '+'
		case '+':
			l.op = '-'
		}
		r.lines[i] = l
	}
	return r
}

// parse reads the hunks of a unified diff of one text. What git writes above the first hunk is
// skipped. Errors name the line of the diff.
func parse(diff string) ([]hunk, error) {
	p := parser{lines: splitLines(diff)}
	if err := p.skipHeader(); err != nil {
		return nil, err
	}
	var hunks []hunk
	for p.at < len(p.lines) {
		line := strings.TrimRight(p.lines[p.at], "\r\n")
		switch {
		case strings.HasPrefix(line, "@@"):
			h, err := p.hunk(len(hunks) + 1)
			if err != nil {
				return nil, err
			}
			hunks = append(hunks, h)
		case line == "":
			p.at++
		case line == "-- ": // the signature below a mailed patch
			p.at = len(p.lines)
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "):
			return nil, p.errorf("a second file begins; apply one file's diff to one text")
		default:
			return nil, p.errorf("%q is outside of a hunk; the header of hunk %d counts too few "+
				"lines, or the line does not belong here", cut(line), len(hunks))
		}
	}
	return hunks, nil
}

type parser struct {
	lines []string
	at    int // index of the line that is read next
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

func (p *parser) skipHeader() error {
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "@@"):
			return nil
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return p.errorf("a binary change; only text can be patched")
		}
	}
	return errors.New("no hunk: a unified diff has lines such as @@ -1,3 +1,4 @@")
}

// hunk reads a header and the lines that it counts.
func (p *parser) hunk(number int) (hunk, error) {
	want, err := parseHeader(strings.TrimRight(p.lines[p.at], "\r\n"))
	if err != nil {
		return hunk{}, p.errorf("hunk %d: %v", number, err)
	}
	start := p.at
	h := hunk{oldStart: want.oldStart, newStart: want.newStart}
	for p.at++; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if line[0] == '\\' {
			h.dropNewline()
			continue
		}
		if h.oldCount >= want.oldCount && h.newCount >= want.newCount {
			break
		}
		switch line[0] {
		case ' ', '-', '+':
			h.add(line[0], []string{line[1:]})
			continue
		case '\n', '\r': // an empty kept line whose blank was trimmed
			h.add(' ', []string{line})
			continue
		}
		break
	}
	if h.oldCount != want.oldCount || h.newCount != want.newCount {
		p.at = start
		return hunk{}, p.errorf("hunk %d is cut or miscounted: %s counts %d old and %d new lines, "+
			"there are %d and %d; if the hunk is complete, write %s", number, want.header(),
			want.oldCount, want.newCount, h.oldCount, h.newCount, h.header())
	}
	return h, nil
}

// dropNewline takes the newline off the line before a noNewline mark.
func (h *hunk) dropNewline() {
	if n := len(h.lines); n > 0 {
		h.lines[n-1].text = strings.TrimSuffix(h.lines[n-1].text, "\n")
	}
}

// parseHeader reads "@@ -12,3 +14,4 @@ anything".
func parseHeader(line string) (hunk, error) {
	form := fmt.Errorf("%q is not a header such as @@ -12,3 +14,4 @@", cut(line))
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" || !strings.HasPrefix(fields[3], "@@") ||
		fields[1][0] != '-' || fields[2][0] != '+' {
		return hunk{}, form
	}
	var h hunk
	var okOld, okNew bool
	h.oldStart, h.oldCount, okOld = parseSpan(fields[1][1:])
	h.newStart, h.newCount, okNew = parseSpan(fields[2][1:])
	if !okOld || !okNew {
		return hunk{}, form
	}
	return h, nil
}

// maxLineNumber bounds the numbers in a header, far above what maxTextBytes can hold.
const maxLineNumber = 1 << 30

// parseSpan reads "12,3", or "12" for one line.
func parseSpan(s string) (start, count int, ok bool) {
	first, second, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(first)
	count = 1
	if two && err == nil {
		count, err = strconv.Atoi(second)
	}
	ok = err == nil && start >= 0 && count >= 0 && start <= maxLineNumber && count <= maxLineNumber
	return start, count, ok && (start > 0 || count == 0)
}

// maxQuoted is how many bytes of a line an error shows.
const maxQuoted = 120

func cut(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}
