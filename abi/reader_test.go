package abi

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestReaderReadsWhatAppendWrites(t *testing.T) {
	var b []byte
	ints := []int64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1,
		math.MaxInt64, -1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1,
		math.MinInt64}
	for _, v := range ints {
		b = AppendInt(b, v)
	}
	b = AppendUint(b, math.MaxUint64)
	b = AppendFloat32(AppendFloat64(b, -2.5), 0.5)
	lengths := []int{0, 1, 31, 32, 255, 256, 65535, 65536}
	for _, n := range lengths {
		b = AppendString(b, strings.Repeat("s", n))
		b = AppendBin(b, bytes.Repeat([]byte{1}, n))
	}
	b = AppendBool(AppendBool(AppendNil(b), true), false)

	r := NewReader(b)
	for _, want := range ints {
		if got, err := r.Int(); got != want || err != nil {
			t.Errorf("Int = %d, %v, want %d", got, err, want)
		}
	}
	if k := r.Kind(); k != KindUint {
		t.Errorf("the largest uint64 is %s of kind %d", k, k)
	}
	if got, err := r.Uint(); got != math.MaxUint64 || err != nil {
		t.Errorf("Uint = %d, %v", got, err)
	}
	if got, err := r.Float(); got != -2.5 || err != nil {
		t.Errorf("Float = %v, %v", got, err)
	}
	if got, err := r.Float(); got != 0.5 || err != nil {
		t.Errorf("Float = %v, %v", got, err)
	}
	for _, n := range lengths {
		if s, err := r.Str(); len(s) != n || err != nil {
			t.Errorf("Str has %d bytes, %v, want %d", len(s), err, n)
		}
		if s, err := r.Bin(); len(s) != n || s == nil || err != nil {
			t.Errorf("Bin has %d bytes, %v, want %d", len(s), err, n)
		}
	}
	if err := r.Nil(); err != nil {
		t.Error(err)
	}
	for _, want := range []bool{true, false} {
		if got, err := r.Bool(); got != want || err != nil {
			t.Errorf("Bool = %t, %v, want %t", got, err, want)
		}
	}
	if err := r.End(); err != nil || r.Kind() != KindEnd {
		t.Errorf("the reader is not at the end: %v", err)
	}
}

func TestReaderTimestamp(t *testing.T) {
	for _, want := range []time.Time{
		time.Unix(0, 0), time.Unix(math.MaxUint32, 0), time.Unix(math.MaxUint32+1, 0),
		time.Unix(1, 999_999_999), time.Unix(1<<34-1, 1), time.Unix(1<<34, 1), time.Unix(-1, 5),
	} {
		b := AppendTimestamp(nil, want.Unix(), uint32(want.Nanosecond()))
		r := NewReader(b)
		if k := r.Kind(); k != KindTime {
			t.Errorf("%x is %s", b, k)
		}
		sec, nsec, err := r.Timestamp()
		if got := time.Unix(sec, nsec); !got.Equal(want) || err != nil {
			t.Errorf("Timestamp = %v, %v, want %v", got, err, want)
		}
	}
}

