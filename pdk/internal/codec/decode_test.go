package codec

import (
	"encoding/json"
	"math"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

type inner struct {
	A int  `json:"a"`
	P *int `json:"p"`
}

type Base struct {
	ID   int    `json:"id"`
	Same string `json:"same,omitempty"`
}

type outer struct {
	Base
	*Deep
	Same  string         `json:"same,omitempty"`
	List  []inner        `json:"list,omitempty"`
	Map   map[string]int `json:"map,omitempty"`
	Any   any            `json:"any,omitempty"`
	Limit int            `json:"limit" default:"10"`
	Ptr   *string        `json:"ptr" default:"none"`
	Skip  int            `json:"-"`
}

type Deep struct {
	Far bool `json:"far,omitempty"`
}

func msgpack(t *testing.T, text string) abi.Raw {
	t.Helper()
	raw, err := transcode.AppendMsgpack(nil, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return raw
}

func ptr[T any](v T) *T { return &v }

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text string
		want any // a value of the type to decode into
	}{
		{`true`, true},
		{`-128`, int8(-128)},
		{`9223372036854775807`, int64(math.MaxInt64)},
		{`-9223372036854775808`, int64(math.MinInt64)},
		{`18446744073709551615`, uint64(math.MaxUint64)},
		{`255`, uint8(255)},
		{`1.0`, 1},
		{`-0.0`, 0},
		{`1e3`, uint16(1000)},
		{`-9223372036854775808.0`, int64(math.MinInt64)},
		{`3`, 3.0},
		{`18446744073709551615`, float64(1 << 64)},
		{`0.1`, float32(0.1)},
		{`"x"`, "x"},
		{`"aGk="`, []byte("hi")},
		{`""`, []byte{}},
		{`[1,2]`, []int{1, 2}},
		{`[]`, []int{}},
		{`null`, []int(nil)},
		{`[1,2]`, [2]int{1, 2}},
		{`{"a":1}`, map[string]int{"a": 1}},
		{`null`, map[string]int(nil)},
		{`7`, ptr(7)},
		{`null`, (*int)(nil)},
		{`"2024-02-29T12:00:00Z"`, time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)},
		{`"::1"`, netip.IPv6Loopback()},
		{`12345678901234567890`, json.Number("12345678901234567890")},
		{`1.5`, json.Number("1.5")},
		{`{"id":1}`, outer{Base: Base{ID: 1}, Limit: 10, Ptr: ptr("none")}},
		{`{"id":1,"far":true,"same":"x","limit":3,"ptr":"p","new":[{}]}`, outer{Base: Base{ID: 1},
			Deep: &Deep{Far: true}, Same: "x", Limit: 3, Ptr: ptr("p")}},
		{`{"id":1,"limit":null,"far":null}`, outer{Base: Base{ID: 1}, Limit: 10, Ptr: ptr("none")}},
		{`{"id":1,"Skip":5,"ID":6}`, outer{Base: Base{ID: 1}, Limit: 10, Ptr: ptr("none")}},
	} {
		got := reflect.New(reflect.TypeOf(c.want))
		if err := Decode(msgpack(t, c.text), got.Interface()); err != nil {
			t.Errorf("%s into %T: %v", c.text, c.want, err)
		} else if !reflect.DeepEqual(got.Elem().Interface(), c.want) {
			t.Errorf("%s into %T: %#v", c.text, c.want, got.Elem())
		}
	}
}

