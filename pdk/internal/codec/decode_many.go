package codec

import (
	"reflect"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/field"
)

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func decodeSlice(r *abi.Reader, v reflect.Value) *InputError {
	switch {
	case r.Kind() == abi.KindNil:
		v.SetZero()
		return broken(r.Nil())
	case isBytes(v.Type()):
		return decodeBytes(r, v)
	case r.Kind() != abi.KindArray:
		return mismatch("an array", r)
	}
	n, err := r.Array()
	if err != nil {
		return broken(err)
	}
	s := reflect.MakeSlice(v.Type(), n, n) // the reader has seen that n values can be there
	for i := range n {
		if err := decode(r, s.Index(i)); err != nil {
			return err.below(strconv.Itoa(i))
		}
	}
	v.Set(s)
	return nil
}

func decodeArray(r *abi.Reader, v reflect.Value) *InputError {
	if r.Kind() != abi.KindArray {
		return mismatch("an array", r)
	}
	n, err := r.Array()
	if err != nil {
		return broken(err)
	}
	if n != v.Len() {
		return wrong("want " + strconv.Itoa(v.Len()) + " elements, have " + strconv.Itoa(n))
	}
	for i := range n {
		if err := decode(r, v.Index(i)); err != nil {
			return err.below(strconv.Itoa(i))
		}
	}
	return nil
}

func decodeMap(r *abi.Reader, v reflect.Value) *InputError {
	switch {
	case r.Kind() == abi.KindNil:
		v.SetZero()
		return broken(r.Nil())
	case r.Kind() != abi.KindMap:
		return mismatch("an object", r)
	case v.Type().Key().Kind() != reflect.String:
		return wrong("the plugin's type " + v.Type().String() + " has keys that are not strings")
	}
	n, err := r.Map()
	if err != nil {
		return broken(err)
	}
	m := reflect.MakeMapWithSize(v.Type(), n)
	for range n {
		key, err := r.Str()
		if err != nil {
			return broken(err)
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := decode(r, elem); err != nil {
			return err.below(key)
		}
		k := reflect.New(v.Type().Key()).Elem()
		k.SetString(key)
		m.SetMapIndex(k, elem)
	}
	v.Set(m)
	return nil
}

// decodeStruct ignores members that the struct has no field for: whether they are welcome is for
// the tool's schema to say, which the host has held against the arguments before.
func decodeStruct(r *abi.Reader, v reflect.Value) *InputError {
	if r.Kind() != abi.KindMap {
		return mismatch("an object", r)
	}
	s, err := field.Of(v.Type())
	if err != nil {
		return wrong(err.Error())
	}
	n, err := r.Map()
	if err != nil {
		return broken(err)
	}
	seen := make([]bool, len(s.Fields))
	for range n {
		key, err := r.StrBytes()
		if err != nil {
			return broken(err)
		}
		i, ok := s.Lookup(key)
		if !ok {
			if err := r.Skip(); err != nil {
				return broken(err)
			}
			continue
		}
		f := &s.Fields[i]
		if f.Optional && r.Kind() == abi.KindNil {
			if err := r.Nil(); err != nil {
				return broken(err)
			}
			continue // left out, said in another way
		}
		seen[i] = true
		if err := decode(r, at(v, f.Index)); err != nil {
			return err.below(f.Name)
		}
	}
	return fill(v, s, seen)
}

// fill gives defaults to the fields that were left out, and refuses when one may not be.
func fill(v reflect.Value, s *field.Struct, seen []bool) *InputError {
	for i := range s.Fields {
		f := &s.Fields[i]
		switch {
		case seen[i]:
		case !f.Optional:
			return wrong("the member " + strconv.Quote(f.Name) + " is missing")
		case f.Default != "":
			to := at(v, f.Index)
			if to.Kind() == reflect.Pointer {
				to.Set(reflect.New(f.Type.Elem()))
				to = to.Elem()
			}
			to.Set(f.Preset)
		}
	}
	return nil
}

// at gives the field of v at index, making the embedded structs on the way.
func at(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

func decodeInterface(r *abi.Reader, v reflect.Value) *InputError {
	if v.NumMethod() != 0 {
		return wrong("the plugin's type " + v.Type().String() + " takes no arguments")
	}
	x, err := decodeAny(r)
	if err != nil {
		return err
	}
	if x == nil {
		v.SetZero()
		return nil
	}
	v.Set(reflect.ValueOf(x))
	return nil
}

// decodeAny gives nil, bool, int64, uint64 where that is too small, float64, string, []byte, []any
// or map[string]any.
func decodeAny(r *abi.Reader) (any, *InputError) {
	var x any
	var err error
	switch r.Kind() {
	case abi.KindNil:
		err = r.Nil()
	case abi.KindBool:
		x, err = r.Bool()
	case abi.KindInt:
		x, err = r.Int()
	case abi.KindUint:
		x, err = r.Uint()
	case abi.KindFloat:
		x, err = r.Float()
	case abi.KindString:
		x, err = r.Str()
	case abi.KindBin:
		var b []byte
		b, err = r.Bin()
		x = append([]byte{}, b...)
	case abi.KindArray:
		return decodeAnySlice(r)
	case abi.KindMap:
		return decodeAnyMap(r)
	default:
		return nil, mismatch("a JSON value", r)
	}
	return x, broken(err)
}

func decodeAnySlice(r *abi.Reader) (any, *InputError) {
	n, err := r.Array()
	if err != nil {
		return nil, broken(err)
	}
	s := make([]any, 0, n)
	for i := range n {
		x, err := decodeAny(r)
		if err != nil {
			return nil, err.below(strconv.Itoa(i))
		}
		s = append(s, x)
	}
	return s, nil
}

func decodeAnyMap(r *abi.Reader) (any, *InputError) {
	n, err := r.Map()
	if err != nil {
		return nil, broken(err)
	}
	m := make(map[string]any, n)
	for range n {
		key, err := r.Str()
		if err != nil {
			return nil, broken(err)
		}
		x, bad := decodeAny(r)
		if bad != nil {
			return nil, bad.below(key)
		}
		m[key] = x
	}
	return m, nil
}
