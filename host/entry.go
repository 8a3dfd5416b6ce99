package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// entry is one module's compiled code, as the engine coded it, and what was compiled.
type entry struct {
	name   string // the engine's name for the file, a hash in hex
	code   []byte
	module *rewritten
}

// An entry's file is the HMAC-SHA256 of all that it depends on, the engine's name, the length of
// the coded module in eight bytes, the module, the code.
const (
	entryVersion  = "wasmagent compiled code 2, " + engineVersion + "\n"
	entryMAC      = sha256.Size
	entryName     = 2 * sha256.Size
	entryLength   = 8
	entryHead     = entryMAC + entryName + entryLength
	maxEntryBytes = 1 << 30
)

// engineVersion keeps code of another engine out, also where the engine does not know its own
// version.
const engineVersion = "wazero v1.12.0"

var errEntry = errors.New("the cache entry is damaged, or was not written by this installation")

func (c *diskCache) path(d digest) string {
	return filepath.Join(c.entries, hex.EncodeToString(d[:]))
}

// mac authenticates all of an entry behind the MAC, for this module, engine, kind of machine and
// way to rewrite.
func (c *diskCache) mac(d digest, rest []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(entryVersion + c.sub + "\n"))
	made := rewrite.Fingerprint()
	h.Write(made[:])
	h.Write(d[:])
	h.Write(rest)
	return h.Sum(nil)
}

// read gives a module's entry. The bytes it has verified are the ones it gives.
func (c *diskCache) read(d digest) (entry, error) {
	if c.entries == "" {
		return entry{}, fs.ErrNotExist
	}
	b, used, err := readFile(c.path(d), maxEntryBytes)
	if err != nil {
		return entry{}, err
	}
	if len(b) < entryHead || !hmac.Equal(b[:entryMAC], c.mac(d, b[entryMAC:])) {
		return entry{}, errEntry
	}
	if time.Since(used) > entryTouch {
		now := time.Now()
		_ = os.Chtimes(c.path(d), now, now) // at worst it is removed early
	}
	size := binary.LittleEndian.Uint64(b[entryHead-entryLength:])
	name, rest := b[entryMAC:entryMAC+entryName], b[entryHead:]
	if size > uint64(len(rest)) {
		return entry{}, errEntry
	}
	module, err := decodeRewritten(rest[:size])
	return entry{name: string(name), code: rest[size:], module: module}, err
}

// write replaces a module's entry in one step, so that other processes see the old one or the new.
func (c *diskCache) write(d digest, e entry) (err error) {
	if len(e.name) != entryName {
		return fmt.Errorf("the engine's file name %q is not %d characters long", e.name, entryName)
	}
	module, err := e.module.encode()
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint64([]byte(e.name), uint64(len(module)))
	body := slices.Concat(head, module, e.code)
	f, err := os.CreateTemp(c.private, "entry-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	for _, part := range [][]byte{c.mac(d, body), body} {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path(d))
}

// takeOnly reads and removes the one file of a directory.
func takeOnly(dir string) (entry, error) {
	name, err := onlyFile(dir)
	if err != nil {
		return entry{}, err
	}
	file := filepath.Join(dir, name)
	code, _, err := readFile(file, maxEntryBytes)
	if err := errors.Join(err, os.Remove(file)); err != nil {
		return entry{}, err
	}
	return entry{name: name, code: code}, nil
}

// onlyFile is the name of the one file, or directory, in a directory.
func onlyFile(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	switch len(list) {
	case 1:
		return list[0].Name(), nil
	case 0:
		return "", errNoFile
	}
	return "", fmt.Errorf("%s: %d files where the engine makes one", dir, len(list))
}

var errNoFile = errors.New("no file where the engine makes one")

// readFile reads a regular file of at most max bytes, and tells when it was last modified.
func readFile(path string, max int64) (_ []byte, modified time.Time, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, modified, err
	}
	if !info.Mode().IsRegular() || info.Size() > max {
		return nil, modified, fmt.Errorf("%s: not a file of at most %s", path, byteText(max))
	}
	b, err := os.ReadFile(path)
	return b, info.ModTime(), err
}