func TestDecodeAny(t *testing.T) {
	var got any
	text := `{"i":-1,"u":18446744073709551615,"f":1.0,"s":"x","b":true,"n":null,"a":[1,{}]}`
	if err := Decode(msgpack(t, text), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"i": int64(-1), "u": uint64(math.MaxUint64), "f": 1.0, "s": "x", "b": true,
		"n": nil, "a": []any{int64(1), map[string]any{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v", got)
	}
}

func TestDecodeBytesAndRaw(t *testing.T) {
	bin := abi.AppendBin(nil, []byte{1, 2})
	var b []byte
	if err := Decode(bin, &b); err != nil || string(b) != "\x01\x02" {
		t.Errorf("bin: %v, %v", b, err)
	}
	var x any
	if err := Decode(bin, &x); err != nil || string(x.([]byte)) != "\x01\x02" {
		t.Errorf("bin as any: %v, %v", x, err)
	}
	var raw abi.Raw
	if err := Decode(bin, &raw); err != nil || string(raw) != string(bin) {
		t.Errorf("raw: %v, %v", raw, err)
	}
	bin[2] = 9
	if b[0] != 1 || raw[2] != 1 {
		t.Error("what was decoded changes with the request")
	}
}

func TestDecodeErrors(t *testing.T) {
	type arr struct {
		F [2]int `json:"f"`
	}
	for _, c := range []struct {
		text string
		into any
		want string
	}{
		{`128`, new(int8), "128 does not fit int8"},
		{`-129`, new(int8), "-129 does not fit int8"},
		{`256`, new(uint8), "256 does not fit uint8"},
		{`-1`, new(uint), "want an integer of 0 or more"},
		{`-1.0`, new(uint), "want an integer of 0 or more, have -1"},
		{`1.5`, new(int), "want an integer, have 1.5"},
		{`9223372036854775808`, new(int64), "the integer does not fit int64"},
		{`9223372036854775808.0`, new(int64), "9.223372036854776e+18 does not fit int64"},
		{`18446744073709551616.0`, new(uint64), "1.8446744073709552e+19 does not fit uint64"},
		{`1e39`, new(float32), "1e+39 does not fit float32"},
		{`"1"`, new(int), "want an integer, have a string"},
		{`1`, new(string), "want a string, have an integer"},
		{`null`, new(bool), "want a bool, have null"},
		{`{}`, new([]int), "want an array, have an object"},
		{`1.5`, new(struct{}), "want an object, have a number"},
		{`"a"`, new([]byte), "the string is not base64: illegal base64 data at input byte 0"},
		{`1`, new([]byte), "want a base64 string, have an integer"},
		{`"x"`, new(json.Number), "want a number"},
		{`"noon"`, new(netip.Addr), `ParseAddr("noon"): unable to parse IP`},
		{`{"f":[1]}`, new(arr), "/f: want 2 elements, have 1"},
		{`{"f":[1,2,3]}`, new(arr), "/f: want 2 elements, have 3"},
		{`{}`, new(outer), `the member "id" is missing`},
		{`{"id":1,"list":[{"a":1},{"a":"x"}]}`, new(outer),
			"/list/1/a: want an integer, have a string"},
		{`{"id":1,"map":{"a/b~c":1.5}}`, new(outer), "/map/a~1b~0c: want an integer, have 1.5"},
		{`{"id":null}`, new(outer), "/id: want an integer, have null"},
		{`1`, new(chan int), "the plugin's type chan int takes no arguments"},
		{`1`, new(error), "the plugin's type error takes no arguments"},
		{`{"1":1}`, new(map[int]int), "the plugin's type map[int]int has keys that are not strings"},
		{`1`, new(json.RawMessage), "the plugin's type json.RawMessage takes no arguments"},
	} {
		err := Decode(msgpack(t, c.text), c.into)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s into %T: %v\nwant %s", c.text, c.into, err, c.want)
		}
	}
}

func TestDecodeKeysAndExtensions(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"\x81\x01\x01", "byte 1: want a string, have an integer"},
		{"\xd6\xff\x00\x00\x00\x00", "want a JSON value, have a timestamp"},
	} {
		var x any
		if err := Decode(abi.Raw(c.bytes), &x); err == nil || err.Error() != c.want {
			t.Errorf("%x: %v", c.bytes, err)
		}
	}
}

// No host sends such bytes; a guest must still not fall over them.
func TestDecodeBrokenBytes(t *testing.T) {
	for _, b := range []string{"", "\xc1", "\xdd\xff\xff\xff\xff", "\x92\x01", "\x81\xa1a", "\xda\xff",
		"\x01\x01", "\xc4\xff\x00", "\xcf\x01", "\x82\xa2id\x01\xa1x", "\x81\xa3any\xc1"} {
		for _, into := range []any{new(any), new([]any), new(map[string]any), new(outer), new([]byte),
			new(int), new(uint), new(float64), new(abi.Raw), new(json.Number), new(time.Time)} {
			if err := Decode(abi.Raw(b), into); err == nil {
				t.Errorf("%x into %T: no error", b, into)
			}
		}
	}
}

func TestDecodeNeedsAPointer(t *testing.T) {
	for _, into := range []any{nil, 1, (*int)(nil)} {
		if err := Decode(abi.AppendNil(nil), into); err == nil {
			t.Errorf("into %v: no error", into)
		}
	}
}

func TestDecodeLongSlice(t *testing.T) {
	const n = 70_000 // the header has 32 bits
	raw := abi.AppendArrayHeader(nil, n)
	for i := range n {
		raw = abi.AppendInt(raw, int64(i))
	}
	var ints []int
	if err := Decode(raw, &ints); err != nil || len(ints) != n || ints[n-1] != n-1 {
		t.Errorf("%d elements, %v", len(ints), err)
	}
	var any []any
	if err := Decode(raw, &any); err != nil || len(any) != n || any[n-1] != int64(n-1) {
		t.Errorf("%d elements, %v", len(any), err)
	}
}

// Whatever the bytes: no panic, and what decodes as any can be encoded and decoded again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"\xc0", "\x93\x01\xa1a\x80", "\x81\xa2id\x01", "\xc1",
		"\xdd\xff\xff\xff\xff",
		"\x83\xa2id\x01\xa4list\x91\x81\xa1a\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa3map\xc0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o outer
		_ = Decode(b, &o)
		var x, y any
		if Decode(b, &x) != nil {
			return
		}
		raw, err := Append(nil, x)
		if err != nil {
			t.Skip() // deeper than a value may be: the reader allows for a frame around it
		}
		if err := Decode(raw, &y); err != nil {
			t.Fatal(err)
		}
		again, err := Append(nil, y)
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%x, %v\n%x", again, err, raw)
		}
	})
}
