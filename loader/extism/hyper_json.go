package extism

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/wasmagent/wasmagent/abi/transcode"
)

// document reads a guest's JSON, in which a key is itself and nothing else: encoding/json would take
// another spelling of it, too. The first thing that is wrong stands.
type document struct{ err error }

// shapeError is JSON that has something else in a place than belongs there.
type shapeError struct{ at, detail string }

func (e *shapeError) Error() string {
	if e.at == "" {
		return e.detail
	}
	return e.at + ": " + e.detail
}

// object is an object of a document.
type object struct {
	d      *document
	at     string
	fields map[string]json.RawMessage
}

// parse reads an object. Its text is held against the limits of any guest's values first: depth,
// number of values, no key twice, UTF-8. The error is a *transcode.CarriageError or a *shapeError.
func (d *document) parse(b []byte) (object, error) {
	if _, err := transcode.AppendMsgpack(nil, b); err != nil {
		return object{}, err
	}
	o := d.object("", b)
	return o, d.err
}

func (d *document) fail(at, format string, args ...any) {
	if d.err == nil {
		d.err = &shapeError{at, fmt.Sprintf(format, args...)}
	}
}

func (d *document) object(at string, raw json.RawMessage) object {
	o := object{d: d, at: at}
	d.decode(at, raw, "an object", &o.fields)
	return o
}

func (d *document) decode(at string, raw json.RawMessage, want string, v any) {
	if kind := kindOf(raw); kind != want {
		d.fail(at, "want %s, have %s", want, kind)
	} else if err := json.Unmarshal(raw, v); err != nil {
		d.fail(at, "%v", err)
	}
}

// kindOf says what a value is.
func kindOf(raw json.RawMessage) string {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return "an object"
		case '[':
			return "an array"
		case '"':
			return "a string"
		case 't', 'f':
			return "a boolean"
		case 'n':
			return "null"
		}
		break
	}
	return "a number"
}

func (o object) path(key string) string {
	if o.at == "" {
		return key
	}
	return o.at + "." + key
}

// raw is a field as it is; nil: it is not there, or null.
func (o object) raw(key string) json.RawMessage {
	raw := o.fields[key]
	if raw == nil || kindOf(raw) == "null" {
		return nil
	}
	return raw
}

// field decodes a field that may be missing, and tells whether it is there.
func (o object) field(key, want string, v any) bool {
	raw := o.raw(key)
	if raw != nil {
		o.d.decode(o.path(key), raw, want, v)
	}
	return raw != nil
}

func (o object) text(key string) (s string, ok bool) {
	ok = o.field(key, "a string", &s)
	return s, ok
}

// word is a text that may be missing.
func (o object) word(key string) string {
	s, _ := o.text(key)
	return s
}

func (o object) flag(key string) (v bool) {
	o.field(key, "a boolean", &v)
	return v
}

func (o object) number(key string) (n float64) {
	o.field(key, "a number", &n)
	return n
}

func (o object) object(key string) (inner object, ok bool) {
	raw := o.raw(key)
	if raw == nil {
		return object{d: o.d, at: o.path(key)}, false
	}
	return o.d.object(o.path(key), raw), true
}

// bytes are those of a field in base64.
func (o object) bytes(key string) (b []byte, ok bool) {
	text, ok := o.text(key)
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		o.d.fail(o.path(key), "not base64: %v", err)
	}
	return b, true
}

// items are those of an array.
func (o object) items(key string) (list []json.RawMessage, ok bool) {
	ok = o.field(key, "an array", &list)
	return list, ok
}

// at is the place of an item in an array.
func at(array string, i int) string { return array + "[" + strconv.Itoa(i) + "]" }
