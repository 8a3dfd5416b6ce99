package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of a condition.
const (
	maxPatternBytes = 1000   // bytes of a regular expression
	maxValues       = 10_000 // values of an in list
)

// filter keeps the rows for which all conditions hold; pointer names their argument.
func (t *table) filter(pointer string, conditions []Condition) error {
	for i, c := range conditions {
		at := fmt.Sprintf("%s/%d", pointer, i)
		column, err := t.index(at+"/column", c.Column)
		if err != nil {
			return err
		}
		holds, err := c.compile(at)
		if err != nil {
			return err
		}
		kept := t.rows[:0]
		for _, r := range t.rows {
			ok, err := holds(r.cells[column])
			if err != nil {
				text := fmt.Sprintf("row %d, column %q: %v", r.number, shorten(c.Column), err)
				if kindOf(c.Value) == kindNumber {
					text += t.why(c.Column)
				}
				return pdk.InvalidInput(at+"/value", text)
			}
			if ok {
				kept = append(kept, r)
			}
		}
		t.rows = kept
	}
	return nil
}

// compile gives a test of one cell.
func (c *Condition) compile(pointer string) (func(cell any) (bool, error), error) {
	switch c.Op {
	case "empty":
		return func(cell any) (bool, error) { return isEmpty(cell), nil }, nil
	case "not_empty":
		return func(cell any) (bool, error) { return !isEmpty(cell), nil }, nil
	case "eq", "ne", "lt", "le", "gt", "ge":
		return c.compileCompare(pointer)
	case "in":
		return c.compileIn(pointer)
	case "contains", "starts_with", "ends_with", "matches":
		return c.compileText(pointer)
	}
	return nil, pdk.InvalidInput(pointer+"/op", fmt.Sprintf("no operator %q", shorten(c.Op)))
}

func isEmpty(cell any) bool { return cell == nil || cell == "" }

// compileCompare compares like with like. A null cell is only ever equal to null.
func (c *Condition) compileCompare(pointer string) (func(any) (bool, error), error) {
	want := kindOf(c.Value)
	if want == kindNested || want == kindNull && c.Op != "eq" && c.Op != "ne" {
		return nil, pdk.InvalidInput(pointer+"/value", fmt.Sprintf("%s cannot be compared", want))
	}
	result := map[string]func(int) bool{
		"eq": func(n int) bool { return n == 0 },
		"ne": func(n int) bool { return n != 0 },
		"lt": func(n int) bool { return n < 0 },
		"le": func(n int) bool { return n <= 0 },
		"gt": func(n int) bool { return n > 0 },
		"ge": func(n int) bool { return n >= 0 },
	}[c.Op]
	return func(cell any) (bool, error) {
		have := kindOf(cell)
		switch {
		case have == kindNull || want == kindNull:
			return c.Op == "eq" && have == want || c.Op == "ne" && have != want, nil
		case have != want:
			return false, fmt.Errorf("%q is %s, the value to compare with is %s",
				shorten(text(cell)), have, want)
		}
		return result(compare(cell, c.Value)), nil
	}, nil
}

func (c *Condition) compileIn(pointer string) (func(any) (bool, error), error) {
	values, ok := c.Value.([]any)
	if !ok {
		return nil, pdk.InvalidInput(pointer+"/value", "in needs a list of values")
	}
	if len(values) > maxValues {
		return nil, pdk.InvalidInput(pointer+"/value",
			fmt.Sprintf("%d values, at most %d", len(values), maxValues))
	}
	set := make(map[string]bool, len(values))
	var kinds []kind
	for _, v := range values {
		set[keyOf([]any{v})] = true
		kinds = append(kinds, kindOf(v))
	}
	return func(cell any) (bool, error) {
		if have := kindOf(cell); have != kindNull && len(kinds) > 0 && !slices.Contains(kinds, have) {
			return false, fmt.Errorf("%q is %s, but the list holds none of that kind",
				shorten(text(cell)), have)
		}
		return set[keyOf([]any{cell})], nil
	}, nil
}

// compileText looks into the text of a cell; null has none.
func (c *Condition) compileText(pointer string) (func(any) (bool, error), error) {
	want, ok := c.Value.(string)
	if !ok {
		return nil, pdk.InvalidInput(pointer+"/value", c.Op+" needs a text")
	}
	test := map[string]func(s, part string) bool{
		"contains":    strings.Contains,
		"starts_with": strings.HasPrefix,
		"ends_with":   strings.HasSuffix,
	}[c.Op]
	if c.Op == "matches" {
		if len(want) > maxPatternBytes {
			return nil, pdk.InvalidInput(pointer+"/value",
				fmt.Sprintf("%d bytes, at most %d", len(want), maxPatternBytes))
		}
		pattern, err := regexp.Compile(want)
		if err != nil {
			return nil, pdk.InvalidInput(pointer+"/value", err.Error())
		}
		test = func(s, _ string) bool { return pattern.MatchString(s) }
	}
	return func(cell any) (bool, error) { return cell != nil && test(text(cell), want), nil }, nil
}
