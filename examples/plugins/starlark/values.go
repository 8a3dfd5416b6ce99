package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Limits of a result.
const (
	maxNodes = 500_000 // values, counted at every depth
	maxDepth = 60      // levels
)

// fromWire gives an argument as a Starlark value. Keys come in sorted order, so that a script that
// walks a dict does the same every time.
func fromWire(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	case float64:
		return starlark.Float(v), nil
	case []any:
		items := make([]starlark.Value, len(v))
		for i, item := range v {
			var err error
			if items[i], err = fromWire(item); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(items), nil
	case map[string]any:
		dict := starlark.NewDict(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			item, err := fromWire(v[key])
			if err != nil {
				return nil, err
			}
			if err := dict.SetKey(starlark.String(key), item); err != nil {
				return nil, err
			}
		}
		return dict, nil
	}
	return nil, fmt.Errorf("a %T is not a JSON value", v)
}

// toWire gives a Starlark value as a JSON value. path names it in errors; nodes is what is left of
// maxNodes.
func toWire(v starlark.Value, path string, depth int, nodes *int) (any, error) {
	*nodes--
	switch {
	case *nodes < 0:
		return nil, fmt.Errorf("the result holds more than %d values", maxNodes)
	case depth < 0:
		return nil, fmt.Errorf("the result has more than %d levels, or holds itself", maxDepth)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		return intToWire(v, path)
	case starlark.Float:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, fmt.Errorf("%s is %v, which JSON cannot carry; give it as str(…)", path, v)
	case starlark.String:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("%s is cut inside a character", path)
		}
		return string(v), nil
	case startime.Time:
		return time.Time(v).Format(time.RFC3339Nano), nil
	case startime.Duration:
		return time.Duration(v).String(), nil
	case *starlark.Dict:
		return pairsToWire(v.Items(), path, depth, nodes)
	case *starlarkstruct.Struct:
		var pairs []starlark.Tuple
		for name, field := range v.Entries() {
			pairs = append(pairs, starlark.Tuple{starlark.String(name), field})
		}
		return pairsToWire(pairs, path, depth, nodes)
	case starlark.Iterable: // list, tuple, set, range
		return itemsToWire(v, path, depth, nodes)
	}
	return nil, fmt.Errorf("%s is a %s, which JSON cannot carry", path, v.Type())
}

func intToWire(v starlark.Int, path string) (any, error) {
	if i, ok := v.Int64(); ok {
		return i, nil
	}
	if u, ok := v.Uint64(); ok {
		return u, nil
	}
	return nil, fmt.Errorf("%s is an integer of more than 64 bits; give it as str(…)", path)
}

func itemsToWire(v starlark.Iterable, path string, depth int, nodes *int) (any, error) {
	items := []any{}
	for item := range starlark.Elements(v) {
		out, err := toWire(item, fmt.Sprintf("%s[%d]", path, len(items)), depth-1, nodes)
		if err != nil {
			return nil, err
		}
		items = append(items, out)
	}
	return items, nil
}

func pairsToWire(pairs []starlark.Tuple, path string, depth int, nodes *int) (any, error) {
	out := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		key, ok := starlark.AsString(pair[0])
		if !ok {
			return nil, fmt.Errorf("%s has the key %s, but keys must be strings; use str(…)",
				path, pair[0])
		}
		if !utf8.ValidString(key) {
			return nil, fmt.Errorf("%s has a key that is cut inside a character", path)
		}
		value, err := toWire(pair[1], path+"."+key, depth-1, nodes)
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}
