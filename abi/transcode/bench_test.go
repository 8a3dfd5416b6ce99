package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// The benchmarks carry the arguments of a small call and a table of about 10 KB to msgpack and
// back, with the transcoder and, for comparison, through map[string]any.

const smallJSON = `{"query":"select name, price from items where price < 20","limit":100,` +
	`"filters":[{"column":"price","op":"<","value":19.95},{"column":"stock","op":">","value":0},` +
	`{"column":"name","op":"like","value":"%screw%"}],"order":{"by":"name","descending":false},` +
	`"format":"markdown","columns":["name","price","stock","supplier"],"timeout":null,` +
	`"note":"Only what is in stock today, cheapest first, and no more than one page of it please.",` +
	`"page":3}`

func largeJSON() []byte {
	var b bytes.Buffer
	b.WriteString(`{"rows":[`)
	for i := range 80 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"item number %d","price":%d.25,"in_stock":%t,`+
			`"supplier":{"name":"Müller & Söhne","city":"Köln"}}`, 1000+i, i, i*3, i%2 == 0)
	}
	b.WriteString(`],"total":80}`)
	return b.Bytes()
}

func benchSizes(b *testing.B, run func(b *testing.B, text []byte)) {
	b.Run("450B", func(b *testing.B) { run(b, []byte(smallJSON)) })
	b.Run("10KB", func(b *testing.B) { run(b, largeJSON()) })
}

func BenchmarkRoundTrip(b *testing.B) {
	benchSizes(b, func(b *testing.B, text []byte) {
		var m, j []byte
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			m, _ = AppendMsgpack(m[:0], text)
			j, _ = AppendJSON(j[:0], m)
		}
	})
}

func BenchmarkRoundTripAny(b *testing.B) {
	benchSizes(b, func(b *testing.B, text []byte) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
			m, err := msgpack.Marshal(v)
			if err != nil {
				b.Fatal(err)
			}
			var back any
			if err := msgpack.Unmarshal(m, &back); err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(back); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendMsgpack(b *testing.B) {
	benchSizes(b, func(b *testing.B, text []byte) {
		var m []byte
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			m, _ = AppendMsgpack(m[:0], text)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	benchSizes(b, func(b *testing.B, text []byte) {
		m, err := AppendMsgpack(nil, text)
		if err != nil {
			b.Fatal(err)
		}
		var j []byte
		b.SetBytes(int64(len(m)))
		b.ReportAllocs()
		for b.Loop() {
			j, _ = AppendJSON(j[:0], m)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	benchSizes(b, func(b *testing.B, text []byte) {
		m, err := AppendMsgpack(nil, text)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(m)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Scan(m, MaxNodes); err != nil {
				b.Fatal(err)
			}
		}
	})
}
