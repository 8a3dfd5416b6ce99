package ledger_test

import (
	"testing"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// TestHashTellsValuesApart checks that no two lists of values have the same hash whose bytes are
// the same one after the other, whatever is in the texts.
func TestHashTellsValuesApart(t *testing.T) {
	const mark = "s\x00\x00\x00\x00\x00\x00\x00\x00" // before a text whose length is not told
	bytesMark := "b" + mark[1:]
	lists := [][]any{
		{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}, {"abc"},
		{"x" + mark + "y", "z"}, {"x", "y" + mark + "z"},
		{[]byte("ab"), []byte("c")}, {[]byte("a"), []byte("bc")},
		{[]byte("x" + bytesMark + "y"), []byte("z")}, {[]byte("x"), []byte("y" + bytesMark + "z")},
		{[]byte("ab"), "c"}, {"ab", []byte("c")},
		{int64(1), int64(2)}, {int64(2), int64(1)}, {int64(1)}, {int64(256)}, {int64(-1)},
		{"a"}, {[]byte("a")}, {int64('a')}, {""}, {int64(0)}, {[]byte{}},
	}
	seen := map[[32]byte][]any{}
	for _, list := range lists {
		hash := ledger.HashOf(list...)
		if other, ok := seen[hash]; ok {
			t.Errorf("%q and %q have the same hash", other, list)
		}
		seen[hash] = list
	}
	if ledger.HashOf([]byte(nil)) != ledger.HashOf([]byte{}) {
		t.Error("empty bytes and none differ")
	}
}
