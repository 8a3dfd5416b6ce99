package transcode

import (
	"fmt"
	"testing"
)

// keyText lays keys out one after the other.
func keyText(n int) (buf []byte, keys []span) {
	for i := range n {
		start := len(buf)
		buf = fmt.Appendf(buf, "key %d", i)
		keys = append(keys, span{start, len(buf)})
	}
	return buf, keys
}

func TestKeySetFindsEveryKeyAgain(t *testing.T) {
	buf, keys := keyText(10_000)
	s := newKeySet()
	s.begin()
	one, two := s.newMap(), s.newMap()
	for _, k := range keys {
		if !s.add(one, buf, k) || !s.add(two, buf, k) {
			t.Fatalf("%s is there before it was added", buf[k.start:k.end])
		}
	}
	for _, k := range keys {
		if s.add(one, buf, k) || s.add(two, buf, k) {
			t.Fatalf("%s is not found", buf[k.start:k.end])
		}
	}
}

func TestKeySetForgetsTheDocumentBefore(t *testing.T) {
	buf, keys := keyText(100)
	s := newKeySet()
	for range 100 {
		s.begin()
		id := s.newMap()
		for _, k := range keys {
			if !s.add(id, buf, k) {
				t.Fatalf("%s is still there", buf[k.start:k.end])
			}
		}
	}
	if len(s.slots) > 4*len(keys) {
		t.Errorf("%d slots for %d keys: slots of earlier documents were not used again",
			len(s.slots), len(keys))
	}
}

// Ids start anew long before they run out.
func TestKeySetStartsIDsAnew(t *testing.T) {
	buf, keys := keyText(1)
	s := newKeySet()
	s.begin()
	first := s.newMap()
	s.add(first, buf, keys[0])
	s.next = 1<<31 + 1
	s.begin()
	again := s.newMap()
	if again != first {
		t.Errorf("the ids begin at %d, want %d", again, first)
	}
	if !s.add(again, buf, keys[0]) {
		t.Error("a key of an earlier map with the same id is still there")
	}
}

func TestKeySetSeedsDiffer(t *testing.T) {
	if a, b := newKeySet(), newKeySet(); a.seed == b.seed {
		t.Error("two sets have one seed")
	}
}

// The time for each key must not grow with the number of keys, in either direction.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		text := []byte(jsonObject(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var m, j []byte
			for b.Loop() {
				m, _ = AppendMsgpack(m[:0], text)
				j, _ = AppendJSON(j[:0], m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		})
	}
}
