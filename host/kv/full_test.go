package kv

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFullDisk fails in the middle of a transaction: SQLite gives all of it up, and nothing that
// was written before or is written after is kept.
func TestFullDisk(t *testing.T) {
	for _, commit := range []bool{true, false} {
		store, err := Open(filepath.Join(t.TempDir(), "kv"))
		if err != nil {
			t.Fatal(err)
		}
		space := store.Space("p")
		begun, err := space.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := begun.(*tx).file.exec(t.Context(), "PRAGMA max_page_count = 10"); err != nil {
			t.Fatal(err)
		}
		if err := begun.Set(t.Context(), "before", []byte("v")); err != nil {
			t.Fatal(err)
		}
		if err := begun.Set(t.Context(), "big", []byte(strings.Repeat("x", 1<<20))); err == nil {
			t.Error("there was room")
		}
		if err := begun.Set(t.Context(), "small", []byte("v")); err == nil {
			t.Error("set after a change that failed")
		}
		if err := begun.Delete(t.Context(), "x"); err == nil {
			t.Error("deleted after a change that failed")
		}
		if err := begun.End(t.Context(), commit); (err != nil) != commit {
			t.Errorf("end(%v): %v", commit, err)
		}
		again, err := space.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := again.List(t.Context(), "", "", 10); len(keys) > 0 || err != nil {
			t.Errorf("kept: %q, %v", keys, err)
		}
		if err := again.End(t.Context(), false); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
