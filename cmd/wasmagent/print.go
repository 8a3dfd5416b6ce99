package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

// palette colours words, or leaves them as they are.
type palette struct{ on bool }

func (a *app) paint(w io.Writer) palette { return palette{a.colour(w)} }

func (p palette) bold(s string) string   { return p.sgr("1", s) }
func (p palette) dim(s string) string    { return p.sgr("2", s) }
func (p palette) red(s string) string    { return p.sgr("31", s) }
func (p palette) green(s string) string  { return p.sgr("32", s) }
func (p palette) yellow(s string) string { return p.sgr("33", s) }

func (p palette) sgr(code, s string) string {
	if !p.on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// writeJSON writes v as the outcome of a command: indented for json, on one line for jsonl.
// Characters that a terminal obeys or a reader cannot see are written as escapes.
func writeJSON(w io.Writer, form string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if form == "json" {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// indentJSON gives a JSON text in the form that people read.
func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// visible writes characters that a terminal obeys or a reader cannot see as \uXXXX: what a plugin
// wrote must not move the cursor, change colours, turn the direction of text or hide words. Inside
// a JSON text, where such characters can only stand in strings, it changes nothing of the meaning.
func visible(s string) string {
	i := strings.IndexFunc(s, invisible)
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i = strings.IndexFunc(s, invisible) {
		b.WriteString(s[:i])
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r > 0xffff: // as JSON writes it, in two halves
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[i+size:]
	}
	b.WriteString(s)
	return b.String()
}

// invisible tells characters to escape. Joiners stay: scripts and emoji are written with them.
func invisible(r rune) bool {
	switch r {
	case '\n', '\t', 0x200c, 0x200d:
		return false
	case utf8.RuneError: // also what was no UTF-8; the character itself is escaped harmlessly
		return true
	}
	return abi.Hidden(r)
}

// table lines up rows of a name and a text.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t table) row(name, format string, args ...any) {
	fmt.Fprintf(t, "%s\t%s\n", name, visible(fmt.Sprintf(format, args...)))
}

// bytesText gives a size for people.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// count gives a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// cut shortens a text of one line to at most n characters.
func cut(s string, n int) string {
	s, _, _ = strings.Cut(s, "\n")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// writeRows lines up a table whose last cells may be empty.
func writeRows(w io.Writer, rows [][]string) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		for _, c := range cells {
			fmt.Fprintf(t, "%s\t", oneLine(c))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// oneLine is a stranger's text on a line and in a column of ours.
func oneLine(s string) string { return visible(lineBreaks.Replace(s)) }

// stamp is a time for people, the same on every machine.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
