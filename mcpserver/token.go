package mcpserver

import (
	"cmp"
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

	"github.com/gofrs/flock"
)

const (
	minToken     = 16           // characters
	maxToken     = 1024         // characters
	maxTokenFile = maxToken + 2 // bytes: a token and a line's end
)

// LoadToken reads the bearer token that is kept in a file, and makes both when there is none: a
// random token, a file that only its owner can read. A file that others can read is an error, and so
// is one of another user's.
func LoadToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if err := makeToken(path, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return readToken(path) // perhaps somebody else's, who was faster
}

func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
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
	if !isOurs(info) {
		return "", fmt.Errorf("token file %s: it belongs to another user, who knows the token; remove it "+
			"to get a new one", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxTokenFile {
		return "", fmt.Errorf("token file %s: more than %d bytes", path, maxTokenFile)
	}
	token := strings.TrimSpace(string(text))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// makeToken makes the file whole or not at all, and leaves one that is there alone: link gives a
// file a second name, unless that is taken.
func makeToken(path string, link func(file, name string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return moveToken(f.Name(), path)
}

// moveToken does as a link where the file system has none: one process at a time looks whether the
// name is taken. It leaves a lock file behind, which is empty.
func moveToken(file, path string) error {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fs.ErrExist)
	}
	return os.Rename(file, path)
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
