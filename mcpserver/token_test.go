package mcpserver_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/mcpserver"
)

func TestTokenIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "token")
	tokens := make([]string, 16)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			if tokens[i], err = mcpserver.LoadToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) < 32 {
			t.Errorf("the tokens are %q", tokens)
			break
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 &&
		runtime.GOOS != "windows" {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	other, err := mcpserver.LoadToken(filepath.Join(t.TempDir(), "token"))
	if err != nil || other == tokens[0] {
		t.Errorf("the next token is the same: %v", err)
	}
}

func TestTokenFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       string // of the error
	}{
		{"shortest", strings.Repeat("a", 16), 0o600, ""},
		{"too short", strings.Repeat("a", 15), 0o600, "a token of 15 characters"},
		{"longest", strings.Repeat("a", 1024), 0o600, ""},
		{"too long", strings.Repeat("a", 1025), 0o600, "a token of 1025 characters"},
		{"empty", "", 0o600, "a token of 0 characters"},
		{"longest with a line's end", strings.Repeat("a", 1024) + "\r\n", 0o600, ""},
		{"a file too long", strings.Repeat("a", 1024) + "\r\n ", 0o600, "more than 1026 bytes"},
		{"much after the token", "0123456789abcdef" + strings.Repeat("\n", 1<<20), 0o600,
			"more than 1026 bytes"},
		{"with a line's end", "0123456789abcdef\r\n", 0o400, ""},
		{"two lines", "0123456789abcdef\n0123456789abcdef", 0o600, "no spaces"},
		{"not ASCII", "0123456789abcdefé", 0o600, "ASCII"},
		{"others read it", "0123456789abcdef", 0o604, "others can read it (mode 0604)"},
		{"a group reads it", "0123456789abcdef", 0o640, "chmod 600"},
		{"a group writes it", "0123456789abcdef", 0o620, "chmod 600"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS == "windows" && tt.mode&0o077 != 0 {
			continue
		}
		token, err := mcpserver.LoadToken(path)
		switch {
		case tt.want == "" && (err != nil || token != strings.TrimSpace(tt.text)):
			t.Errorf("%s: %q, %v", tt.name, token, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || token != ""):
			t.Errorf("%s: %q, %v", tt.name, token, err)
		}
		if text := "0123456789abcdef"; err != nil && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the token is in the error", tt.name)
		}
	}
	if _, err := mcpserver.LoadToken(t.TempDir()); err == nil {
		t.Error("a folder is a token")
	}
}
