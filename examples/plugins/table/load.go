package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/pdk"
)

var delimiters = map[string]rune{
	"comma": ',', "semicolon": ';', "tab": '\t', "pipe": '|',
}

// load reads the table of a call.
func load(in *Input) (*table, error) {
	switch {
	case in.CSV != "" && in.Rows != nil:
		return nil, pdk.InvalidInput("/rows", "give csv or rows, not both")
	case in.Rows != nil:
		return loadRows(in.Rows)
	case strings.TrimSpace(in.CSV) == "":
		return nil, pdk.InvalidInput("/csv", "give the table as csv, or as rows")
	}
	return loadCSV(in)
}

func loadCSV(in *Input) (*table, error) {
	if len(in.CSV) > maxCSVBytes {
		return nil, pdk.InvalidInput("/csv",
			fmt.Sprintf("%d bytes, at most %d", len(in.CSV), maxCSVBytes))
	}
	delimiter, ok := delimiters[in.Delimiter]
	if !ok {
		return nil, pdk.InvalidInput("/delimiter", "comma, semicolon, tab or pipe")
	}
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(in.CSV, "\ufeff")))
	reader.Comma = delimiter
	reader.FieldsPerRecord = -1 // counted here, for an error that says what is missing
	if len(in.NullTexts) > maxClauses {
		return nil, pdk.InvalidInput("/null_texts",
			fmt.Sprintf("%d entries, at most %d", len(in.NullTexts), maxClauses))
	}
	t := &table{odd: make(map[string]string)}
	for {
		record, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		if t.columns == nil {
			if err := t.header(record, in.NoHeader); err != nil {
				return nil, err
			}
			if !in.NoHeader {
				continue
			}
		}
		if len(record) != len(t.columns) {
			line, _ := reader.FieldPos(0)
			return nil, pdk.InvalidInput("/csv", fmt.Sprintf("row %d (line %d): %d cells for "+
				"%d columns; is the delimiter right, does a cell need quotes?",
				len(t.rows)+1, line, len(record), len(t.columns)))
		}
		if err := t.add("/csv", texts(record, in.NullTexts)); err != nil {
			return nil, err
		}
	}
	for i := range t.columns {
		t.infer(i)
	}
	return t, nil
}

func csvError(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return pdk.InvalidInput("/csv",
			fmt.Sprintf("line %d, byte %d: %v", bad.Line, bad.Column, bad.Err))
	}
	return err
}

// header takes the names of the columns from the first record.
func (t *table) header(record []string, noHeader bool) error {
	if len(record) > maxColumns {
		return pdk.InvalidInput("/csv", fmt.Sprintf("%d columns, at most %d", len(record), maxColumns))
	}
	for i, name := range record {
		name = strings.TrimSpace(name)
		switch {
		case noHeader:
			name = fmt.Sprintf("c%d", i+1)
		case name == "":
			return pdk.InvalidInput("/csv", fmt.Sprintf("column %d has no name in the header", i+1))
		case slices.Contains(t.columns, name):
			return pdk.InvalidInput("/csv",
				fmt.Sprintf("the header names column %q twice", shorten(name)))
		}
		t.columns = append(t.columns, name)
	}
	return nil
}

func (t *table) add(pointer string, cells []any) error {
	if len(t.rows) == maxRows {
		return pdk.InvalidInput(pointer, fmt.Sprintf("more than %d rows", maxRows))
	}
	if (len(t.rows)+1)*len(t.columns) > maxCells {
		return pdk.InvalidInput(pointer, fmt.Sprintf("more than %d cells", maxCells))
	}
	t.rows = append(t.rows, row{number: len(t.rows) + 1, cells: cells})
	return nil
}

// texts gives the cells of a record; an empty one is null, and so is one of nulls.
func texts(record, nulls []string) []any {
	cells := make([]any, len(record))
	for i, s := range record {
		if s != "" && !slices.Contains(nulls, strings.TrimSpace(s)) {
			cells[i] = s
		}
	}
	return cells
}

// infer turns a column into numbers if every cell that is not empty is one.
func (t *table) infer(column int) {
	numbers := make([]any, len(t.rows))
	for i, r := range t.rows {
		if r.cells[column] == nil {
			continue
		}
		cell := r.cells[column].(string)
		if numbers[i] = number(strings.TrimSpace(cell)); numbers[i] == nil {
			t.odd[t.columns[column]] = fmt.Sprintf("row %d has %q", r.number, shorten(cell))
			return
		}
	}
	for i, r := range t.rows {
		r.cells[column] = numbers[i]
	}
}

// why tells what makes a column of CSV text, for an error about a cell that should be a number.
func (t *table) why(column string) string {
	if t.odd[column] == "" {
		return ""
	}
	return fmt.Sprintf("; the column is text because %s, which belongs into null_texts if it stands "+
		"for no value", t.odd[column])
}

// number reads a number as JSON writes it, else gives nil: 007, +5 and integers beyond 64 bits
// are codes, which must keep every digit.
func number(s string) any {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' ||
		len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return nil
	}
	if strings.Trim(digits, "0123456789") == "" {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return nil
	}
	if strings.ContainsAny(digits, "xXpP_") || strings.HasSuffix(digits, ".") {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return f
}

// loadRows takes objects; a key that one lacks is null there. Columns are in alphabetical order,
// as the keys of an object have none.
func loadRows(rows []map[string]any) (*table, error) {
	names := make(map[string]bool)
	for i, r := range rows {
		for name := range r {
			names[name] = true
		}
		if len(names) > maxColumns {
			return nil, pdk.InvalidInput(fmt.Sprintf("/rows/%d", i),
				fmt.Sprintf("more than %d columns", maxColumns))
		}
	}
	t := &table{columns: slices.Sorted(maps.Keys(names))}
	for _, r := range rows {
		cells := make([]any, len(t.columns))
		for i, name := range t.columns {
			cells[i] = r[name]
		}
		if err := t.add("/rows", cells); err != nil {
			return nil, err
		}
	}
	return t, nil
}
