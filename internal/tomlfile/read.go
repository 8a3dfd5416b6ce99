package tomlfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"unicode/utf8"
)

// ReadOwn reads a file that nobody else but root may be able to change, of at most so many bytes. A
// link is followed. Root reads what anybody owns, as it does where a home is shared with a container.
func ReadOwn(file string, most int) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o022 != 0 {
		return "", errors.New("others can change this file: chmod go-w it")
	}
	if owner, ok := ownerOf(info); ok && !mayOwn(owner, os.Geteuid()) {
		return "", errors.New("it belongs to another user, who can change it: chown it, or copy it")
	}
	return read(file, info, most)
}

// mayOwn reports whether a user trusts what an owner can change.
func mayOwn(owner, user int) bool { return owner == user || owner == 0 || user == 0 }

// ReadStranger reads a file of at most so many bytes. A link is not followed: what it leads to
// would be shown in errors.
func ReadStranger(file string, most int) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	return read(file, info, most)
}

func read(file string, info fs.FileInfo, most int) (string, error) {
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil {
		return "", err
	} else if !os.SameFile(info, now) {
		return "", errors.New("it was replaced while it was opened")
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > most:
		return "", fmt.Errorf("the file has more than %d bytes", most)
	case !utf8.Valid(text):
		return "", errors.New("the file is not UTF-8")
	}
	return string(text), nil
}
