package codec

import (
	"encoding"
	"encoding/base64"
	"math"
	"reflect"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/field"
)

// InputError is a value that does not fit the Go type it is decoded into.
type InputError struct {
	Pointer string // JSON pointer of the value that does not fit; "" is the whole
	Detail  string
}

func (e *InputError) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// Decode reads raw into the value that p points to.
func Decode(raw abi.Raw, p any) *InputError {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return wrong("want a pointer to decode into")
	}
	r := abi.NewReader(raw)
	if err := decode(r, v.Elem()); err != nil {
		return err
	}
	return broken(r.End())
}

func wrong(detail string) *InputError { return &InputError{Detail: detail} }

func mismatch(want string, r *abi.Reader) *InputError {
	return wrong("want " + want + ", have " + word(r.Kind()))
}

// word names a kind as JSON does, since that is what the caller wrote.
func word(k abi.Kind) string {
	switch k {
	case abi.KindNil:
		return "null"
	case abi.KindMap:
		return "an object"
	case abi.KindFloat:
		return "a number"
	}
	return k.String()
}

// broken turns an error of the reader, which no bytes that a host sends can cause, into one of
// ours.
func broken(err error) *InputError {
	if err == nil {
		return nil
	}
	return wrong(err.Error())
}

// below says that e happened in the member token of the value at hand.
func (e *InputError) below(token string) *InputError {
	e.Pointer = pointerTo(token) + e.Pointer
	return e
}

// pointerTo gives the JSON pointer of a member or an element.
func pointerTo(token string) string {
	p := []byte{'/'}
	for _, c := range []byte(token) {
		switch c {
		case '~':
			p = append(p, "~0"...)
		case '/':
			p = append(p, "~1"...)
		default:
			p = append(p, c)
		}
	}
	return string(p)
}

var rawType = reflect.TypeFor[abi.Raw]()

func decode(r *abi.Reader, v reflect.Value) *InputError {
	t := v.Type()
	if t == rawType {
		raw, err := r.Raw()
		v.SetBytes(append([]byte(nil), raw...))
		return broken(err)
	}
	switch field.FormOf(t) {
	case field.Number:
		return decodeNumber(r, v)
	case field.Text, field.Time:
		return decodeText(r, v)
	case field.OwnJSON:
		return wrong("the plugin's type " + t.String() + " takes no arguments")
	}
	switch t.Kind() {
	case reflect.Bool:
		if r.Kind() != abi.KindBool {
			return mismatch("a bool", r)
		}
		b, err := r.Bool()
		v.SetBool(b)
		return broken(err)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt(r, v)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeUint(r, v)
	case reflect.Float32, reflect.Float64:
		return decodeFloat(r, v)
	case reflect.String:
		if r.Kind() != abi.KindString {
			return mismatch("a string", r)
		}
		s, err := r.Str()
		v.SetString(s)
		return broken(err)
	case reflect.Pointer:
		return decodePointer(r, v)
	case reflect.Slice:
		return decodeSlice(r, v)
	case reflect.Array:
		return decodeArray(r, v)
	case reflect.Map:
		return decodeMap(r, v)
	case reflect.Struct:
		return decodeStruct(r, v)
	case reflect.Interface:
		return decodeInterface(r, v)
	}
	return wrong("the plugin's type " + t.String() + " takes no arguments")
}

func decodeInt(r *abi.Reader, v reflect.Value) *InputError {
	var n int64
	switch r.Kind() {
	case abi.KindInt:
		var err error
		if n, err = r.Int(); err != nil {
			return broken(err)
		}
	case abi.KindUint:
		return wrong("the integer does not fit " + v.Kind().String())
	case abi.KindFloat:
		f, err := r.Float()
		switch {
		case err != nil:
			return broken(err)
		case f != math.Trunc(f):
			return wrong("want an integer, have " + formatFloat(f))
		case f < -1<<63 || f >= 1<<63:
			return wrong(formatFloat(f) + " does not fit " + v.Kind().String())
		}
		n = int64(f)
	default:
		return mismatch("an integer", r)
	}
	if v.OverflowInt(n) {
		return wrong(strconv.FormatInt(n, 10) + " does not fit " + v.Kind().String())
	}
	v.SetInt(n)
	return nil
}

func decodeUint(r *abi.Reader, v reflect.Value) *InputError {
	var n uint64
	switch r.Kind() {
	case abi.KindInt, abi.KindUint:
		var err error
		if n, err = r.Uint(); err != nil {
			return wrong("want an integer of 0 or more")
		}
	case abi.KindFloat:
		f, err := r.Float()
		switch {
		case err != nil:
			return broken(err)
		case f != math.Trunc(f) || f < 0:
			return wrong("want an integer of 0 or more, have " + formatFloat(f))
		case f >= 1<<64:
			return wrong(formatFloat(f) + " does not fit " + v.Kind().String())
		}
		n = uint64(f)
	default:
		return mismatch("an integer", r)
	}
	if v.OverflowUint(n) {
		return wrong(strconv.FormatUint(n, 10) + " does not fit " + v.Kind().String())
	}
	v.SetUint(n)
	return nil
}

// decodeFloat takes integers too, to the nearest float: whoever asks for a float asks for that.
func decodeFloat(r *abi.Reader, v reflect.Value) *InputError {
	var f float64
	var err error
	switch r.Kind() {
	case abi.KindFloat:
		f, err = r.Float()
	case abi.KindInt:
		var n int64
		n, err = r.Int()
		f = float64(n)
	case abi.KindUint:
		var n uint64
		n, err = r.Uint()
		f = float64(n)
	default:
		return mismatch("a number", r)
	}
	if err == nil && v.OverflowFloat(f) {
		return wrong(formatFloat(f) + " does not fit " + v.Kind().String())
	}
	v.SetFloat(f)
	return broken(err)
}

// decodeNumber keeps every digit of a json.Number.
func decodeNumber(r *abi.Reader, v reflect.Value) *InputError {
	n, err := decodeAny(r)
	if err != nil {
		return err
	}
	switch n := n.(type) {
	case int64:
		v.SetString(strconv.FormatInt(n, 10))
	case uint64:
		v.SetString(strconv.FormatUint(n, 10))
	case float64:
		v.SetString(formatFloat(n))
	default:
		return wrong("want a number")
	}
	return nil
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func decodeText(r *abi.Reader, v reflect.Value) *InputError {
	if r.Kind() != abi.KindString {
		return mismatch("a string", r)
	}
	b, err := r.StrBytes()
	if err != nil {
		return broken(err)
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(b); err != nil {
		return wrong(err.Error())
	}
	return nil
}

func decodeBytes(r *abi.Reader, v reflect.Value) *InputError {
	switch r.Kind() {
	case abi.KindBin:
		b, err := r.Bin()
		v.SetBytes(append([]byte{}, b...))
		return broken(err)
	case abi.KindString:
		s, err := r.StrBytes()
		if err != nil {
			return broken(err)
		}
		b := make([]byte, base64.StdEncoding.DecodedLen(len(s)))
		n, err := base64.StdEncoding.Decode(b, s)
		if err != nil {
			return wrong("the string is not base64: " + err.Error())
		}
		v.SetBytes(b[:n])
		return nil
	}
	return mismatch("a base64 string", r)
}

func decodePointer(r *abi.Reader, v reflect.Value) *InputError {
	if r.Kind() == abi.KindNil {
		v.SetZero()
		return broken(r.Nil())
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return decode(r, v.Elem())
}
