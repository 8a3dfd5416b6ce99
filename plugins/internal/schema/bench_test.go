package schema

import "testing"

// BenchmarkFit is what a call's arguments cost: right ones, ones with an undeclared field, and ones
// with a slip.
func BenchmarkFit(b *testing.B) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},` +
		`"units":{"enum":["metric","imperial"]},"tags":{"type":"array","items":{"type":"string"}}}}`
	for _, bench := range []struct{ name, text string }{
		{"right", `{"city":"Oslo","days":5,"units":"metric","tags":["a","b"]}`},
		{"undeclared", `{"city":"Oslo","days":5,"units":"metric","colour":["a","b"]}`},
		{"slip", `{"city":"Oslo","days":"5","units":"metric","tags":["a","b"]}`},
		{"wrong", `{"city":"Oslo","days":"five","units":"metric","tags":["a","b"]}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := Compile(schema)
			if err != nil {
				b.Fatal(err)
			}
			packed, err := pack(bench.text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Fit([]byte(bench.text), packed)
			}
		})
	}
}
