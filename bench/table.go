package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// table is printed as Markdown, padded so that it reads well as it is.
type table struct{ rows [][]string }

func newTable(head ...string) *table { return &table{[][]string{head}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range t.rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 { // numbers stand to the right
				cell, pad = pad, cell
			}
			fmt.Fprintf(w, "| %s%s ", cell, pad)
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			printRule(w, widths)
		}
	}
	fmt.Fprintln(w)
}

func printRule(w io.Writer, widths []int) {
	for i, width := range widths {
		end := ":"
		if i == 0 {
			end = "-"
		}
		fmt.Fprintf(w, "| %s%s ", strings.Repeat("-", width-1), end)
	}
	fmt.Fprintln(w, "|")
}

// micros prints a time in microseconds, with three digits that count.
func micros(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	switch {
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func kilobytes(n int64) string { return fmt.Sprintf("%.1f KiB", float64(n)/1024) }

// ratio is a/b, and 0 when there is no b.
func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func times(r float64) string {
	switch {
	case r == 0:
		return "–"
	case r < 10:
		return fmt.Sprintf("%.2f×", r)
	}
	return fmt.Sprintf("%.0f×", r)
}
