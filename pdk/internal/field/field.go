// Package field reads what a struct type says about its fields: the names they travel under and
// the tags that describe them to a caller. Schemas and values are both made from it, so that they
// cannot disagree.
package field

import (
	"reflect"
	"strings"
	"sync"
)

// Field is one field of a struct as it travels.
type Field struct {
	Name      string
	Index     []int // for reflect.Value.FieldByIndex; longer than 1 below embedded structs
	Type      reflect.Type
	Optional  bool // a caller may leave it out
	OmitEmpty bool // a value with nothing in it is left out
	OmitZero  bool // a zero value is left out

	Doc      string
	Enum     []string // JSON literals, of the elements when the field is a slice
	Min, Max string   // JSON numbers: of the value, or of its length; "" for none
	Default  string   // a JSON literal; "" for none
	Preset   reflect.Value
}

// Struct is the fields of a struct type in the order they are declared.
type Struct struct {
	Fields []Field
	byName map[string]int
}

// Lookup gives the index in Fields of the field that travels as name.
func (s *Struct) Lookup(name []byte) (int, bool) {
	i, ok := s.byName[string(name)]
	return i, ok
}

var cache sync.Map // reflect.Type to *Struct

// Of gives the fields of struct type t. An *Error says what is wrong with a tag.
func Of(t reflect.Type) (*Struct, error) {
	if s, ok := cache.Load(t); ok {
		return s.(*Struct), nil
	}
	all, err := collect(t, nil, nil)
	if err != nil {
		return nil, err
	}
	fields, err := dominant(t, all)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 && t.NumField() > 0 {
		return nil, &Error{Struct: t.String(), Detail: "none of its fields is exported"}
	}
	s := &Struct{Fields: fields, byName: make(map[string]int, len(fields))}
	for i := range s.Fields {
		s.byName[s.Fields[i].Name] = i
	}
	cache.Store(t, s)
	return s, nil
}

// Error is a field that cannot travel as it is declared.
type Error struct {
	Struct, Field string
	Detail        string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Struct + ": " + e.Detail
	}
	return e.Struct + "." + e.Field + ": " + e.Detail
}

// collect lists t's fields, those of embedded structs in their place. within holds the structs
// around t.
func collect(t reflect.Type, index []int, within []reflect.Type) ([]Field, error) {
	for _, outer := range within {
		if outer == t {
			return nil, &Error{Struct: t.String(), Detail: "a struct cannot embed itself"}
		}
	}
	within = append(within, t)
	var all []Field
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		tag, tagged := sf.Tag.Lookup("json")
		if tag == "-" {
			continue
		}
		if inner := embedded(sf); inner != nil && (!tagged || tag == "" || tag[0] == ',') {
			if sf.Type.Kind() == reflect.Pointer && !sf.IsExported() {
				return nil, fail(t, sf, "an embedded pointer must be to an exported struct")
			}
			fields, err := collect(inner, at, within)
			if err != nil {
				return nil, err
			}
			if sf.Type.Kind() == reflect.Pointer {
				for j := range fields {
					fields[j].Optional = true
				}
			}
			all = append(all, fields...)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f, err := parse(t, sf, tag)
		if err != nil {
			return nil, err
		}
		f.Index = at
		all = append(all, f)
	}
	return all, nil
}

// embedded gives the struct type that sf embeds, or nil. A type that travels as text is a value
// like any other.
func embedded(sf reflect.StructField) reflect.Type {
	t := sf.Type
	if !sf.Anonymous {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || FormOf(t) != Plain {
		return nil
	}
	return t
}

// dominant keeps, of fields with one name, the one that is embedded the least deep.
func dominant(t reflect.Type, all []Field) ([]Field, error) {
	best := make(map[string]int, len(all)) // name to depth
	for _, f := range all {
		if d, ok := best[f.Name]; !ok || len(f.Index) < d {
			best[f.Name] = len(f.Index)
		}
	}
	taken := make(map[string]bool, len(all))
	kept := all[:0]
	for _, f := range all {
		if len(f.Index) != best[f.Name] {
			continue
		}
		if taken[f.Name] {
			return nil, &Error{Struct: t.String(), Detail: "two fields travel as " + f.Name}
		}
		taken[f.Name] = true
		kept = append(kept, f)
	}
	return kept, nil
}

func parse(t reflect.Type, sf reflect.StructField, tag string) (Field, error) {
	name, opts, _ := strings.Cut(tag, ",")
	if name == "" {
		name = sf.Name
	}
	f := Field{Name: name, Type: sf.Type, Doc: sf.Tag.Get("doc")}
	for opts != "" {
		var opt string
		opt, opts, _ = strings.Cut(opts, ",")
		switch opt {
		case "omitempty":
			f.OmitEmpty = true
		case "omitzero":
			f.OmitZero = true
		default:
			return f, fail(t, sf, "json option "+opt+" is not known; use omitempty or omitzero")
		}
	}
	if detail := f.describe(sf.Tag); detail != "" {
		return f, fail(t, sf, detail)
	}
	pointer := sf.Type.Kind() == reflect.Pointer
	f.Optional = pointer || f.OmitEmpty || f.OmitZero || f.Default != ""
	return f, nil
}

func fail(t reflect.Type, sf reflect.StructField, detail string) error {
	return &Error{Struct: t.String(), Field: sf.Name, Detail: detail}
}
