package abihost

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// FieldError is a field of a manifest or a payload that is missing, of a wrong type or past a
// limit.
type FieldError struct {
	Path   string // such as tools[3].name; "" is the whole
	Detail string
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Detail
	}
	return e.Path + ": " + e.Detail
}

// decode scans b, a small payload, and decodes it to nil, bool, an integer or float of any size,
// string, []byte, time.Time, []any and map[string]any.
func decode(b []byte) (any, error) {
	if err := transcode.Scan(b, transcode.MaxSmallNodes); err != nil {
		return nil, err
	}
	d := msgpack.NewDecoder(bytes.NewReader(b))
	d.SetMapDecoder(decodeMap)
	v, err := d.DecodeInterface()
	if err != nil { // a key that is not a string, an extension that is not known
		return nil, &FieldError{"", err.Error()}
	}
	return v, nil
}

// decodeMap decodes a map whose keys are strings. Left to itself the decoder takes bin and nil for
// strings too.
func decodeMap(d *msgpack.Decoder) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, n)
	for range n {
		code, err := d.PeekCode()
		if err == nil && !msgpcode.IsString(code) {
			err = errKey
		}
		if err != nil {
			return nil, err
		}
		key, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		if m[key], err = d.DecodeInterface(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

var errKey = errors.New("a map has a key that is not a string")

// A decoder takes a decoded value apart and keeps the first error, so that a shape reads as a list
// of its fields.
type decoder struct{ err error }

func (d *decoder) fail(path, format string, args ...any) {
	if d.err == nil {
		d.err = &FieldError{path, fmt.Sprintf(format, args...)}
	}
}

const (
	required = true
	optional = false
)

// An object is a map that is being taken apart. A field that is nil counts as missing.
type object struct {
	d    *decoder
	path string
	m    map[string]any
}

func (d *decoder) object(path string, v any) object {
	m, ok := v.(map[string]any)
	if !ok {
		d.fail(path, "want a map, have %s", typeName(v))
	}
	return object{d, path, m}
}

func (f object) at(key string) string {
	if f.path == "" {
		return key
	}
	return f.path + "." + key
}

func (f object) fail(key, format string, args ...any) {
	f.d.fail(f.at(key), format, args...)
}

func (f object) value(key string, required bool) (any, bool) {
	v := f.m[key]
	if v == nil && required {
		f.fail(key, "is missing")
	}
	return v, v != nil
}

// string is a field as it is.
func (f object) string(key string, required bool) string {
	v, ok := f.value(key, required)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	switch {
	case !ok:
		f.fail(key, "want a string, have %s", typeName(v))
	case !utf8.ValidString(s):
		f.fail(key, "is not UTF-8")
	}
	return s
}

// text is a field for people to read: cleaned and cut.
func (f object) text(key string, required bool) string {
	v, ok := f.value(key, required)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		f.fail(key, "want a string, have %s", typeName(v))
	}
	return abi.CleanText(s, abi.MaxTextChars)
}

// word is a field that means something to a machine, and so must be clean as it stands.
func (f object) word(key string, required bool) string {
	s := f.string(key, required)
	f.checkWord(key, s)
	if s == "" && required {
		f.fail(key, "is empty")
	}
	return s
}

func (f object) words(key string, max int) []string {
	v, ok := f.value(key, optional)
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	switch {
	case !ok:
		f.fail(key, "want an array, have %s", typeName(v))
	case len(items) > max:
		f.fail(key, "has %d entries, more than %d", len(items), max)
	}
	var words []string
	for i, item := range items {
		s, ok := item.(string)
		at := key + "[" + strconv.Itoa(i) + "]"
		if !ok || s == "" {
			f.fail(at, "want a string that is not empty, have %s", typeName(item))
		}
		f.checkWord(at, s)
		words = append(words, s)
	}
	return words
}

func (f object) checkWord(key, s string) {
	if abi.CleanText(s, abi.MaxTextChars) != s {
		f.fail(key, "%s has characters that cannot be shown, or more than %d", quote(s),
			abi.MaxTextChars)
	}
}

func (f object) bool(key string) bool {
	v, ok := f.value(key, optional)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		f.fail(key, "want a bool, have %s", typeName(v))
	}
	return b
}

// integer is a required field from 0 to max.
func (f object) integer(key string, max int64) int64 {
	v, ok := f.value(key, required)
	if !ok {
		return 0
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanUint() && r.Uint() <= uint64(max):
		return int64(r.Uint())
	case r.CanInt() && r.Int() >= 0 && r.Int() <= max:
		return r.Int()
	case r.CanInt() || r.CanUint():
		f.fail(key, "%v lies outside 0 to %d", v, max)
	default:
		f.fail(key, "want an integer, have %s", typeName(v))
	}
	return 0
}

// number is a field of any numeric type that is 0 or more and finite.
func (f object) number(key string, required bool) float64 {
	v, ok := f.value(key, required)
	if !ok {
		return 0
	}
	var n float64
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		n = float64(r.Int())
	case r.CanUint():
		n = float64(r.Uint())
	case r.CanFloat():
		n = r.Float()
	default:
		f.fail(key, "want a number, have %s", typeName(v))
		return 0
	}
	if !(n >= 0 && n <= math.MaxFloat64) {
		f.fail(key, "%v is not a finite number of 0 or more", n)
	}
	return n
}

// list is a field that is an array of at most max maps.
func list[T any](f object, key string, required bool, max int, one func(*decoder, object) T) []T {
	v, ok := f.value(key, required)
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	switch {
	case !ok:
		f.fail(key, "want an array, have %s", typeName(v))
		return nil
	case len(items) > max:
		f.fail(key, "has %d entries, more than %d", len(items), max)
		return nil
	}
	var out []T
	for i, item := range items {
		out = append(out, one(f.d, f.d.object(f.at(key)+"["+strconv.Itoa(i)+"]", item)))
	}
	return out
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return "a bool"
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return "an integer"
	case float32, float64:
		return "a float"
	case string:
		if v == "" {
			return "an empty string"
		}
		return "a string"
	case []byte:
		return "bin"
	case []any:
		return "an array"
	case map[string]any:
		return "a map"
	}
	return "a timestamp"
}

const maxQuoted = 64 // characters of a guest's word in an error

func quote(s string) string { return strconv.Quote(abi.CleanText(s, maxQuoted)) }
