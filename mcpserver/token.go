package mcpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	minToken = 16   // characters
	maxToken = 1024 // bytes of a token's file
)

// LoadToken reads the bearer token that is kept in a file, and makes both when there is none: a
// random token, a file that only its owner can read. A file that others can read is an error.
func LoadToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := makeToken(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return readToken(path) // perhaps somebody else's, who was faster
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("token file %s: not a regular file", path)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("token file %s: others can read it (mode %04o); chmod 600 it, or remove "+
			"it to get a new token", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// makeToken makes the file whole or not at all, and leaves one that is there alone.
func makeToken(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// checkToken refuses a token that no header could carry, or that could be guessed.
func checkToken(token string) error {
	if len(token) < minToken || len(token) > maxToken {
		return fmt.Errorf("a token of %d characters; want %d to %d", len(token), minToken, maxToken)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return errors.New("a token has printable ASCII characters only, and no spaces")
		}
	}
	return nil
}

// tokens are the bearer tokens that may be used, by their digests.
type tokens [][sha256.Size]byte

// owner names whose a token is, in constant time; "" is nobody's.
func (t tokens) owner(token string) string {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range t {
		found |= subtle.ConstantTimeCompare(sum[:], t[i][:])
	}
	if found == 0 {
		return ""
	}
	return ownerOf(sum)
}
