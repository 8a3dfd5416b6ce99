package transcode

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// slowPlainLen is what plainLen promises, byte by byte.
func slowPlainLen(b []byte) (n int, ascii bool) {
	ascii = true
	for n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
		ascii = ascii && b[n] < 0x80
		n++
	}
	return n, ascii
}

// Every byte at every place of texts of every length up to past a block.
func TestPlainLen(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		n, ascii := plainLen(b)
		if wantN, wantASCII := slowPlainLen(b); n != wantN || ascii != wantASCII {
			t.Fatalf("%q: %d, %t, want %d, %t", b, n, ascii, wantN, wantASCII)
		}
	}
	for size := range 70 {
		b := bytes.Repeat([]byte("~"), size)
		check(b)
		for at := range b {
			for c := range 256 {
				b[at] = byte(c)
				check(b)
			}
			b[at] = '~'
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, random.IntN(70))
		for i := range b {
			b[i] = " !\"#[\\]~\x1f\x00\x7f\x80\xa2\xdc\xffa"[random.IntN(16)]
		}
		check(b)
	}
}

// Floats have the digits that encoding/json gives them, and come from text as strconv reads it.
func TestDecimals(t *testing.T) {
	check := func(f float64) {
		t.Helper()
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := appendFloat(nil, f, 64); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%s is written as %s", want, got)
		}
	}
	for _, f := range []float64{0.5, -0.5, 0.001, 0.0005, 1e-300, 5e-324, math.MaxFloat64, 19.95,
		1.005, 999999999999999.9, 99999999999999.95, 999999999999.999, 9007199254740993.5, 0.1 + 0.2} {
		check(f)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		places := random.IntN(8)
		whole := int64(random.Uint64()>>(1+random.IntN(60))) - int64(random.IntN(1000))
		f := float64(whole) / math.Pow10(places)
		check(f)
		check(math.Nextafter(f, 0))
		for _, text := range []string{
			strconv.FormatFloat(f, 'f', places, 64),
			strconv.FormatFloat(f, 'f', random.IntN(25), 64),
			strconv.FormatFloat(f, 'e', -1, 64),
		} {
			checkRead(t, text)
		}
	}
	for _, text := range []string{"-0.0", "0.000000000000000", "999999999999999.9",
		"0.999999999999999", "9999999999999.999e1", "1.5e-7", "-1.25E+2"} {
		checkRead(t, text)
	}
}

func checkRead(t *testing.T, text string) {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	m, err := AppendMsgpack(nil, []byte(text))
	if err != nil || m[0] != 0xcb {
		return // an integer
	}
	var want writer
	want.appendFloat(f)
	if !bytes.Equal(m, want.out) {
		t.Fatalf("%s is read as %x, want %x", text, m, want.out)
	}
}
