// Package misfit says in the words of JSON what is wrong with a stranger's JSON, where
// encoding/json speaks of Go's types.
package misfit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Text is what an error of encoding/json says to whoever has written the text.
func Text(err error) string {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	kind, _, _ := strings.Cut(e.Value, " ") // a number has its digits after it
	switch kind {
	case "bool":
		kind = "a boolean"
	case "array", "object":
		kind = "an " + kind
	default:
		kind = "a " + kind
	}
	if e.Field == "" {
		return kind + " does not fit here"
	}
	return fmt.Sprintf("%s does not fit the field %q", kind, e.Field)
}
