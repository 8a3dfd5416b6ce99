package main

import (
	"fmt"
	"strings"
	"testing"
)

// input gives arguments with the defaults that the schema tells.
func input(change func(*Input)) *Input {
	in := &Input{CSV: "a\n1\n", Delimiter: "comma", Limit: 1000, Format: "rows"}
	change(in)
	return in
}

func TestLimits(t *testing.T) {
	csv := func(rows, columns int) string {
		names := make([]string, columns)
		for i := range names {
			names[i] = fmt.Sprint("c", i)
		}
		line := strings.Repeat("1,", columns-1) + "1\n"
		return strings.Join(names, ",") + "\n" + strings.Repeat(line, rows)
	}
	conditions := func(n int) []Condition {
		list := make([]Condition, n)
		for i := range list {
			list[i] = Condition{Column: "a", Op: "not_empty"}
		}
		return list
	}
	padding := func(size int) string { return "a\n" + strings.Repeat("x", size-2) }
	const wide = maxCells / maxRows * 2 // columns that reach maxCells before maxRows
	for _, test := range []struct {
		name     string
		at, past func(*Input)
	}{
		{"bytes of csv", func(in *Input) { in.CSV = padding(maxCSVBytes) },
			func(in *Input) { in.CSV = padding(maxCSVBytes + 1) }},
		{"rows of csv", func(in *Input) { in.CSV = csv(maxRows, 2) },
			func(in *Input) { in.CSV = csv(maxRows+1, 2) }},
		{"rows", func(in *Input) { in.CSV, in.Rows = "", make([]map[string]any, maxRows) },
			func(in *Input) { in.CSV, in.Rows = "", make([]map[string]any, maxRows+1) }},
		{"columns", func(in *Input) { in.CSV = csv(1, maxColumns) },
			func(in *Input) { in.CSV = csv(1, maxColumns+1) }},
		{"cells", func(in *Input) { in.CSV = csv(maxCells/wide, wide) },
			func(in *Input) { in.CSV = csv(maxCells/wide+1, wide) }},
		{"conditions", func(in *Input) { in.Where = conditions(maxClauses) },
			func(in *Input) { in.Where = conditions(maxClauses + 1) }},
		{"null texts", func(in *Input) { in.NullTexts = make([]string, maxClauses) },
			func(in *Input) { in.NullTexts = make([]string, maxClauses+1) }},
		{"limit", func(in *Input) { in.Limit = maxLimit },
			func(in *Input) { in.Limit = maxLimit + 1 }},
		{"smallest limit", func(in *Input) { in.Limit = 1 }, func(in *Input) { in.Limit = 0 }},
		{"offset", func(in *Input) { in.Offset = 0 }, func(in *Input) { in.Offset = -1 }},
		{"values", func(in *Input) { in.Where = isIn(maxValues) },
			func(in *Input) { in.Where = isIn(maxValues + 1) }},
		{"pattern", func(in *Input) { in.Where = matches(maxPatternBytes) },
			func(in *Input) { in.Where = matches(maxPatternBytes + 1) }},
		{"cells returned",
			func(in *Input) { in.CSV, in.Limit = csv(maxReturned/100, 100), maxReturned/100 },
			func(in *Input) { in.CSV, in.Limit = csv(maxReturned/100+1, 100), maxReturned/100+1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := run(nil, *input(test.at)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := run(nil, *input(test.past)); err == nil {
				t.Error("past the limit: no error")
			}
		})
	}
}

func isIn(n int) []Condition {
	values := make([]any, n)
	for i := range values {
		values[i] = int64(i)
	}
	return []Condition{{Column: "a", Op: "in", Value: values}}
}

func matches(size int) []Condition {
	return []Condition{{Column: "a", Op: "matches", Value: strings.Repeat("1", size)}}
}

func TestNumber(t *testing.T) {
	for s, want := range map[string]any{
		"0": int64(0), "-0": int64(0), "12": int64(12), "-7": int64(-7), "1.50": 1.5, "-0.5": -0.5,
		"1e3": 1000.0, "1E-2": 0.01, "9223372036854775807": int64(9223372036854775807),
		"9223372036854775808": nil, "": nil, "-": nil, "+1": nil, "01": nil, "-01": nil, ".5": nil,
		"5.": nil, "1,5": nil, "0x10": nil, "1_000": nil, "Inf": nil, "NaN": nil, "1e999": nil,
		"1e": nil, "--1": nil, " 1": nil, "١": nil, "0x1p4": nil, "00.5": nil,
	} {
		if got := number(s); got != want {
			t.Errorf("number(%q) is %v, want %v", s, got, want)
		}
	}
}
