package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// kind is what a cell can be compared with.
type kind int

const (
	kindNull kind = iota
	kindNumber
	kindText
	kindBool
	kindNested // a list or an object
)

func (k kind) String() string {
	return [...]string{"null", "a number", "text", "a boolean", "a list or object"}[k]
}

func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kindNull
	case int64, uint64, float64:
		return kindNumber
	case string:
		return kindText
	case bool:
		return kindBool
	}
	return kindNested
}

// compare orders two values of one kind; of two kinds, by kind.
func compare(a, b any) int {
	ka, kb := kindOf(a), kindOf(b)
	if ka != kb {
		return cmp.Compare(ka, kb)
	}
	switch ka {
	case kindNumber:
		return compareNumbers(a, b)
	case kindText:
		return strings.Compare(a.(string), b.(string))
	case kindBool:
		return cmp.Compare(text(a), text(b))
	case kindNested:
		return strings.Compare(text(a), text(b))
	}
	return 0
}

func compareNumbers(a, b any) int {
	ia, okA := a.(int64)
	ib, okB := b.(int64)
	if okA && okB {
		return cmp.Compare(ia, ib)
	}
	ua, okA := a.(uint64)
	ub, okB := b.(uint64)
	if okA && okB {
		return cmp.Compare(ua, ub)
	}
	return cmp.Compare(toFloat(a), toFloat(b))
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// text writes a cell as CSV and Markdown show it; null is empty.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// keyOf gives equal strings for equal cells. 1 and 1.0 are equal, 1 and "1" are not.
func keyOf(cells []any) string {
	var key strings.Builder
	for _, v := range cells {
		if f, ok := v.(float64); ok && math.Abs(f) < 1<<53 && f == math.Trunc(f) {
			v = int64(f)
		}
		s := text(v)
		fmt.Fprintf(&key, "%d %d %s", kindOf(v), len(s), s)
	}
	return key.String()
}

// maxShown is how many bytes of a cell or name an error shows.
const maxShown = 60

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
