package transcode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

func msgpackSeeds(f *testing.F) {
	for _, text := range []string{smallJSON, `[[],{},[1]]`, `{"a":{"a":-1.5e-9},"é":"\u0000"}`} {
		m, err := AppendMsgpack(nil, []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m)
	}
	for _, s := range []string{
		"", "\xc1", "\xdd\xff\xff\xff\xff", "\x82\xa1a\x01\xd9\x01a\x02", "\x81\x01\x02",
		"\x81\x81\x90\x01\x02",
		"\xca\x7f\xc0\x00\x00", "\xca\x50\x00\x00\x01", "\xcb\x80\x00\x00\x00\x00\x00\x00\x00",
		"\xc4\x02\xff\x00",
		"\xd6\xff\x00\x00\x00\x01", "\xd7\xff\xee\x6b\x27\xfc\x00\x00\x00\x00", "\xd4\x01\x01",
		"\xc7\x0c\xff\x1d\xcd\x65\x00\xff\xff\xff\xff\xff\xff\xff\xff", "\xa1\xff",
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		f.Add([]byte(s))
	}
}

// What Scan lets pass, vmihailenco/msgpack decodes without a panic; and where AppendJSON has a JSON
// form, it is the one that encoding/json gives of the decoded value.
func FuzzAppendJSON(f *testing.F) {
	msgpackSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := AppendJSON(nil, b)
		scanned := Scan(b, MaxNodes)
		var syntax *SyntaxError
		var noJSON *NoJSONError
		switch {
		case err == nil && scanned != nil:
			t.Fatalf("AppendJSON takes what Scan refuses: %v", scanned)
		case errors.As(err, &syntax):
			return // Scan may pass it, as an envelope of one level more
		case errors.As(err, &noJSON) && scanned != nil:
			t.Fatalf("AppendJSON says %v, Scan %v", err, scanned)
		}
		var v any
		d := msgpack.NewDecoder(bytes.NewReader(b))
		v, decodeErr := d.DecodeInterface()
		if err != nil {
			return
		}
		if decodeErr != nil {
			t.Fatalf("vmihailenco/msgpack refuses %x: %v", b, decodeErr)
		}
		if !json.Valid(j) {
			t.Fatalf("%x gives %s, which is no JSON", b, j)
		}
		want := plainJSON(t, utc(v))
		if got := compactJSON(t, j); !bytes.Equal(got, want) {
			t.Fatalf("%x gives %s, want %s", b, got, want)
		}
		m, err := AppendMsgpack(nil, j)
		if err != nil {
			return // a float of 20 digits and more prints as an integer that cannot be carried
		}
		again, err := AppendJSON(nil, m)
		if err != nil || !bytes.Equal(again, j) {
			t.Fatalf("%s comes back as %s, %v", j, again, err)
		}
	})
}

// utc puts times in v into UTC, in which a timestamp has no zone to differ by.
func utc(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case []any:
		for i := range v {
			v[i] = utc(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = utc(v[k])
		}
	}
	return v
}

func plainJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding/json refuses %v: %v", v, err)
	}
	return compactJSON(t, b)
}

// compactJSON sorts the keys of j and spells strings in one way, with every digit kept.
func compactJSON(t *testing.T, j []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// AppendMsgpack takes what encoding/json takes, but for what cannot be carried, and the value is
// the same.
func FuzzAppendMsgpack(f *testing.F) {
	for _, s := range []string{
		smallJSON, "", "-0", "1.0", "1e400", "[1,]", `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud800"`,
		`"\\ud800"`,
		"\"a\xff\"", "18446744073709551616", "-9223372036854775808", ` { "a" : [ 1 , [ ] , { } ] } `,
		"[" + strings.Repeat("0,", 20) + "0]", `"\u0000\/\b\f\n\r\t\""`, "[[[[[[[[0]]]]]]]]", `"\ufffd"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := AppendMsgpack(nil, b)
		var carriage *CarriageError
		reason := cannotCarry(b)
		if (err != nil) != (reason != "") || err != nil && !errors.As(err, &carriage) {
			t.Fatalf("%q: %v, want %q", b, err, reason)
		}
		if err != nil {
			return
		}
		if err := Scan(m, MaxNodes); err != nil {
			t.Fatalf("%q gives %x: %v", b, m, err)
		}
		j, err := AppendJSON(nil, m)
		if err != nil {
			t.Fatalf("%q gives %x: %v", b, m, err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(j, &got), json.Unmarshal(b, &want)); err != nil {
			t.Fatal(err)
		}
		if x, y := plainJSON(t, got), plainJSON(t, want); !bytes.Equal(x, y) {
			t.Fatalf("%q comes back as %s", b, j)
		}
	})
}

// cannotCarry says why b cannot be carried, by way of encoding/json; "" if it can.
func cannotCarry(b []byte) string {
	if !json.Valid(b) {
		return "not JSON"
	}
	if !utf8.Valid(b) {
		return "not UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var keys []map[string]bool // of the objects and arrays that are open; nil for an array
	atKey := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		inObject := len(keys) > 0 && keys[len(keys)-1] != nil
		switch v := tok.(type) {
		case json.Delim:
			switch v {
			case '{':
				keys = append(keys, map[string]bool{})
			case '[':
				keys = append(keys, nil)
			default:
				keys = keys[:len(keys)-1]
			}
			if len(keys) > MaxDepth {
				return "too deep"
			}
			atKey = len(keys) > 0 && keys[len(keys)-1] != nil
			continue
		case string:
			if hasLoneSurrogate(b[:d.InputOffset()], v) {
				return "lone surrogate"
			}
			if inObject && atKey {
				if keys[len(keys)-1][v] {
					return "duplicate key"
				}
				keys[len(keys)-1][v] = true
				atKey = false
				continue
			}
		case json.Number:
			if reason := numberFault(string(v)); reason != "" {
				return reason
			}
		}
		atKey = inObject
	}
}

// hasLoneSurrogate reports whether the string that ends text was given U+FFFD in the place of a
// surrogate: it has more of them than are spelled out.
func hasLoneSurrogate(text []byte, s string) bool {
	i := len(text) - 1 // the closing quote
	for i--; ; i-- {
		if text[i] != '"' {
			continue
		}
		n := 0
		for i-n > 0 && text[i-n-1] == '\\' {
			n++
		}
		if n%2 == 0 {
			break
		}
	}
	raw := string(text[i:])
	raw = strings.ReplaceAll(raw, `\\`, "")
	spelled := strings.Count(raw, "\ufffd") + strings.Count(strings.ToLower(raw), `\ufffd`)
	return strings.Count(s, "\ufffd") > spelled
}

func numberFault(s string) string {
	if strings.ContainsAny(s, ".eE") {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "beyond float64"
		}
		return ""
	}
	n, _ := new(big.Int).SetString(s, 10)
	if !n.IsInt64() && !n.IsUint64() {
		return "past 64 bits"
	}
	return ""
}
