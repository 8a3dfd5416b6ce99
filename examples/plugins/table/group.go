package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/wasmagent/wasmagent/pdk"
)

// group gives a table with a row for each combination of the columns by, in the order of first
// appearance, and a column for each aggregate.
func (t *table) group(by []string, aggregates []Aggregate) (*table, error) {
	var keys []int
	for i, column := range by {
		at, err := t.index(fmt.Sprintf("/group_by/%d", i), column)
		if err != nil {
			return nil, err
		}
		keys = append(keys, at)
	}
	out := &table{columns: slices.Clone(by)}
	columns := make([]int, len(aggregates)) // where each aggregate's values are; -1: counts rows
	for i := range aggregates {
		var err error
		if columns[i], err = t.prepare(i, &aggregates[i], out.columns); err != nil {
			return nil, err
		}
		out.columns = append(out.columns, aggregates[i].As)
	}
	for number, group := range t.split(keys) {
		var cells []any
		for _, key := range keys {
			cells = append(cells, group[0].cells[key])
		}
		for i, a := range aggregates {
			v, err := a.compute(group, columns[i])
			if err != nil {
				return nil, pdk.InvalidInput(fmt.Sprintf("/aggregate/%d", i), err.Error()+t.why(a.Column))
			}
			cells = append(cells, v)
		}
		out.rows = append(out.rows, row{number: number + 1, cells: cells})
	}
	return out, nil
}

// prepare checks aggregate i, names it, and finds its column.
func (t *table) prepare(i int, a *Aggregate, taken []string) (column int, err error) {
	pointer := fmt.Sprintf("/aggregate/%d", i)
	if !slices.Contains([]string{"count", "count_distinct", "sum", "mean", "median", "min", "max",
		"stddev", "first", "last"}, a.Op) {
		return 0, pdk.InvalidInput(pointer+"/op", fmt.Sprintf("no aggregate %q", shorten(a.Op)))
	}
	column = -1
	switch {
	case a.Column != "":
		if column, err = t.index(pointer+"/column", a.Column); err != nil {
			return 0, err
		}
	case a.Op != "count":
		return 0, pdk.InvalidInput(pointer, a.Op+" needs a column")
	}
	if a.As == "" {
		a.As = a.Op
		if a.Column != "" {
			a.As += "_" + a.Column
		}
	}
	if slices.Contains(taken, a.As) {
		return 0, pdk.InvalidInput(pointer+"/as",
			fmt.Sprintf("a column %q is already there; give another name", shorten(a.As)))
	}
	return column, nil
}

// split gives the rows of each group; without keys there is one group, which may be empty.
func (t *table) split(keys []int) [][]row {
	if len(keys) == 0 {
		return [][]row{t.rows}
	}
	var groups [][]row
	at := make(map[string]int)
	cells := make([]any, len(keys))
	for _, r := range t.rows {
		for i, key := range keys {
			cells[i] = r.cells[key]
		}
		key := keyOf(cells)
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], r)
	}
	return groups
}

// compute gives the aggregate of a group's rows.
func (a *Aggregate) compute(rows []row, column int) (any, error) {
	if column < 0 {
		return int64(len(rows)), nil
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.cells[column] == nil })
	switch a.Op {
	case "count":
		return int64(len(rows)), nil
	case "count_distinct":
		seen := make(map[string]bool)
		for _, r := range rows {
			seen[keyOf(r.cells[column:column+1])] = true
		}
		return int64(len(seen)), nil
	}
	if len(rows) == 0 {
		if a.Op == "sum" {
			return int64(0), nil
		}
		return nil, nil
	}
	switch a.Op {
	case "first":
		return rows[0].cells[column], nil
	case "last":
		return rows[len(rows)-1].cells[column], nil
	}
	// What is left computes: all cells must be numbers, or for min and max of one kind.
	want := kindNumber
	if a.Op == "min" || a.Op == "max" {
		want = kindOf(rows[0].cells[column])
	}
	for _, r := range rows {
		if have := kindOf(r.cells[column]); have != want || have == kindNested {
			return nil, fmt.Errorf("row %d, column %q: %q is %s, but %s needs %s here", r.number,
				shorten(a.Column), shorten(text(r.cells[column])), have, a.Op, want)
		}
	}
	values := make([]any, len(rows))
	for i, r := range rows {
		values[i] = r.cells[column]
	}
	return a.finite(reduce(a.Op, values))
}

// finite refuses a result that has left the range of numbers.
func (a *Aggregate) finite(v any) (any, error) {
	if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return nil, fmt.Errorf("%s of column %q is beyond the largest number", a.Op,
			shorten(a.Column))
	}
	return v, nil
}
