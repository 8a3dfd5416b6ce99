package abi

import "math"

// The Append functions append one msgpack value, or the header of one, in its shortest form to dst
// and return the extended buffer. Every writer of the contract is made of them.

// AppendNil appends nil.
func AppendNil(dst []byte) []byte { return append(dst, 0xc0) }

// AppendBool appends v.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 0xc3)
	}
	return append(dst, 0xc2)
}

// AppendInt appends v; a v of 0 or more has the same bytes as from AppendUint.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, 0xd0, byte(v))
	case v >= math.MinInt16:
		return append16(append(dst, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return append32(append(dst, 0xd2), uint32(v))
	}
	return append64(append(dst, 0xd3), uint64(v))
}

// AppendUint appends v.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return append16(append(dst, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return append32(append(dst, 0xce), uint32(v))
	}
	return append64(append(dst, 0xcf), v)
}

// AppendFloat64 appends v as a 64-bit float, whole numbers too: the reader sees what the writer
// had.
func AppendFloat64(dst []byte, v float64) []byte {
	return append64(append(dst, 0xcb), math.Float64bits(v))
}

// AppendFloat32 appends v as a 32-bit float, which has a shorter text than the same value in 64
// bits.
func AppendFloat32(dst []byte, v float32) []byte {
	return append32(append(dst, 0xca), math.Float32bits(v))
}

// AppendString appends s, which should be UTF-8: a result that holds anything else has no JSON
// form.
func AppendString(dst []byte, s string) []byte {
	n := len(s)
	switch {
	case n < 32:
		dst = append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		dst = append16(append(dst, 0xda), uint16(n))
	default:
		dst = append32(append(dst, 0xdb), uint32(n))
	}
	return append(dst, s...)
}

// AppendBin appends b as bin, which a host turns into a base64 string.
func AppendBin(dst []byte, b []byte) []byte {
	n := len(b)
	switch {
	case n <= math.MaxUint8:
		dst = append(dst, 0xc4, byte(n))
	case n <= math.MaxUint16:
		dst = append16(append(dst, 0xc5), uint16(n))
	default:
		dst = append32(append(dst, 0xc6), uint32(n))
	}
	return append(dst, b...)
}

// AppendArrayHeader appends the header of an array; n values must follow.
func AppendArrayHeader(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, 0x90|byte(n))
	case n <= math.MaxUint16:
		return append16(append(dst, 0xdc), uint16(n))
	}
	return append32(append(dst, 0xdd), uint32(n))
}

// AppendMapHeader appends the header of a map; n pairs of a string and a value must follow, no two
// of them with the same string.
func AppendMapHeader(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, 0x80|byte(n))
	case n <= math.MaxUint16:
		return append16(append(dst, 0xde), uint16(n))
	}
	return append32(append(dst, 0xdf), uint32(n))
}

// AppendTimestamp appends the instant that lies sec seconds and nsec nanoseconds, fewer than 1e9,
// after the start of 1970, which a host turns into an RFC 3339 string in UTC. It takes no
// time.Time: that package would add an eighth to the size of a small plugin.
func AppendTimestamp(dst []byte, sec int64, nsec uint32) []byte {
	switch {
	case nsec == 0 && sec >= 0 && sec <= math.MaxUint32:
		return append32(append(dst, 0xd6, extTime), uint32(sec))
	case sec >= 0 && sec < 1<<34:
		return append64(append(dst, 0xd7, extTime), uint64(nsec)<<34|uint64(sec))
	}
	dst = append32(append(dst, 0xc7, 12, extTime), nsec)
	return append64(dst, uint64(sec))
}

const extTime = 0xff // the extension type of a timestamp, −1

// encoding/binary would pull reflect into every guest, so these stand in for it.

func append16(dst []byte, v uint16) []byte { return append(dst, byte(v>>8), byte(v)) }

func append32(dst []byte, v uint32) []byte {
	return append(dst, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func append64(dst []byte, v uint64) []byte {
	return append32(append32(dst, uint32(v>>32)), uint32(v))
}

// bigEndian is the unsigned number that b, at most 8 bytes, spells.
func bigEndian(b []byte) uint64 {
	var u uint64
	for _, x := range b {
		u = u<<8 | uint64(x)
	}
	return u
}

// A fields writes a map of at most 15 string keys whose number is not known beforehand. Its opt
// methods leave a zero value out.
type fields struct {
	dst  []byte
	head int // where the map's one header byte lies
}

func openFields(dst []byte) fields {
	return fields{dst: append(dst, 0x80), head: len(dst)}
}

func (f *fields) key(k string) {
	f.dst[f.head]++
	f.dst = AppendString(f.dst, k)
}

func (f *fields) str(k, v string) {
	f.key(k)
	f.dst = AppendString(f.dst, v)
}

func (f *fields) optStr(k, v string) {
	if v != "" {
		f.str(k, v)
	}
}

func (f *fields) optTrue(k string, v bool) {
	if v {
		f.key(k)
		f.dst = AppendBool(f.dst, true)
	}
}

func (f *fields) int(k string, v int64) {
	f.key(k)
	f.dst = AppendInt(f.dst, v)
}

func (f *fields) optStrings(k string, v []string) {
	if len(v) == 0 {
		return
	}
	f.key(k)
	f.dst = AppendArrayHeader(f.dst, len(v))
	for _, s := range v {
		f.dst = AppendString(f.dst, s)
	}
}

func (f *fields) raw(k string, v Raw) {
	f.key(k)
	if len(v) == 0 {
		f.dst = AppendNil(f.dst)
		return
	}
	f.dst = append(f.dst, v...)
}
