// Package schema writes the JSON Schema (2020-12) of a Go type, from its fields and their tags.
package schema

import (
	"reflect"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/field"
)

// Of gives the schema of t as JSON text; the same type always gives the same text. The error names
// the type or field that has no schema.
func Of(t reflect.Type) (string, error) {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	w := &writer{root: t, refs: make(map[reflect.Type]string)}
	if err := w.findCycles(t, make(map[reflect.Type]bool)); err != nil {
		return "", err
	}
	o := open(nil)
	if err := w.body(&o, t, &field.Field{}); err != nil {
		return "", err
	}
	if len(w.defs) > 0 {
		o.key("$defs")
		defs := open(o.b)
		for _, t := range w.defs {
			defs.key(w.refs[t][len(defsPrefix):])
			def := open(defs.b)
			if err := w.body(&def, t, &field.Field{}); err != nil {
				return "", err
			}
			defs.b = def.close()
		}
		o.b = defs.close()
	}
	return string(o.close()), nil
}

// A writer writes one schema. Types that hold themselves are written once and referred to; all
// others are written where they stand, since models read that best.
type writer struct {
	root reflect.Type
	refs map[reflect.Type]string // how to refer to the types that hold themselves
	defs []reflect.Type          // those of them that are not the root
}

// value writes the schema of a value of t; f has what the tags say of it.
func (w *writer) value(b []byte, t reflect.Type, f *field.Field) ([]byte, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	o := open(b)
	if ref, ok := w.refs[t]; ok {
		o.str("$ref", ref)
		o.describe(f)
		return o.close(), nil
	}
	err := w.body(&o, t, f)
	return o.close(), err
}

// element writes the schema of the elements of a slice, array or map. A pointer there is meant to
// be null at times, unless it is one to a struct.
func (w *writer) element(b []byte, t reflect.Type, f *field.Field) ([]byte, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() == reflect.Struct {
		return w.value(b, t, f)
	}
	b, err := w.value(append(b, `{"anyOf":[`...), t, f)
	return append(b, `,{"type":"null"}]}`...), err
}

var rawType = reflect.TypeFor[abi.Raw]()

func (w *writer) body(o *object, t reflect.Type, f *field.Field) error {
	switch form := field.FormOf(t); {
	case t == rawType || t.Kind() == reflect.Interface && t.NumMethod() == 0:
		o.describe(f)
		return nil
	case form == field.Number:
		o.str("type", "number")
		o.describe(f)
		return nil
	case form == field.Text, form == field.Time:
		o.str("type", "string")
		o.describe(f)
		if form == field.Time {
			o.str("format", "date-time")
		}
		return nil
	case form == field.OwnJSON:
		return unfit(t, "it has a JSON form of its own, which the kit does not follow; "+
			"give the field another type")
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return w.many(o, t, f)
	}
	return scalar(o, t, f)
}

func scalar(o *object, t reflect.Type, f *field.Field) error {
	low, high := f.Min, f.Max
	switch k := t.Kind(); {
	case k == reflect.Bool:
		o.str("type", "boolean")
		o.describe(f)
	case k == reflect.String:
		o.str("type", "string")
		o.describe(f)
		o.optional("minLength", low)
		o.optional("maxLength", high)
	case k >= reflect.Int && k <= reflect.Uint64:
		o.str("type", "integer")
		o.describe(f)
		lowest, highest := integers(t)
		o.optional("minimum", either(low, lowest))
		o.optional("maximum", either(high, highest))
	case k == reflect.Float32, k == reflect.Float64:
		o.str("type", "number")
		o.describe(f)
		o.optional("minimum", low)
		o.optional("maximum", high)
	default:
		return unfit(t, "it has no JSON form")
	}
	return nil
}

// integers gives the bounds of integer type t that a schema should tell. The ends of the 64-bit
// types are left out: JSON readers round them, and models need not know.
func integers(t reflect.Type) (low, high string) {
	switch k := t.Kind(); {
	case k == reflect.Uint || k == reflect.Uint64:
		return "0", ""
	case k >= reflect.Uint8:
		return "0", strconv.FormatUint(1<<t.Bits()-1, 10)
	case k == reflect.Int || k == reflect.Int64:
		return "", ""
	}
	highest := int64(1)<<(t.Bits()-1) - 1
	return strconv.FormatInt(-highest-1, 10), strconv.FormatInt(highest, 10)
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func unfit(t reflect.Type, detail string) error {
	return &field.Error{Struct: t.String(), Detail: detail}
}
