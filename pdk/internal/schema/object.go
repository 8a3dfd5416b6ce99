package schema

import "github.com/wasmagent/wasmagent/pdk/internal/field"

// An object is a JSON object being written to the end of b.
type object struct {
	b     []byte
	begun bool
}

func open(b []byte) object { return object{b: append(b, '{')} }

func (o *object) close() []byte { return append(o.b, '}') }

func (o *object) key(k string) {
	if o.begun {
		o.b = append(o.b, ',')
	}
	o.begun = true
	o.b = append(field.AppendQuoted(o.b, k), ':')
}

func (o *object) str(k, v string) {
	o.key(k)
	o.b = field.AppendQuoted(o.b, v)
}

func (o *object) literal(k, v string) {
	o.key(k)
	o.b = append(o.b, v...)
}

func (o *object) optional(k, v string) {
	if v != "" {
		o.literal(k, v)
	}
}

// describe writes what a field's tags say of values of any type.
func (o *object) describe(f *field.Field) {
	if f.Doc != "" {
		o.str("description", f.Doc)
	}
	if len(f.Enum) > 0 {
		o.key("enum")
		for i, word := range f.Enum {
			o.b = append(o.b, "[,"[min(i, 1)])
			o.b = append(o.b, word...)
		}
		o.b = append(o.b, ']')
	}
	o.optional("default", f.Default)
}
