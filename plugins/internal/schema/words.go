package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// Limits of a stranger's words in a text, in characters.
const (
	maxName   = 64  // of a name or a value
	maxReason = 512 // of why a schema cannot be used
)

// clip makes a name safe to show and short.
func clip(s string, max int) string { return abi.CleanText(s, max) }

// compact is v's JSON text for an error, cut to a readable length.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(b), maxName)
}

// KindText names a kind of value in JSON's words.
func KindText(k abi.Kind) string {
	switch k {
	case abi.KindNil:
		return "null"
	case abi.KindBool:
		return "a boolean"
	case abi.KindInt, abi.KindUint, abi.KindFloat:
		return "a number"
	case abi.KindString:
		return "a string"
	case abi.KindArray:
		return "an array"
	case abi.KindMap:
		return "an object"
	}
	return "no JSON value"
}

// FloatText is the shortest JSON form of f, with .0 where it would look like an integer.
func FloatText(f float64) string {
	b, err := json.Marshal(f)
	if err != nil {
		return err.Error() // not reached: arguments hold no NaN and no infinity
	}
	if !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...)
	}
	return string(b)
}

func missing(name string) string { return "the field " + quoted(name) + " is missing" }

// Details of problems that both roads find.
const (
	unknownField = "unknown field"
	nothing      = "there may be nothing here"
)

// escapePointer escapes one reference token of a JSON pointer.
func escapePointer(token string) string {
	return pointerEscapes.Replace(clip(token, maxName))
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
