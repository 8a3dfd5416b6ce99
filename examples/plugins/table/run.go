package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxCSVBytes = 8 << 20   // bytes of CSV
	maxRows     = 100_000   // rows of the table
	maxColumns  = 500       // columns of the table
	maxCells    = 1_000_000 // rows × columns
	maxClauses  = 50        // conditions, aggregates, sort keys or columns in one argument
	maxLimit    = 10_000    // rows returned
	maxReturned = 300_000   // rows × columns returned
)

// table is named columns over rows.
type table struct {
	columns []string
	rows    []row
	odd     map[string]string // by column of CSV: the cell that keeps it from being numbers
}

// row is one line of a table, with its number in the input, from 1.
type row struct {
	number int
	cells  []any // nil, bool, int64, uint64, float64, string; lists and maps are only passed on
}

func run(_ *pdk.Call, in Input) (Output, error) {
	t, err := query(&in)
	if err != nil {
		return Output{}, err
	}
	out := Output{Columns: t.columns, TotalRows: len(t.rows)}
	t.rows = t.rows[min(in.Offset, len(t.rows)):]
	if len(t.rows) > in.Limit {
		t.rows, out.Truncated = t.rows[:in.Limit], true
	}
	if len(t.rows)*len(t.columns) > maxReturned {
		return Output{}, pdk.InvalidInput("/limit", fmt.Sprintf(
			"%d rows of %d columns are more than %d cells; lower limit or select fewer columns",
			len(t.rows), len(t.columns), maxReturned))
	}
	switch in.Format {
	case "csv":
		out.Text, err = t.csv(in.Delimiter)
	case "markdown":
		out.Text = t.markdown()
	default:
		out.Rows = t.records()
	}
	return out, err
}

// query runs all clauses but offset and limit.
func query(in *Input) (*table, error) {
	if err := check(in); err != nil {
		return nil, err
	}
	t, err := load(in)
	if err != nil {
		return nil, err
	}
	if err := t.filter("/where", in.Where); err != nil {
		return nil, err
	}
	if len(in.GroupBy) > 0 || len(in.Aggregate) > 0 {
		if t, err = t.group(in.GroupBy, in.Aggregate); err != nil {
			return nil, err
		}
	}
	if err := t.filter("/having", in.Having); err != nil {
		return nil, err
	}
	if err := t.sort(in.Sort); err != nil {
		return nil, err
	}
	if len(in.Select) > 0 {
		if err := t.pick(in.Select); err != nil {
			return nil, err
		}
	}
	if in.Distinct {
		t.distinct()
	}
	return t, nil
}

// check refuses arguments out of bounds.
func check(in *Input) error {
	for _, list := range []struct {
		pointer string
		n       int
	}{
		{"/where", len(in.Where)}, {"/having", len(in.Having)}, {"/group_by", len(in.GroupBy)},
		{"/aggregate", len(in.Aggregate)}, {"/sort", len(in.Sort)},
	} {
		if list.n > maxClauses {
			return pdk.InvalidInput(list.pointer,
				fmt.Sprintf("%d entries, at most %d", list.n, maxClauses))
		}
	}
	switch {
	case in.Limit < 1 || in.Limit > maxLimit:
		return pdk.InvalidInput("/limit", fmt.Sprintf("from 1 to %d", maxLimit))
	case in.Offset < 0:
		return pdk.InvalidInput("/offset", "not below 0")
	case !slices.Contains([]string{"rows", "csv", "markdown"}, in.Format):
		return pdk.InvalidInput("/format", "rows, csv or markdown")
	case len(in.Having) > 0 && len(in.GroupBy) == 0 && len(in.Aggregate) == 0:
		return pdk.InvalidInput("/having", "needs group_by or aggregate; use where to filter rows")
	}
	return nil
}

// index gives the place of a column that pointer asks for.
func (t *table) index(pointer, column string) (int, error) {
	if i := slices.Index(t.columns, column); i >= 0 {
		return i, nil
	}
	return 0, pdk.InvalidInput(pointer, fmt.Sprintf("no column %q; there are %s",
		shorten(column), t.columnList()))
}

// maxListed is how many column names an error shows.
const maxListed = 30

func (t *table) columnList() string {
	if len(t.columns) == 0 {
		return "none: the table is empty"
	}
	var names []string
	for _, c := range t.columns[:min(maxListed, len(t.columns))] {
		names = append(names, fmt.Sprintf("%q", shorten(c)))
	}
	list := strings.Join(names, ", ")
	if more := len(t.columns) - maxListed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// pick leaves only the named columns, in that order.
func (t *table) pick(columns []string) error {
	var from []int
	for i, column := range columns {
		pointer := fmt.Sprintf("/select/%d", i)
		at, err := t.index(pointer, column)
		if err != nil {
			return err
		}
		if slices.Contains(from, at) {
			return pdk.InvalidInput(pointer, fmt.Sprintf("%q is selected twice", shorten(column)))
		}
		from = append(from, at)
	}
	for r := range t.rows {
		cells := make([]any, len(from))
		for i, at := range from {
			cells[i] = t.rows[r].cells[at]
		}
		t.rows[r].cells = cells
	}
	t.columns = columns
	return nil
}

func (t *table) distinct() {
	seen := make(map[string]bool, len(t.rows))
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		key := keyOf(r.cells)
		had := seen[key]
		seen[key] = true
		return had
	})
}
