package transcode

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the JSON form of b, one msgpack value of at most MaxNodes values and MaxDepth
// arrays and maps inside one another. It scans b as it goes: b may be any bytes. It returns a
// *SyntaxError for what Scan would refuse and else a *NoJSONError for msgpack that has no JSON
// form, and with either dst as it was.
func AppendJSON(dst, b []byte) ([]byte, error) {
	r := reader{nest: newNest(MaxDepth), in: b, maxNodes: MaxNodes}
	defer r.release()
	out, err := r.appendJSON(dst)
	if err == nil {
		return out, nil
	}
	if _, noJSON := err.(*NoJSONError); noJSON {
		// What is not msgpack further on has no value at all, let alone one without a JSON form.
		if syntax := scan(b, MaxNodes, MaxDepth); syntax != nil {
			err = syntax
		}
	}
	return dst, err
}

func (r *reader) appendJSON(out []byte) ([]byte, error) {
	for {
		var err error
		if r.inMap() {
			out, err = r.appendKey(out)
		} else if r.depth > 0 {
			r.top().begun++
		}
		if err != nil {
			return out, err
		}
		if r.depth > 0 {
			r.top().left--
		}
		k, err := r.token()
		if err == nil {
			err = r.count(k)
		}
		if err == nil {
			out, err = r.appendValue(out, k)
		}
		if err != nil {
			return out, err
		}
		for r.depth > 0 && r.top().left == 0 {
			out = append(out, closer(r.top().isMap))
			r.pop()
		}
		switch {
		case r.depth == 0:
			return out, r.end()
		case r.top().begun > 0:
			out = append(out, ',')
		}
	}
}

func closer(isMap bool) byte {
	if isMap {
		return '}'
	}
	return ']'
}

// appendKey reads a key and appends it with its colon.
func (r *reader) appendKey(out []byte) ([]byte, error) {
	r.noKey()
	r.top().left--
	k, err := r.token()
	switch {
	case err != nil:
		return out, err
	case k != kindString:
		return out, &NoJSONError{r.path(r.in), "a key is not a string"}
	case !r.addKey(r.in, r.body):
		return out, r.fail("%s", r.duplicate(r.in))
	}
	out, ok := appendQuoted(out, r.in[r.body.start:r.body.end])
	if !ok {
		r.noKey()
		return out, &NoJSONError{r.path(r.in), "a key is not UTF-8"}
	}
	return append(out, ':'), nil
}

// appendValue appends the last token, of kind k; of an array or map only what opens it.
func (r *reader) appendValue(out []byte, k kind) ([]byte, error) {
	body := r.in[r.body.start:r.body.end]
	ok, detail := true, ""
	switch k {
	case kindNil:
		return append(out, "null"...), nil
	case kindFalse:
		return append(out, "false"...), nil
	case kindTrue:
		return append(out, "true"...), nil
	case kindUint:
		return strconv.AppendUint(out, r.num, 10), nil
	case kindInt:
		return strconv.AppendInt(out, int64(r.num), 10), nil
	case kindArray:
		return append(out, '['), nil
	case kindMap:
		return append(out, '{'), nil
	case kindBin:
		out = append(out, '"')
		out = base64.StdEncoding.AppendEncode(out, body)
		return append(out, '"'), nil
	case kindString:
		out, ok = appendQuoted(out, body)
		detail = "a string is not UTF-8"
	case kindFloat32:
		out, ok = appendFloat(out, float64(math.Float32frombits(uint32(r.num))), 32)
		detail = "a number is not finite"
	case kindFloat64:
		out, ok = appendFloat(out, math.Float64frombits(r.num), 64)
		detail = "a number is not finite"
	case kindTime:
		out, ok = appendTime(out, body)
		detail = "a timestamp lies outside the years 0 to 9999"
	default:
		ok, detail = false, "an extension is not a timestamp"
	}
	if !ok {
		return out, &NoJSONError{r.path(r.in), detail}
	}
	return out, nil
}

// appendFloat appends f as encoding/json does.
func appendFloat(out []byte, f float64, bits int) ([]byte, bool) {
	abs, exact := math.Abs(f), float64(1<<53) // below it, the digits of a whole number are f's own
	if bits == 32 {
		exact = 1 << 24
	}
	switch {
	case math.IsNaN(f) || abs > math.MaxFloat64:
		return out, false
	case abs < exact && f == math.Trunc(f) && (f != 0 || !math.Signbit(f)):
		return strconv.AppendInt(out, int64(f), 10), true
	case bits == 64:
		if short, ok := appendDecimal(out, f); ok {
			return short, true
		}
	}
	switch {
	case abs == 0 || inPlainRange(abs, bits):
		return strconv.AppendFloat(out, f, 'f', -1, bits), true
	}
	out = strconv.AppendFloat(out, f, 'e', -1, bits)
	if n := len(out); out[n-4] == 'e' && out[n-3] == '-' && out[n-2] == '0' { // 1e-09 → 1e-9
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out, true
}

// maxPlaces is how many digits behind the point appendDecimal tries, as prices and measures have.
const maxPlaces = 3

// appendDecimal appends f if it has few places. No other text with as many places denotes it, since
// up to maxDecimal digits tell floats apart; so it is the text that a search for the shortest
// finds.
func appendDecimal(out []byte, f float64) ([]byte, bool) {
	for places := 1; places <= maxPlaces; places++ {
		power := powers[places]
		whole := math.Round(math.Abs(f) * power)
		if whole == 0 || whole >= powers[maxDecimal] || whole/power != math.Abs(f) {
			continue
		}
		if f < 0 {
			out = append(out, '-')
		}
		n, p := uint64(whole), uint64(power)
		out = strconv.AppendUint(out, n/p, 10)
		out = strconv.AppendUint(out, p+n%p, 10) // the 1 in front keeps zeros, and becomes the point
		out[len(out)-places-1] = '.'
		return out, true
	}
	return out, false
}

// inPlainRange reports whether abs is written without an exponent.
func inPlainRange(abs float64, bits int) bool {
	if bits == 32 {
		return float32(abs) >= 1e-6 && float32(abs) < 1e21
	}
	return abs >= 1e-6 && abs < 1e21
}

const (
	firstSecond = -62167219200 // 0000-01-01T00:00:00Z, the first that RFC 3339 can write
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z, and the last
)

func appendTime(out, body []byte) ([]byte, bool) {
	sec, nsec := timestamp(body)
	if sec < firstSecond || sec > lastSecond {
		return out, false
	}
	out = append(out, '"')
	out = time.Unix(sec, nsec).UTC().AppendFormat(out, time.RFC3339Nano)
	return append(out, '"'), true
}

// appendQuoted appends s as a JSON string and reports whether it is UTF-8.
func appendQuoted(out, s []byte) ([]byte, bool) {
	out = append(out, '"')
	ascii := true
	for rest := s; ; {
		n, ok := plainLen(rest)
		ascii = ascii && ok
		out = append(out, rest[:n]...)
		if n == len(rest) {
			break
		}
		out = appendEscape(out, rest[n])
		rest = rest[n+1:]
	}
	return append(out, '"'), ascii || utf8.Valid(s)
}

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
