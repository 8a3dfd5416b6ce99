// Work is a Go guest with computations of several kinds, for benchmarks of metering.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"sort"
	"strings"
)

func main() {}

var sink int

//go:wasmexport sum
func sum(n int32) int32 {
	block := make([]byte, 4096)
	for range n {
		d := sha256.Sum256(block)
		copy(block, d[:])
	}
	return int32(block[0])
}

//go:wasmexport order
func order(n int32) int32 {
	xs := make([]int, n)
	seed := uint32(1)
	for i := range xs {
		seed = seed*1664525 + 1013904223
		xs[i] = int(seed >> 8)
	}
	sort.Ints(xs)
	return int32(xs[0])
}

type record struct {
	Name  string            `json:"name"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
	N     []float64         `json:"n"`
}

//go:wasmexport code
func code(n int32) int32 {
	in := record{"something", []string{"a", "b", "c"}, map[string]string{"k": "v", "x": "y"},
		[]float64{1, 2.5, 1e10}}
	size := 0
	for range n {
		b, _ := json.Marshal(in)
		var out record
		if json.Unmarshal(b, &out) != nil {
			panic("unmarshal")
		}
		size += len(b)
	}
	return int32(size)
}

var words = regexp.MustCompile(`\b([a-z]+)ing\b`)

//go:wasmexport match
func match(n int32) int32 {
	text := strings.Repeat("the running man was walking and talking ", 20)
	found := 0
	for range n {
		found += len(words.FindAllString(text, -1))
	}
	return int32(found)
}

//go:wasmexport count
func count(n int32) int32 {
	m := map[int]int{}
	for i := range int(n) {
		m[i*7919%10007] += i
	}
	return int32(len(m))
}

//go:wasmexport upper
func upper(n int32) int32 {
	text := bytes.Repeat([]byte("some text to change "), 50)
	for range n {
		sink += len(bytes.ToUpper(text))
	}
	return int32(sink)
}

//go:wasmexport fib
func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:wasmexport multiply
func multiply(n int32) int32 {
	a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], b[i] = float64(i), float64(i+1)
	}
	for i := range int(n) {
		for j := range int(n) {
			s := 0.0
			for k := range int(n) {
				s += a[i*int(n)+k] * b[k*int(n)+j]
			}
			c[i*int(n)+j] = s
		}
	}
	return int32(c[0])
}
