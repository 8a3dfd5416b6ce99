package field

import (
	"encoding"
	"reflect"
	"sync"
)

// A Form is how values of a type travel when that is not for their kind to say.
type Form uint8

const (
	Plain   Form = iota // by kind
	Text                // as the string that MarshalText gives
	Time                // so too, and it is a time
	Number              // json.Number: as the number that the string holds
	OwnJSON             // not at all: it codes itself as JSON text, which the kit does not follow
)

var forms sync.Map // reflect.Type to Form

// FormOf gives the form of t. It knows types of the standard library by their names, so that a
// plugin that does not use them does not link them.
func FormOf(t reflect.Type) Form {
	if t.PkgPath() == "" || t.Kind() == reflect.Interface {
		return Plain // no name, and so no methods of its own
	}
	if f, ok := forms.Load(t); ok {
		return f.(Form)
	}
	f := formOf(t)
	forms.Store(t, f)
	return f
}

func formOf(t reflect.Type) Form {
	p := reflect.PointerTo(t)
	switch {
	case t.PkgPath() == "time" && t.Name() == "Time":
		return Time
	case t.PkgPath() == "encoding/json" && t.Name() == "Number":
		return Number
	case p.Implements(jsonMarshaler) || p.Implements(jsonUnmarshaler):
		return OwnJSON
	case p.Implements(textMarshaler) && p.Implements(textUnmarshaler):
		return Text
	}
	return Plain
}

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonMarshaler   = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()
	jsonUnmarshaler = reflect.TypeFor[interface{ UnmarshalJSON([]byte) error }]()
)
