package codec

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/field"
)

// EncodeError is a Go value that has no msgpack form.
type EncodeError struct {
	Pointer string // JSON pointer of the value; "" is the whole
	Detail  string
}

func (e *EncodeError) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// level is how far inside the value an encoder is. Both counts end cycles.
type level struct {
	depth int // arrays and maps around the value
	hops  int // pointers and interfaces since the last of them
}

const maxHops = 16 // pointers and interfaces in a row

// Append appends v's msgpack form to dst. It returns an *EncodeError for a value that has none.
//
// NaN, the infinities and strings that are not UTF-8 have a msgpack form and no JSON form: they
// travel as they are, and the host says what is wrong in the words it has for guests of every
// language.
func Append(dst []byte, v any) ([]byte, error) {
	return encode(dst, reflect.ValueOf(v), level{})
}

func noForm(detail string) error { return &EncodeError{Detail: detail} }

// under says that err happened in the member token of the value at hand.
func under(err error, token string) error {
	if e, ok := err.(*EncodeError); ok {
		e.Pointer = pointerTo(token) + e.Pointer
	}
	return err
}

func encode(dst []byte, v reflect.Value, l level) ([]byte, error) {
	if !v.IsValid() {
		return abi.AppendNil(dst), nil
	}
	t := v.Type()
	if t == rawType {
		if v.Len() == 0 {
			return abi.AppendNil(dst), nil
		}
		return append(dst, v.Bytes()...), nil
	}
	switch field.FormOf(t) {
	case field.Number:
		return appendNumber(dst, v.String())
	case field.Text, field.Time:
		return appendText(dst, v)
	case field.OwnJSON:
		return dst, noForm("a " + t.String() + " has a JSON form of its own, which does not travel")
	}
	switch t.Kind() {
	case reflect.Bool:
		return abi.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return abi.AppendInt(dst, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return abi.AppendUint(dst, v.Uint()), nil
	case reflect.Float32:
		return abi.AppendFloat32(dst, float32(v.Float())), nil
	case reflect.Float64:
		return abi.AppendFloat64(dst, v.Float()), nil
	case reflect.String:
		return abi.AppendString(dst, v.String()), nil
	case reflect.Pointer, reflect.Interface:
		if l.hops++; l.hops > maxHops {
			return dst, noForm("a " + t.String() + " points to itself")
		}
		return encode(dst, v.Elem(), l)
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		if isBytes(t) {
			return abi.AppendBin(dst, v.Bytes()), nil
		}
		l = level{depth: l.depth + 1}
		if l.depth > abi.MaxDepth {
			return dst, noForm("more than " + strconv.Itoa(abi.MaxDepth) +
				" arrays and objects lie inside one another, or one holds itself")
		}
		return encodeMany(dst, v, l)
	}
	return dst, noForm("a " + t.String() + " has no JSON form")
}

func encodeMany(dst []byte, v reflect.Value, l level) ([]byte, error) {
	switch v.Kind() {
	case reflect.Map:
		return encodeMap(dst, v, l)
	case reflect.Struct:
		return encodeStruct(dst, v, l)
	}
	dst = abi.AppendArrayHeader(dst, v.Len()) // a nil slice is an empty one
	for i := range v.Len() {
		var err error
		if dst, err = encode(dst, v.Index(i), l); err != nil {
			return dst, under(err, strconv.Itoa(i))
		}
	}
	return dst, nil
}

// encodeMap writes the keys in order, so that equal maps give equal bytes.
func encodeMap(dst []byte, v reflect.Value, l level) ([]byte, error) {
	if v.Type().Key().Kind() != reflect.String {
		return dst, noForm("a " + v.Type().String() + " has keys that are not strings")
	}
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	dst = abi.AppendMapHeader(dst, len(keys))
	key := reflect.New(v.Type().Key()).Elem()
	for _, k := range keys {
		var err error
		key.SetString(k)
		dst = abi.AppendString(dst, k)
		if dst, err = encode(dst, v.MapIndex(key), l); err != nil {
			return dst, under(err, k)
		}
	}
	return dst, nil
}

func encodeStruct(dst []byte, v reflect.Value, l level) ([]byte, error) {
	s, err := field.Of(v.Type())
	if err != nil {
		return dst, noForm(err.Error())
	}
	values := make([]reflect.Value, len(s.Fields))
	n := 0
	for i := range s.Fields {
		if f := member(v, &s.Fields[i]); f.IsValid() {
			values[i] = f
			n++
		}
	}
	dst = abi.AppendMapHeader(dst, n)
	for i, f := range values {
		if !f.IsValid() {
			continue
		}
		dst = abi.AppendString(dst, s.Fields[i].Name)
		if dst, err = encode(dst, f, l); err != nil {
			return dst, under(err, s.Fields[i].Name)
		}
	}
	return dst, nil
}

// member gives the value of f in v, or the invalid Value if it is left out.
func member(v reflect.Value, f *field.Field) reflect.Value {
	for _, i := range f.Index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
	case f.OmitEmpty && isEmpty(v):
	case f.OmitZero && isZero(v):
	default:
		return v
	}
	return reflect.Value{}
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return z.IsZero()
	}
	return v.IsZero()
}

func appendNumber(dst []byte, s string) ([]byte, error) {
	if s == "" {
		return abi.AppendInt(dst, 0), nil // as encoding/json writes it
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return abi.AppendInt(dst, n), nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return abi.AppendUint(dst, n), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return dst, noForm("the json.Number " + strconv.Quote(s) + " cannot be carried")
	}
	return abi.AppendFloat64(dst, f), nil
}

func appendText(dst []byte, v reflect.Value) ([]byte, error) {
	p := reflect.New(v.Type()) // the method may be the pointer's
	p.Elem().Set(v)
	text, err := p.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return dst, noForm(err.Error())
	}
	return abi.AppendString(dst, string(text)), nil
}
