package schema

import (
	"reflect"
	"strconv"

	"github.com/wasmagent/wasmagent/pdk/internal/field"
)

// many writes the schema of a type that holds others.
func (w *writer) many(o *object, t reflect.Type, f *field.Field) (err error) {
	switch {
	case isBytes(t):
		o.str("type", "string")
		o.describe(f)
		o.str("contentEncoding", "base64")
		return nil
	case t.Kind() == reflect.Struct:
		return w.members(o, t, f)
	case t.Kind() == reflect.Map:
		if t.Key().Kind() != reflect.String {
			return unfit(t, "the keys of an object are strings")
		}
		o.str("type", "object")
		o.describe(f)
		o.optional("minProperties", f.Min)
		o.optional("maxProperties", f.Max)
		o.key("additionalProperties")
		o.b, err = w.element(o.b, t.Elem(), &field.Field{})
		return err
	}
	o.str("type", "array")
	items := &field.Field{Enum: f.Enum}
	o.describe(&field.Field{Doc: f.Doc, Default: f.Default})
	low, high := f.Min, f.Max
	if t.Kind() == reflect.Array {
		low = strconv.Itoa(t.Len())
		high = low
	}
	o.optional("minItems", low)
	o.optional("maxItems", high)
	o.key("items")
	o.b, err = w.element(o.b, t.Elem(), items)
	return err
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func (w *writer) members(o *object, t reflect.Type, f *field.Field) error {
	s, err := field.Of(t)
	if err != nil {
		return err
	}
	o.str("type", "object")
	o.describe(f)
	o.key("properties")
	props := open(o.b)
	var required []byte
	for i := range s.Fields {
		m := &s.Fields[i]
		props.key(m.Name)
		if props.b, err = w.value(props.b, m.Type, m); err != nil {
			return inside(err, t, m.Name)
		}
		if !m.Optional {
			required = append(field.AppendQuoted(required, m.Name), ',')
		}
	}
	o.b = props.close()
	if n := len(required); n > 0 {
		o.literal("required", "["+string(required[:n-1])+"]")
	}
	o.literal("additionalProperties", "false")
	return nil
}

// inside names the member that an error of another type came from.
func inside(err error, t reflect.Type, member string) error {
	e, ok := err.(*field.Error)
	if !ok || e.Field != "" {
		return err
	}
	return &field.Error{Struct: t.String(), Field: member, Detail: e.Struct + ": " + e.Detail}
}

// findCycles fills refs and defs. seen has the types walked so far: true while what they hold is
// being walked, so that meeting one again then closes a cycle.
func (w *writer) findCycles(t reflect.Type, seen map[reflect.Type]bool) error {
	if field.FormOf(t) != field.Plain || t == rawType {
		return nil
	}
	if walking, ok := seen[t]; ok {
		if walking && t.Name() == "" {
			return nil // the named type around it closes the same cycle
		}
		if walking && w.refs[t] == "" {
			w.refer(t)
		}
		return nil
	}
	seen[t] = true
	defer func() { seen[t] = false }()
	switch t.Kind() {
	case reflect.Pointer:
		if t.Name() != "" {
			return unfit(t, "a named pointer type has no schema")
		}
		return w.findCycles(t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Map:
		return w.findCycles(t.Elem(), seen)
	case reflect.Struct:
		s, err := field.Of(t)
		if err != nil {
			return err
		}
		for i := range s.Fields {
			if err := w.findCycles(s.Fields[i].Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

const defsPrefix = "#/$defs/"

// refer gives t a place of its own. The root is its own place.
func (w *writer) refer(t reflect.Type) {
	if t == w.root {
		w.refs[t] = "#"
		return
	}
	name := []byte(t.Name())
	for i, c := range name {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9') {
			name[i] = '_' // type parameters bring brackets, dots and slashes
		}
	}
	ref := defsPrefix + string(name)
	for n := 2; w.taken(ref); n++ {
		ref = defsPrefix + string(name) + strconv.Itoa(n)
	}
	w.refs[t] = ref
	w.defs = append(w.defs, t)
}

func (w *writer) taken(ref string) bool {
	for _, other := range w.refs {
		if other == ref {
			return true
		}
	}
	return false
}
