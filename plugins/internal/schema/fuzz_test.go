package schema

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wasmagent/wasmagent/abi"
)

// seeds are files of testdata.
func seeds(f *testing.F, file string) []string {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		f.Fatal(err)
	}
	var texts []string
	for _, file := range archive.Files {
		texts = append(texts, strings.TrimSpace(string(file.Data)))
	}
	return texts
}

// FuzzNormal: what compiles as it is compiles when it is normalised, and what is normalised stays
// as it is.
func FuzzNormal(f *testing.F) {
	for _, file := range []string{"testdata/normal.txtar", "testdata/arguments.txtar"} {
		for _, text := range seeds(f, file) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxBytes/4 {
			return
		}
		s, err := Compile(text)
		if err != nil {
			_, notJSON := pack(text)
			if _, plain := build(text); notJSON == nil && checkNumbers(text) == nil && plain == nil {
				t.Errorf("%s does not compile any more: %v", text, err)
			}
			return
		}
		again, err := Compile(s.Text)
		if err != nil || again.Text != s.Text {
			t.Errorf("%s becomes %s, and that not itself: %+v, %v", text, s.Text, again, err)
		}
		if s, err = CompileArguments(text); err != nil {
			return
		}
		again, err = CompileArguments(s.Text)
		if err != nil || again.Text != s.Text {
			t.Errorf("%s becomes %s, and that not itself: %+v, %v", text, s.Text, again, err)
		}
	})
}

// FuzzFit: a value that passes stays the same value, one that does not passes after it is taken for
// another or is told what Check says of it, and whatever comes out passes as it is.
func FuzzFit(f *testing.F) {
	texts := seeds(f, "testdata/fit.txtar")
	for i := 0; i+2 < len(texts); i += 3 {
		f.Add(texts[i], texts[i+1])
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		f.Add(randomSchema(rng, 2), randomValue(rng, 2))
	}
	f.Fuzz(fitHolds)
}

// TestFitRandom holds what FuzzFit does for random schemas and for values that are near to right.
func TestFitRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	slips := strings.NewReplacer(`"ab"`, `"1"`, `"é"`, `"[1,\"a\"]"`, `""`, `"{\"a\":1}"`,
		"true", `"true"`, "-3", `"1.0"`)
	for range rounds(3000) {
		fitHolds(t, randomSchema(rng, 3), slips.Replace(randomValue(rng, 3)))
	}
}

// rounds is how often a random test is tried: n times, or less when time is short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func fitHolds(t *testing.T, schema, text string) {
	s, err := Compile(schema)
	if err != nil {
		return
	}
	packed, err := pack(text)
	if err != nil {
		return
	}
	before := s.Check(packed)
	fit, after := s.Fit([]byte(text), packed)
	switch {
	case fit == nil || fit.Text == nil:
		if (before == nil) != (after == nil) || before != nil && before.Error() != after.Error() {
			t.Fatalf("%s with %s: %v became %v", schema, text, before, after)
		}
		return
	case after != nil || s.Check(fit.Packed) != nil:
		t.Fatalf("%s with %s: %s does not pass: %v", schema, text, fit.Text, after)
	case before == nil && !same(packed, fit.Packed):
		t.Fatalf("%s with %s: it passed, and has become %s", schema, text, fit.Text)
	}
	if again, err := pack(string(fit.Text)); err != nil || string(again) != string(fit.Packed) {
		t.Fatalf("%s with %s: %s is not what is packed: %v", schema, text, fit.Text, err)
	}
	if again, err := s.Fit(fit.Text, fit.Packed); err != nil || again != nil && again.Text != nil {
		t.Fatalf("%s with %s: %s has become %+v: %v", schema, text, fit.Text, again, err)
	}
}

// same reports whether two values are the same in JSON Schema's eyes.
func same(a, b abi.Raw) bool {
	ra, rb := abi.NewReader(a), abi.NewReader(b)
	x, y := takeScalar(ra), takeScalar(rb)
	switch x.kind {
	case abi.KindInt, abi.KindUint, abi.KindFloat:
		return y.text == nil && y.number.rat() != nil && x.number.rat().Cmp(y.number.rat()) == 0
	case abi.KindArray, abi.KindMap:
		n, m := 0, 0
		if x.kind == abi.KindArray {
			n, _ = ra.Array()
			m, _ = rb.Array()
		} else {
			n, _ = ra.Map()
			m, _ = rb.Map()
			n, m = 2*n, 2*m
		}
		for range n {
			va, _ := ra.Raw()
			vb, _ := rb.Raw()
			if n != m || !same(va, vb) {
				return false
			}
		}
		return n == m
	}
	return string(a) == string(b)
}
