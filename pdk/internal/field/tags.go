package field

import (
	"reflect"
	"strconv"
	"strings"
)

// describe reads the enum, min, max and default tags. It returns what is wrong with them, or "".
func (f *Field) describe(tag reflect.StructTag) string {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := tag.Lookup("enum"); ok {
		elem := t
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			elem = t.Elem()
		}
		for _, word := range strings.Split(s, ",") {
			if word == "" || strings.TrimSpace(word) != word {
				return "enum: words are separated by a comma alone"
			}
			lit, _, ok := literal(elem, word)
			if !ok {
				return "enum: " + strconv.Quote(word) + " does not fit the type " + elem.String()
			}
			f.Enum = append(f.Enum, lit)
		}
	}
	var detail string
	if f.Min, detail = bound(t, tag, "min"); detail != "" {
		return detail
	}
	if f.Max, detail = bound(t, tag, "max"); detail != "" {
		return detail
	}
	if s, ok := tag.Lookup("default"); ok {
		var good bool
		if f.Default, f.Preset, good = literal(t, s); !good {
			return "default: " + strconv.Quote(s) + " does not fit the type " + t.String()
		}
		if !f.listed(f.Default) {
			return "default: " + s + " is not in enum"
		}
	}
	return ""
}

func (f *Field) listed(lit string) bool {
	for _, e := range f.Enum {
		if e == lit {
			return true
		}
	}
	return len(f.Enum) == 0
}

// bound reads a min or max tag of a number, or of the length of a string, slice or map.
func bound(t reflect.Type, tag reflect.StructTag, key string) (lit, detail string) {
	s, ok := tag.Lookup(key)
	if !ok {
		return "", ""
	}
	switch {
	case t.Kind() == reflect.String, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		t = reflect.TypeFor[uint32]()
	case !isNumeric(t.Kind()):
		return "", key + ": a " + t.String() + " has no " + key
	}
	lit, _, ok = literal(t, s)
	if !ok {
		return "", key + ": " + strconv.Quote(s) + " does not fit the type " + t.String()
	}
	return lit, ""
}

func isNumeric(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// literal reads s as a value of t and gives its JSON form too.
func literal(t reflect.Type, s string) (lit string, v reflect.Value, ok bool) {
	v = reflect.New(t).Elem()
	switch k := t.Kind(); {
	case FormOf(t) != Plain:
		return "", v, false
	case k == reflect.String:
		v.SetString(s)
		return string(AppendQuoted(nil, s)), v, true
	case k == reflect.Bool:
		v.SetBool(s == "true")
		return s, v, s == "true" || s == "false"
	case v.CanInt():
		n, err := strconv.ParseInt(s, 10, t.Bits())
		v.SetInt(n)
		return strconv.FormatInt(n, 10), v, err == nil
	case v.CanUint():
		n, err := strconv.ParseUint(s, 10, t.Bits())
		v.SetUint(n)
		return strconv.FormatUint(n, 10), v, err == nil
	case v.CanFloat():
		n, err := strconv.ParseFloat(s, t.Bits())
		v.SetFloat(n)
		finite := n-n == 0
		return strconv.FormatFloat(n, 'g', -1, t.Bits()), v, err == nil && finite
	}
	return "", v, false
}

const hex = "0123456789abcdef"

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}
