package session_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/session"
)

// TestReduction stores what lies beside a session, at its largest and past it.
func TestReduction(t *testing.T) {
	folder := t.TempDir()
	dir, err := session.OpenDir(folder, &session.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Create("trip", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, err := s.ReadReduction(); text != nil || err != nil {
		t.Errorf("before anything was stored: %q, %v", text, err)
	}
	if err := s.WriteReduction([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if text, err := dir.ReadReduction("trip"); string(text) != "one" || err != nil {
		t.Errorf("have %q, %v", text, err)
	}
	file := filepath.Join(folder, "trip.reduction.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	most := bytes.Repeat([]byte("a"), session.MaxReduction)
	if err := s.WriteReduction(most); err != nil {
		t.Error(err)
	}
	var invalid *session.InvalidError
	if err := s.WriteReduction(append(most, 'b')); !errors.As(err, &invalid) {
		t.Errorf("one byte past the limit: %v", err)
	}
	if text, err := s.ReadReduction(); len(text) != len(most) || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if err := os.WriteFile(file, append(most, 'b'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadReduction(); !errors.As(err, &invalid) || invalid.File != file {
		t.Errorf("a file past the limit: %v", err)
	}
	if list, err := dir.List(); len(list) != 1 || err != nil {
		t.Errorf("the folder lists %+v, %v", list, err)
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteReduction(nil); !errors.Is(err, session.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := dir.ReadReduction("../x"); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("another folder: %v", err)
	}
}
