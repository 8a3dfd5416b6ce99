package transcode

import (
	"encoding/binary"
	"math"
	"strconv"
)

// number reads a number: an integer if it is written as one, which must fit 64 bits, else a float.
func (w *writer) number() error {
	at := w.pos
	negative := w.peek() == '-'
	if negative {
		w.pos++
	}
	first := w.pos
	value, fits := w.digits()
	switch n := w.pos - first; {
	case n == 0:
		return w.unexpected("a value")
	case n > 1 && w.in[first] == '0':
		return w.noJSON(at, "a number begins with 0 and goes on")
	}
	isInteger := true
	if w.peek() == '.' {
		isInteger = false
		w.pos++
		point := w.pos
		if err := w.someDigits(); err != nil {
			return err
		}
		if w.peek()|0x20 != 'e' && w.decimal(negative, first, point) {
			return nil
		}
	}
	if w.peek()|0x20 == 'e' {
		isInteger = false
		w.pos++
		if c := w.peek(); c == '+' || c == '-' {
			w.pos++
		}
		if err := w.someDigits(); err != nil {
			return err
		}
	}
	switch {
	case !isInteger || negative && value == 0 && fits:
		return w.float(at)
	case !fits || negative && value > 1<<63:
		return w.fail(at, "an integer does not fit 64 bits")
	case negative:
		w.out = appendNegative(w.out, -int64(value))
	default:
		w.out = appendUint(w.out, value)
	}
	return nil
}

// digits reads digits and reports whether the number they spell fits 64 bits.
func (w *writer) digits() (value uint64, fits bool) {
	fits = true
	for ; w.peek()-'0' < 10; w.pos++ {
		d := uint64(w.in[w.pos] - '0')
		if value > (math.MaxUint64-d)/10 {
			fits = false
		}
		value = value*10 + d
	}
	return value, fits
}

func (w *writer) someDigits() error {
	first := w.pos
	if w.digits(); w.pos == first {
		return w.unexpected("a digit")
	}
	return nil
}

// maxDecimal is how many digits always spell a whole number that a float64 holds exactly.
const maxDecimal = 15

// powers are those of ten, which a float64 holds exactly too.
var powers = [maxDecimal + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15}

// decimal writes a number with a fraction, from first to here, and reports whether it could: its
// digits are few, as a price's or a measure's. They are divided by a power of ten; both are exact,
// so there is one rounding, and the float is the nearest one.
func (w *writer) decimal(negative bool, first, point int) bool {
	if w.pos-first > maxDecimal+1 {
		return false
	}
	var whole uint64
	for _, c := range w.in[first:w.pos] {
		if c != '.' {
			whole = whole*10 + uint64(c-'0')
		}
	}
	f := float64(whole) / powers[w.pos-point]
	if negative {
		f = -f
	}
	w.appendFloat(f)
	return true
}

// float writes the number that began at at as a float.
func (w *writer) float(at int) error {
	f, err := strconv.ParseFloat(string(w.in[at:w.pos]), 64)
	if err != nil {
		return w.fail(at, "a number is beyond the range of a 64-bit float")
	}
	w.appendFloat(f)
	return nil
}

func (w *writer) appendFloat(f float64) {
	w.out = binary.BigEndian.AppendUint64(append(w.out, 0xcb), math.Float64bits(f))
}

func appendUint(out []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(out, byte(v))
	case v <= math.MaxUint8:
		return append(out, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xcf), v)
}

func appendNegative(out []byte, v int64) []byte {
	switch {
	case v >= -32:
		return append(out, byte(v))
	case v >= math.MinInt8:
		return append(out, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(v))
}
