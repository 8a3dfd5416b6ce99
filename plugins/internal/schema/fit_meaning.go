package schema

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/abi/transcode"
)

// maxTakenNumber is how many characters a number may have that is taken from a text.
const maxTakenNumber = 64

// sureDigits is how many digits a float keeps, whatever they are.
const sureDigits = 15

// types is the type of a value, as a set.
func (v *value) types() types {
	switch v.kind {
	case '{':
		return typeObject
	case '[':
		return typeArray
	case '"':
		return typeString
	case 't':
		return typeBool
	case 'n':
		return typeNull
	}
	if _, ok := integerText(v.text); ok {
		return typeInteger
	}
	return typeNumber
}

// meaning is what v stands for where only the allowed types are, or nil when it is right as it is,
// or could mean nothing or several things. Nothing of v is lost in it.
func meaning(v *value, allowed types) *value {
	switch v.kind {
	case '"':
		if allowed&typeString == 0 {
			return meant(unquote(v.text), allowed)
		}
	case '0':
		if allowed&(typeInteger|typeNumber) == 0 {
			return asText(v, allowed)
		}
		text, ok := integerText(v.text)
		if ok && text != v.text && allowed&(typeInteger|typeNumber) == typeInteger {
			return &value{kind: '0', text: text}
		}
	case 't':
		if allowed&typeBool == 0 {
			return asText(v, allowed)
		}
	}
	return nil
}

// asText is the text of a number or boolean, where nothing but a text is wanted.
func asText(v *value, allowed types) *value {
	if allowed&^typeNull != typeString {
		return nil
	}
	return str(v.text)
}

// meant is the value whose JSON text a string is.
func meant(s string, allowed types) *value {
	if s == "" {
		return nil
	}
	if _, err := transcode.AppendMsgpack(nil, []byte(s)); err != nil {
		return nil
	}
	v := parse(s)
	switch v.kind {
	case '0', 't':
		if v.text != s {
			return nil // there is space around it
		}
	case '"', 'n':
		return nil
	}
	if allowed&v.types() == 0 || !v.exact() {
		return nil
	}
	if whole := meaning(v, allowed); whole != nil {
		return whole
	}
	return v
}

// exact reports whether the tool will see every number in v with all of its digits.
func (v *value) exact() bool {
	for _, m := range v.fields {
		if !m.value.exact() {
			return false
		}
	}
	for _, item := range v.items {
		if !item.exact() {
			return false
		}
	}
	switch {
	case v.kind != '0', !strings.ContainsAny(v.text, ".eE"):
		return true // the transcoder takes no integer past 64 bits
	case len(v.text) <= sureDigits && !strings.ContainsAny(v.text, "eE"):
		return true
	}
	f, written, ok := numberOf(v.text)
	if !ok {
		return false
	}
	carried, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return carried.Cmp(written) == 0
}

// numberOf reads a number, nearly and exactly, unless it is so long or so far from 1 that this
// would take its time.
func numberOf(text string) (float64, *big.Rat, bool) {
	f, err := strconv.ParseFloat(text, 64)
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || len(text) > maxTakenNumber || f == 0 && strings.ContainsAny(digits, "123456789") {
		return 0, nil, false
	}
	exact, ok := new(big.Rat).SetString(text)
	return f, exact, ok
}

// integerText is the number as an integer is written, if it is one that 64 bits hold.
func integerText(text string) (string, bool) {
	switch {
	case text == "-0":
		return "0", true
	case !strings.ContainsAny(text, ".eE"):
		return text, true
	}
	f, exact, ok := numberOf(text)
	if !ok || math.Abs(f) > math.MaxUint64 || !exact.IsInt() {
		return "", false
	}
	if n := exact.Num(); n.IsInt64() || n.IsUint64() {
		return n.String(), true
	}
	return "", false
}
