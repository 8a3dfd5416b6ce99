package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

// sort orders the rows; rows that are equal by all keys keep their order.
func (t *table) sort(keys []SortKey) error {
	columns := make([]int, len(keys))
	for i, key := range keys {
		var err error
		if columns[i], err = t.index(fmt.Sprintf("/sort/%d/column", i), key.Column); err != nil {
			return err
		}
	}
	slices.SortStableFunc(t.rows, func(a, b row) int {
		for i, column := range columns {
			if n := compareNullLast(a.cells[column], b.cells[column], keys[i].Desc); n != 0 {
				return n
			}
		}
		return 0
	})
	return nil
}

func compareNullLast(a, b any, desc bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	case desc:
		return compare(b, a)
	}
	return compare(a, b)
}

func (t *table) records() []map[string]any {
	records := make([]map[string]any, len(t.rows))
	for i, r := range t.rows {
		records[i] = make(map[string]any, len(t.columns))
		for c, name := range t.columns {
			records[i][name] = r.cells[c]
		}
	}
	return records
}

func (t *table) csv(delimiter string) (string, error) {
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Comma = delimiters[delimiter]
	err := w.Write(t.columns)
	for _, r := range t.rows {
		if err != nil {
			return "", err
		}
		record := make([]string, len(r.cells))
		for i, v := range r.cells {
			record[i] = text(v)
		}
		err = w.Write(record)
	}
	w.Flush()
	return out.String(), err
}

// inCell makes a text fit into one cell of a Markdown table.
var inCell = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>")

func (t *table) markdown() string {
	var out strings.Builder
	line := func(cells []string) {
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	names := make([]string, len(t.columns))
	rule := make([]string, len(t.columns))
	for i, name := range t.columns {
		names[i], rule[i] = inCell.Replace(name), t.rule(i)
	}
	line(names)
	line(rule)
	for _, r := range t.rows {
		cells := make([]string, len(r.cells))
		for i, v := range r.cells {
			cells[i] = inCell.Replace(text(v))
		}
		line(cells)
	}
	return out.String()
}

// rule aligns a column of numbers to the right.
func (t *table) rule(column int) string {
	numbers := false
	for _, r := range t.rows {
		switch kindOf(r.cells[column]) {
		case kindNull:
		case kindNumber:
			numbers = true
		default:
			return "---"
		}
	}
	if numbers {
		return "---:"
	}
	return "---"
}
