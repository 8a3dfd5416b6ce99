package plugins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/internal/schema"
)

// Limits of keys.
const (
	maxKeyBytes  = 4096 // of the value that identifies a call
	maxListed    = 20   // fields of the arguments that a refusal lists
	maxPathDepth = 64   // names of a path; arguments are no deeper
)

// keyPath names the input field that identifies a tool's calls: dot-separated field names, object
// look-ups only. Nothing in it is escaped, trimmed or an array index.
type keyPath struct{ fields []string }

// parseKeyPath reads a path such as order.id.
func parseKeyPath(path string) (keyPath, error) {
	if path == "" {
		return keyPath{}, fmt.Errorf("idempotency path: empty")
	}
	fields := strings.Split(path, ".")
	if len(fields) > maxPathDepth {
		return keyPath{}, fmt.Errorf("idempotency path: %d names, at most %d", len(fields),
			maxPathDepth)
	}
	if i := slices.Index(fields, ""); i >= 0 {
		return keyPath{}, fmt.Errorf("idempotency path %q: name %d of %d is empty", path, i+1,
			len(fields))
	}
	return keyPath{fields}, nil
}

// CheckKey tells why nothing can be the path of a key, as in Rule.Key.
func CheckKey(path string) error {
	_, err := parseKeyPath(path)
	return err
}

func (p keyPath) String() string { return strings.Join(p.fields, ".") }

// derive gives the key of a call of tool with these arguments, "<tool>:<value>". Order and other
// fields of the arguments never change it. Its error is a *KeyError, which says what stopped it and
// which fields the arguments have.
func (p keyPath) derive(tool string, input abi.Raw) (string, error) {
	at := input
	for i, field := range p.fields {
		next, found := lookUp(at, field)
		switch place := strings.Join(p.fields[:i], "."); {
		case found:
			at = next
		case abi.NewReader(at).Kind() != abi.KindMap && i == 0:
			return "", p.refuse(input, "the arguments are "+kindOf(at)+", not an object")
		case abi.NewReader(at).Kind() != abi.KindMap:
			return "", p.refuse(input, fmt.Sprintf("%q is %s, not an object", place, kindOf(at)))
		case i == 0:
			return "", p.refuse(input, fmt.Sprintf("there is no field %q", field))
		default:
			return "", p.refuse(input, fmt.Sprintf("%q has no field %q", place, field))
		}
	}
	value, refusal := keyValue(at)
	if refusal != "" {
		return "", p.refuse(input, "it is "+refusal)
	}
	return tool + ":" + value, nil
}

// keyValue is the text of a value that can identify a call, or why this one cannot.
func keyValue(v abi.Raw) (text, refusal string) {
	r := abi.NewReader(v)
	switch r.Kind() {
	case abi.KindString:
		s, _ := r.StrBytes()
		switch {
		case len(s) == 0:
			return "", "an empty string; want a non-empty string or a number"
		case len(s) > maxKeyBytes:
			return "", fmt.Sprintf("a string of %d bytes; a key has at most %d", len(s), maxKeyBytes)
		}
		return string(s), ""
	case abi.KindInt:
		n, _ := r.Int()
		return strconv.FormatInt(n, 10), ""
	case abi.KindUint:
		n, _ := r.Uint()
		return strconv.FormatUint(n, 10), ""
	case abi.KindFloat:
		f, _ := r.Float()
		return schema.FloatText(f), ""
	}
	return "", kindOf(v) + "; want a non-empty string or a number"
}

// lookUp finds a field of v, if v is an object that has it.
func lookUp(v abi.Raw, field string) (value abi.Raw, found bool) {
	r := abi.NewReader(v)
	n, err := r.Map()
	if err != nil {
		return nil, false
	}
	for range n {
		name, err := r.StrBytes()
		if err != nil {
			return nil, false
		}
		value, err := r.Raw()
		if err != nil {
			return nil, false
		}
		if string(name) == field {
			return value, true
		}
	}
	return nil, false
}

// refuse adds the fields that the arguments do have to what stopped the path.
func (p keyPath) refuse(input abi.Raw, what string) error {
	fields, ok := fieldNames(input)
	switch {
	case !ok:
	case len(fields) == 0:
		what += "; the arguments have no fields"
	case len(fields) > maxListed:
		what += fmt.Sprintf("; the arguments have the fields %s and %d more",
			strings.Join(fields[:maxListed], ", "), len(fields)-maxListed)
	default:
		what += "; the arguments have the fields " + strings.Join(fields, ", ")
	}
	return &KeyError{p.String(), what}
}

// fieldNames lists the fields of an object, sorted, each fit to be shown.
func fieldNames(v abi.Raw) (names []string, ok bool) {
	r := abi.NewReader(v)
	n, err := r.Map()
	if err != nil {
		return nil, false
	}
	for range n {
		name, err := r.Str()
		if err != nil || r.Skip() != nil {
			return nil, false
		}
		names = append(names, strconv.Quote(clip(name, maxName)))
	}
	slices.Sort(names)
	return names, true
}

func kindOf(v abi.Raw) string { return schema.KindText(abi.NewReader(v).Kind()) }
