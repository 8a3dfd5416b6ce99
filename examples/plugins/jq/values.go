package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// fromWire gives v with the number types that gojq knows. Values already in place are kept.
func fromWire(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v, nil
	case int64:
		return int(v), nil
	case uint64:
		if v <= math.MaxInt {
			return int(v), nil
		}
		return new(big.Int).SetUint64(v), nil
	case []any:
		for i, item := range v {
			out, err := fromWire(item)
			if err != nil {
				return nil, err
			}
			v[i] = out
		}
		return v, nil
	case map[string]any:
		for key, item := range v {
			out, err := fromWire(item)
			if err != nil {
				return nil, err
			}
			v[key] = out
		}
		return v, nil
	}
	return nil, fmt.Errorf("a %T is not a JSON value", v)
}

// toWire copies a result into values that can be coded, as jq prints them: NaN is null, infinity
// is the largest number. nodes is what is left of maxNodes.
func toWire(v any, depth int, nodes *int) (any, error) {
	*nodes--
	if *nodes < 0 {
		return nil, failure("too_large",
			fmt.Sprintf("the results hold more than %d values; narrow the filter", maxNodes))
	}
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), nil
	case int:
		return int64(v), nil
	case float64:
		return finite(v), nil
	case *big.Int:
		return bigInt(v)
	case json.Number:
		return number(v)
	}
	if depth == 0 {
		return nil, failure("too_deep", fmt.Sprintf("a result has more than %d levels", maxDepth))
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = toWire(item, depth-1, nodes); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			w, err := toWire(item, depth-1, nodes)
			if err != nil {
				return nil, err
			}
			out[strings.ToValidUTF8(key, "\uFFFD")] = w
		}
		return out, nil
	}
	return nil, fmt.Errorf("gojq gave a %T", v)
}

func finite(f float64) any {
	switch {
	case math.IsNaN(f):
		return nil
	case math.IsInf(f, 1):
		return math.MaxFloat64
	case math.IsInf(f, -1):
		return -math.MaxFloat64
	}
	return f
}

func bigInt(n *big.Int) (any, error) {
	switch {
	case n.IsInt64():
		return n.Int64(), nil
	case n.IsUint64():
		return n.Uint64(), nil
	}
	return nil, failure("integer_too_large",
		fmt.Sprintf("%s has more than 64 bits; give it as text with tostring", shorten(n.String())))
}

// number gives a literal of the filter, which gojq keeps as it was written.
func number(n json.Number) (any, error) {
	s := n.String()
	if i, ok := new(big.Int).SetString(s, 10); ok {
		return bigInt(i)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, failure("filter_error", fmt.Sprintf("%q is not a number", s))
	}
	return finite(f), nil
}

// maxShown is how many bytes of a number an error shows.
const maxShown = 40

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return fmt.Sprintf("%s… (%d digits)", s[:maxShown], len(s))
}
