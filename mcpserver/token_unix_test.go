//go:build unix

package mcpserver

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTokenIsNoPipe pins that a pipe as a token's file is refused, and not waited for.
func TestTokenIsNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadToken(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

// owned is a file of a user.
type owned struct {
	fs.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// TestTokenIsOurs pins whose file a token may be in.
func TestTokenIsOurs(t *testing.T) {
	us := uint32(os.Geteuid())
	for uid, want := range map[uint32]bool{us: true, 0: true, us + 1: false} {
		if isOurs(owned{uid: uid}) != want {
			t.Errorf("user %d: %v", uid, !want)
		}
	}
	if us != 0 {
		t.Skip("only root can give a file away")
	}
	path := filepath.Join(t.TempDir(), "token")
	if _, err := LoadToken(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadToken(path); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's: %v", err)
	}
}
