package abihost

import (
	"math"

	"github.com/wasmagent/wasmagent/abi"
)

// maxHeaders is how many headers of a request are read. Whoever sends it has a limit of his own.
const maxHeaders = 1000

// ParseHTTPRequest reads the payload of the host call http, except for what its fields mean. It
// returns a *transcode.SyntaxError for bytes that are not msgpack and a *FieldError for the rest.
func ParseHTTPRequest(b []byte) (abi.HTTPRequest, error) {
	root, err := decode(b)
	if err != nil {
		return abi.HTTPRequest{}, err
	}
	d := &decoder{}
	f := d.object("", root)
	q := abi.HTTPRequest{
		Method:  f.string("method", optional),
		URL:     f.string("url", required),
		Headers: f.headers("headers"),
		Body:    f.bin("body"),
	}
	if _, ok := f.value("timeout_ms", optional); ok {
		q.TimeoutMS = f.integer("timeout_ms", math.MaxInt32)
	}
	return q, d.err
}

func (f object) headers(key string) []abi.HTTPHeader {
	v, ok := f.value(key, optional)
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	switch {
	case !ok:
		f.fail(key, "want an array, have %s", typeName(v))
	case len(items) > maxHeaders:
		f.fail(key, "has %d entries, more than %d", len(items), maxHeaders)
		return nil
	}
	headers := make([]abi.HTTPHeader, 0, len(items))
	for i, item := range items {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			f.fail(key, "entry %d is not an array of a name and a value", i)
			return nil
		}
		name, ok := pair[0].(string)
		value, ok2 := pair[1].(string)
		if !ok || !ok2 {
			f.fail(key, "entry %d has something else than two strings", i)
		}
		headers = append(headers, abi.HTTPHeader{Name: name, Value: value})
	}
	return headers
}

// bin is a field of bytes; a string will do.
func (f object) bin(key string) []byte {
	v, ok := f.value(key, optional)
	if !ok {
		return nil
	}
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	f.fail(key, "want bin, have %s", typeName(v))
	return nil
}

// ParseKVRequest reads the payload of the host call kv. Which fields an operation has it checks;
// what the space takes is the host's to say. A value is any that is well-formed, a copy. Errors are
// those of ParseHTTPRequest.
func ParseKVRequest(b []byte) (abi.KVRequest, error) {
	root, err := decode(b)
	if err != nil {
		return abi.KVRequest{}, err
	}
	d := &decoder{}
	f := d.object("", root)
	q := abi.KVRequest{Op: abi.KVOp(f.string("op", required))}
	switch q.Op {
	case abi.KVGet, abi.KVDelete:
		q.Key = f.string("key", required)
	case abi.KVSet:
		q.Key = f.string("key", required)
		if q.Value = rawField(b, "value"); q.Value == nil {
			f.fail("value", "is missing")
		}
	case abi.KVList:
		q.Prefix, q.After = f.string("prefix", optional), f.string("after", optional)
		if _, ok := f.value("limit", optional); ok {
			q.Limit = int(f.integer("limit", math.MaxInt32))
		}
	default:
		f.fail("op", "%s is none of get, set, delete and list", quote(string(q.Op)))
	}
	return q, d.err
}

// rawField copies the value of a key of a map that was scanned; nil when it is not there.
func rawField(b []byte, key string) abi.Raw {
	r := abi.NewReader(b)
	n, err := r.Map()
	for range n {
		name, keyErr := r.StrBytes()
		value, valueErr := r.Raw()
		switch {
		case err != nil, keyErr != nil, valueErr != nil:
			return nil
		case string(name) == key:
			return append(abi.Raw(nil), value...)
		}
	}
	return nil
}