// The header of an array or map, at each end of the range of its forms.
func TestReaderHeaders(t *testing.T) {
	for _, n := range []int{0, 15, 16, 65535, 65536} {
		b := append(AppendArrayHeader(nil, n), bytes.Repeat([]byte{0xc0}, n)...)
		if got, err := NewReader(b).Array(); got != n || err != nil {
			t.Errorf("Array = %d, %v, want %d", got, err, n)
		}
		b = append(AppendMapHeader(nil, n), bytes.Repeat([]byte{0xa0}, 2*n)...)
		if got, err := NewReader(b).Map(); got != n || err != nil {
			t.Errorf("Map = %d, %v, want %d", got, err, n)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	read := map[string]func(r *Reader) error{
		"nil":    func(r *Reader) error { return r.Nil() },
		"bool":   func(r *Reader) error { _, err := r.Bool(); return err },
		"int":    func(r *Reader) error { _, err := r.Int(); return err },
		"uint":   func(r *Reader) error { _, err := r.Uint(); return err },
		"float":  func(r *Reader) error { _, err := r.Float(); return err },
		"string": func(r *Reader) error { _, err := r.Str(); return err },
		"bin":    func(r *Reader) error { _, err := r.Bin(); return err },
		"array":  func(r *Reader) error { _, err := r.Array(); return err },
		"map":    func(r *Reader) error { _, err := r.Map(); return err },
		"time":   func(r *Reader) error { _, _, err := r.Timestamp(); return err },
		"any":    func(r *Reader) error { _, err := r.Raw(); return err },
		"end":    func(r *Reader) error { return r.End() },
	}
	tests := []struct{ read, in, want string }{
		{"nil", "\xc2", "want nil, have a bool"},
		{"bool", "\xc0", "want a bool, have nil"},
		{"int", "\xa1a", "want an integer, have a string"},
		{"int", "\xca\x00\x00\x00\x00", "want an integer, have a float"},
		{"int", "\xcf\x80\x00\x00\x00\x00\x00\x00\x00",
			"the integer is above the largest 64-bit signed one"},
		{"int", "\xcd\x01", "an integer is cut off"},
		{"uint", "\xff", "the integer is below 0"},
		{"uint", "\xd1\xff\x00", "the integer is below 0"},
		{"uint", "\xcf", "want an integer, have no msgpack"},
		{"float", "\x01", "want a float, have an integer"},
		{"float", "\xcb\x00", "a float is cut off"},
		{"string", "\xc4\x00", "want a string, have bin"},
		{"string", "\xa2a", "a string is cut off"},
		{"string", "\xdb\xff\xff\xff\xff", "a string is cut off"},
		{"bin", "\xa0", "want bin, have a string"},
		{"bin", "\xc6\xff\xff\xff\xff", "bin is cut off"},
		{"array", "\x80", "want an array, have a map"},
		{"array", "\xdd\xff\xff\xff\xff", "an array is longer than the bytes that follow"},
		{"array", "\xdd\xff\xff", "an array is cut off"},
		{"map", "\x90", "want a map, have an array"},
		{"map", "\xdf\xff\xff\xff\xff", "a map is longer than the bytes that follow"},
		{"map", "\x82\xa0\x00\xa0", "a map is longer than the bytes that follow"},
		{"time", "\xd6\x01\x00\x00\x00\x00", "want a timestamp, have an extension"},
		{"time", "\xd4\xff\x00", "the timestamp has a wrong length or too many nanoseconds"},
		{"time", "\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00",
			"the timestamp has a wrong length or too many nanoseconds"},
		{"time", "\xd6\xff\x00", "a timestamp is cut off"},
		{"any", "", "want a value, have nothing"},
		{"any", "\xc1", "want a value, have no msgpack"},
		{"any", "\xc7\x05", "an extension is cut off"},
		{"end", "\xc0", "bytes follow the value"},
	}
	for _, tt := range tests {
		r := NewReader([]byte(tt.in))
		err := read[tt.read](r)
		var de *DecodeError
		if !errors.As(err, &de) || de.Detail != tt.want || de.Offset != 0 {
			t.Errorf("%s of %x: %v, want %s", tt.read, tt.in, err, tt.want)
		}
		if r.Offset() != 0 {
			t.Errorf("%s of %x: the reader went on to %d", tt.read, tt.in, r.Offset())
		}
	}
}

func TestReaderDepth(t *testing.T) {
	const most = MaxDepth + 1 // an envelope and what is inside
	arrays := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0xc0) }
	if err := NewReader(arrays(most)).Skip(); err != nil {
		t.Errorf("%d arrays: %v", most, err)
	}
	if err := NewReader(arrays(most + 1)).Skip(); err == nil {
		t.Errorf("%d arrays pass", most+1)
	}
	r := NewReader(arrays(most + 1))
	depth := 0
	for ; r.Kind() == KindArray; depth++ {
		if _, err := r.Array(); err != nil {
			break
		}
	}
	if depth != most {
		t.Errorf("an array read by hand opens %d levels, want %d", depth, most)
	}
	// Arrays one after the other are not inside one another.
	row := append(AppendArrayHeader(nil, 200), bytes.Repeat([]byte{0x91, 0xc0}, 200)...)
	if err := NewReader(row).Skip(); err != nil {
		t.Error(err)
	}
}

func TestReaderSkipStaysInPlace(t *testing.T) {
	b := []byte("\x93\x82\xa1a\x92\x01\x90\xa1b\xc7\x01\x07x\xa1z\xc3")
	r := NewReader(b)
	if n, err := r.Array(); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	raw, err := r.Raw()
	if err != nil || string(raw) != string(b[1:13]) {
		t.Errorf("Raw = %x, %v, want %x", raw, err, b[1:13])
	}
	if s, err := r.Str(); s != "z" || err != nil {
		t.Errorf("Str = %q, %v", s, err)
	}
	if v, err := r.Bool(); !v || err != nil {
		t.Errorf("Bool = %t, %v", v, err)
	}
}

// Nothing that is declared is allocated: a list of strings that claims 4 billion costs its few
// bytes.
func TestReaderAllocatesNothingDeclared(t *testing.T) {
	b := AppendMapHeader(nil, 1)
	b = append(AppendString(b, "host"), 0xdd, 0xff, 0xff, 0xff, 0xff)
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := ParseRequest(b); err == nil {
			t.Error("the list passes")
		}
	})
	if allocs > 10 {
		t.Errorf("%v allocations", allocs)
	}
}
