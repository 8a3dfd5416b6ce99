//go:build !wasip1

package main

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/sandbox"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/kv"
)

// TestInTheSandbox remembers from one start of the host to the next, and gives no number twice.
func TestInTheSandbox(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kv")
	for range 2 {
		store, err := kv.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := sandbox.Plugin(t, host.Grants{KV: store.Space("notes")}, nil)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := sandbox.Call(t, m, "note_add", `{"text": "Remember this."}`,
					""); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	store, err := kv.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := sandbox.Plugin(t, host.Grants{KV: store.Space("notes")}, nil)
	defer m.Close(t.Context())
	got, err := sandbox.Call(t, m, "note_find", `{"contains": "this", "limit": 1}`, "")
	if err != nil || !strings.HasPrefix(got,
		`{"notes":[{"id":8,"text":"Remember this.","added":"`) ||
		!strings.HasSuffix(got, `"more":true}`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	if got := sandbox.Refused(t, "notes"); !strings.HasSuffix(got, "wasmagent allow notes --kv") {
		t.Error(got)
	}
}
