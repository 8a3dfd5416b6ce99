package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"strconv"

	"go.starlark.net/lib/json"
	starmath "go.starlark.net/lib/math"
	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/wasmagent/wasmagent/pdk"
)

const (
	maxGlobals = 100     // variables that a call may define
	maxName    = 64      // bytes of a variable's name
	maxPowBits = 1 << 20 // bits of an integer that pow may give
	maxModBits = 1 << 13 // bits of pow's arguments when there is a modulus
	maxDigits  = 300     // decimal places that round may keep
)

// builtins are the names of every script, beyond Starlark's own. The time module has no clock, and
// nothing else depends on when or where the script runs.
var builtins = starlark.StringDict{
	"json":   json.Module,
	"math":   starmath.Module,
	"time":   clockless(),
	"struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
	"sum":    starlark.NewBuiltin("sum", sum),
	"round":  starlark.NewBuiltin("round", round),
	"pow":    starlark.NewBuiltin("pow", pow),
}

// clockless is the time module without the current time and without time zones.
func clockless() *starlarkstruct.Module {
	members := maps.Clone(startime.Module.Members)
	delete(members, "now")
	delete(members, "is_valid_timezone")
	return &starlarkstruct.Module{Name: "time", Members: members}
}

// predeclare gives builtins with the caller's variables.
func predeclare(globals map[string]any) (starlark.StringDict, error) {
	if len(globals) > maxGlobals {
		return nil, pdk.InvalidInput("/globals",
			fmt.Sprintf("%d variables, at most %d", len(globals), maxGlobals))
	}
	names := maps.Clone(builtins)
	for name, v := range globals {
		if !isName(name) {
			return nil, pdk.InvalidInput("/globals", fmt.Sprintf("%.70q cannot name a variable: "+
				"up to %d letters, digits and _, not beginning with a digit", name, maxName))
		}
		value, err := fromWire(v)
		if err != nil {
			return nil, pdk.InvalidInput("/globals/"+name, err.Error())
		}
		names[name] = value
	}
	return names, nil
}

// isName reports whether a script can refer to a variable of that name.
func isName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// sum adds numbers: integers exactly, floats with a compensation for what each addition loses.
func sum(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var items starlark.Iterable
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &items); err != nil {
		return nil, err
	}
	whole := starlark.MakeInt(0)
	floats, total, lost := false, 0.0, 0.0
	n := 0
	for item := range starlark.Elements(items) {
		switch item := item.(type) {
		case starlark.Int:
			whole = whole.Add(item)
		case starlark.Float:
			floats = true
			x := float64(item)
			next := total + x
			if math.Abs(total) >= math.Abs(x) {
				lost += total - next + x
			} else {
				lost += x - next + total
			}
			total = next
		default:
			return nil, fmt.Errorf("sum: item %d is a %s, not a number", n, item.Type())
		}
		n++
	}
	switch {
	case !floats:
		return whole, nil
	case math.IsInf(total, 0) || math.IsNaN(total):
		return starlark.Float(total), nil
	}
	return starlark.Float(total+lost) + whole.Float(), nil
}

// round is Python's: to an integer, or to a number of decimal places; halves go to the even side.
func round(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	var digits starlark.Value = starlark.None
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "number", &x, "ndigits?", &digits)
	if err != nil {
		return nil, err
	}
	if _, ok := x.(starlark.Int); ok && digits == starlark.None {
		return x, nil
	}
	f, ok := starlark.AsFloat(x)
	if !ok {
		return nil, fmt.Errorf("round: got %s, want a number", x.Type())
	}
	if digits == starlark.None {
		return starlark.NumberToInt(starlark.Float(math.RoundToEven(f)))
	}
	var places int
	if err := starlark.AsInt(digits, &places); err != nil {
		return nil, fmt.Errorf("round: %w", err)
	}
	if places < 0 || places > maxDigits {
		return nil, fmt.Errorf("round: ndigits is from 0 to %d", maxDigits)
	}
	if _, ok := x.(starlark.Int); ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return x, nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', places, 64), 64)
	return starlark.Float(rounded), err
}

// pow is Python's: exact for integers, with an optional modulus.
func pow(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, y starlark.Value
	var m starlark.Value = starlark.None
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "base", &x, "exp", &y, "mod?", &m)
	if err != nil {
		return nil, err
	}
	base, okBase := x.(starlark.Int)
	exp, okExp := y.(starlark.Int)
	if okBase && okExp && (exp.Sign() >= 0 || m != starlark.None) {
		return powInt(base.BigInt(), exp.BigInt(), m)
	}
	if m != starlark.None {
		return nil, errors.New("pow: a modulus needs integers")
	}
	fx, okX := starlark.AsFloat(x)
	fy, okY := starlark.AsFloat(y)
	if !okX || !okY {
		return nil, fmt.Errorf("pow: got %s and %s, want numbers", x.Type(), y.Type())
	}
	return starlark.Float(math.Pow(fx, fy)), nil
}

func powInt(base, exp *big.Int, m starlark.Value) (starlark.Value, error) {
	if m == starlark.None {
		if n := exp.Int64(); base.BitLen() > 1 && (!exp.IsInt64() || n > maxPowBits ||
			int64(base.BitLen())*n > maxPowBits) {
			return nil, fmt.Errorf("pow: the result would have more than %d bits", maxPowBits)
		}
		return starlark.MakeBigInt(new(big.Int).Exp(base, exp, nil)), nil
	}
	mod, ok := m.(starlark.Int)
	if !ok || mod.Sign() <= 0 {
		return nil, errors.New("pow: the modulus must be a positive integer")
	}
	modulus := mod.BigInt()
	if max(base.BitLen(), exp.BitLen(), modulus.BitLen()) > maxModBits {
		return nil, fmt.Errorf("pow: with a modulus, numbers have at most %d bits", maxModBits)
	}
	r := new(big.Int).Exp(base, exp, modulus)
	if r == nil {
		return nil, errors.New("pow: the base has no inverse for this modulus")
	}
	return starlark.MakeBigInt(r), nil
}
