package codec

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

type zeroed struct {
	E []int     `json:"e,omitempty"`
	S inner     `json:"s,omitempty"` // a struct is never empty
	T time.Time `json:"t,omitzero"`
	N int       `json:"n,omitzero"`
	P *int      `json:"p"`
	B bool      `json:"b,omitempty"`
	F float64   `json:"f,omitempty"`
	A [0]int    `json:"a,omitempty"`
	X any       `json:"x,omitempty"`
}

type label string

func TestEncode(t *testing.T) {
	five := 5
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{1.5, `1.5`},
		{float32(0.1), `0.1`},
		{math.Copysign(0, -1), `-0`},
		{"é\x00", `"é\u0000"`},
		{[]byte("hi"), `"aGk="`},
		{[]byte(nil), `""`},
		{[2]byte{1, 2}, `[1,2]`},
		{[]int(nil), `[]`},
		{map[string]int(nil), `{}`},
		{map[label]any{"b": 1, "a": []any{nil}}, `{"a":[null],"b":1}`},
		{[]*int{&five, nil}, `[5,null]`},
		{zeroed{}, `{"s":{"a":0}}`},
		{&zeroed{E: []int{1}, P: &five, N: 1}, `{"e":[1],"s":{"a":0},"n":1,"p":5}`},
		{outer{}, `{"id":0,"limit":0}`},
		{outer{Deep: &Deep{true}, Same: "x"}, `{"id":0,"far":true,"same":"x","limit":0}`},
		{time.Date(2024, 2, 29, 12, 0, 0, 5, time.FixedZone("", 3600)),
			`"2024-02-29T12:00:00.000000005+01:00"`},
		{netip.IPv6Loopback(), `"::1"`},
		{json.Number("12345678901234567890"), `12345678901234567890`},
		{json.Number("-1"), `-1`},
		{json.Number("1e2"), `100`},
		{json.Number(""), `0`},
		{abi.Raw(nil), `null`},
		{[]abi.Raw{{0x01}, {0x91, 0xc0}}, `[1,[null]]`},
		{big.NewFloat(1.5), `"1.5"`}, // MarshalText is the pointer's
	} {
		raw, err := Append(nil, c.v)
		if err != nil {
			t.Errorf("%#v: %v", c.v, err)
			continue
		}
		text, err := transcode.AppendJSON(nil, raw)
		if err != nil || string(text) != c.want {
			t.Errorf("%#v: %s, %v\nwant %s", c.v, text, err, c.want)
		}
	}
}

type selfPointer *selfPointer

type node struct {
	Next *node `json:"next"`
}

func TestEncodeErrors(t *testing.T) {
	ring := &node{}
	ring.Next = ring
	var loop selfPointer
	loop = &loop
	list := make([]any, 1)
	list[0] = list
	deep := ": more than 64 arrays and objects lie inside one another, or one holds itself"
	for _, c := range []struct {
		v    any
		want string
	}{
		{make(chan int), "a chan int has no JSON form"},
		{map[string]any{"a/b": []any{1, func() {}}}, "/a~1b/1: a func() has no JSON form"},
		{struct{ C complex64 }{}, "/C: a complex64 has no JSON form"},
		{uintptr(1), "a uintptr has no JSON form"},
		{map[int]int{}, "a map[int]int has keys that are not strings"},
		{big.NewInt(1), "a big.Int has a JSON form of its own, which does not travel"},
		{json.RawMessage("1"), "a json.RawMessage has a JSON form of its own, which does not travel"},
		{errors.New("x"), "errors.errorString: none of its fields is exported"},
		{json.Number("x"), `the json.Number "x" cannot be carried`},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
			"Time.MarshalText: year outside of range [0,9999]"},
		{loop, "a codec.selfPointer points to itself"},
		{list, strings.Repeat("/0", abi.MaxDepth) + deep},
		{ring, strings.Repeat("/next", abi.MaxDepth) + deep},
	} {
		_, err := Append(nil, c.v)
		if err == nil || err.Error() != c.want {
			t.Errorf("%T: %v\nwant %s", c.v, err, c.want)
		}
	}
}

// What has msgpack but no JSON goes to the host, which tells the path.
func TestEncodeLeavesJSONToTheHost(t *testing.T) {
	for _, v := range []any{math.NaN(), math.Inf(-1), float32(math.Inf(1)), "\xff"} {
		raw, err := Append(nil, []any{v})
		if err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		var noJSON *transcode.NoJSONError
		if _, err := transcode.AppendJSON(nil, raw); !errors.As(err, &noJSON) || noJSON.Path != "$[0]" {
			t.Errorf("%v: the host says %v", v, err)
		}
	}
}

func TestEncodeDepth(t *testing.T) {
	var v any
	for range abi.MaxDepth {
		v = []any{v}
	}
	raw, err := Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transcode.AppendJSON(nil, raw); err != nil {
		t.Errorf("the host refuses what the kit takes: %v", err)
	}
	var back any
	if err := Decode(raw, &back); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("round trip: %v", err)
	}
	if _, err := Append(nil, []any{v}); err == nil {
		t.Errorf("depth %d passes", abi.MaxDepth+1)
	}
}

// Equal values give equal bytes, and come back equal.
func TestRoundTrip(t *testing.T) {
	type row struct {
		I   int8             `json:"i"`
		U   uint64           `json:"u"`
		F   float64          `json:"f"`
		S   string           `json:"s"`
		B   []byte           `json:"b"`
		M   map[string]int32 `json:"m"`
		L   []*uint16        `json:"l"`
		O   *bool            `json:"o"`
		Any any              `json:"any"`
	}
	rapid.Check(t, func(t *rapid.T) {
		in := row{
			I: rapid.Int8().Draw(t, "i"),
			U: rapid.Uint64().Draw(t, "u"),
			F: rapid.Float64().Draw(t, "f"),
			S: rapid.String().Draw(t, "s"),
			B: rapid.SliceOf(rapid.Byte()).Draw(t, "b"),
			M: rapid.MapOf(rapid.String(), rapid.Int32()).Draw(t, "m"),
			L: rapid.SliceOf(rapid.Ptr(rapid.Uint16(), true)).Draw(t, "l"),
			O: rapid.Ptr(rapid.Bool(), true).Draw(t, "o"),
			Any: rapid.OneOf(rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(),
				rapid.Just[any](nil)).Draw(t, "any"),
		}
		raw, err := Append(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		var out row
		if err := Decode(raw, &out); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("%#v\n%#v", in, out)
		}
		if again, err := Append(nil, out); err != nil || string(again) != string(raw) {
			t.Fatalf("%x, %v\n%x", again, err, raw)
		}
	})
}

func BenchmarkDecodeStruct(b *testing.B) {
	raw, err := transcode.AppendMsgpack(nil, []byte(
		`{"id":1,"list":[{"a":1},{"a":2}],"map":{"x":1,"y":2},"any":[1,"two"],"limit":5}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v outer
		if err := Decode(raw, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeStruct(b *testing.B) {
	v := outer{List: []inner{{A: 1}, {A: 2}}, Map: map[string]int{"x": 1, "y": 2},
		Any: []any{1, "two"}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}
