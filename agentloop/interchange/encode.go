package interchange

import (
	"bytes"
	"encoding/json"
)

// object is one of JSON whose fields keep their order.
type object []field

type field struct {
	name  string
	value any
}

// compact is JSON without needless space.
type compact []byte

// encode gives the JSON of what always has one, as programs write it that are not about HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	appendJSON(&b, v)
	return b.Bytes()
}

// appendJSON goes into objects and lists itself, so that a long text deep inside is looked at once.
func appendJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, f := range v {
			separate(b, i)
			appendJSON(b, f.name)
			b.WriteByte(':')
			appendJSON(b, f.value)
		}
		b.WriteByte('}')
	case compact:
		b.Write(v)
	case []object:
		appendList(b, v)
	case []any:
		appendList(b, v)
	default:
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic(err) // a mistake of this package: what it encodes is made of JSON
		}
		b.Truncate(b.Len() - 1) // the newline
	}
}

func appendList[T any](b *bytes.Buffer, list []T) {
	b.WriteByte('[')
	for i := range list {
		separate(b, i)
		appendJSON(b, list[i])
	}
	b.WriteByte(']')
}

func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}
