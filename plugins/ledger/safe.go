package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkFolder refuses a folder in which another user could put a file of their own in the place of
// the ledger.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &UnsafeError{dir, "every user may change what is in the folder", "chmod o-w " + typed(dir)}
	}
	return checkUser(dir, info)
}

// checkSafe refuses a ledger that other users could change, or that lies in a folder of theirs:
// whoever may write the file decides what is paid, and whoever may write the marks of the owners
// decides which processes are dead.
func checkSafe(path, owners string) error {
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return err
	}
	for _, p := range []string{path, path + "-wal", path + "-shm", path + "-journal", owners} {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode()&0o022 != 0 {
			return &UnsafeError{p, "other users may change it", "chmod go-w " + typed(p)}
		}
		if err := checkUser(p, info); err != nil {
			return err
		}
	}
	return checkNames(path)
}

// checkUser refuses a file or folder of another user. What is root's nobody else can change.
func checkUser(path string, info fs.FileInfo) error {
	user, ok := userOf(info)
	if !ok || user == os.Geteuid() || user == 0 {
		return nil
	}
	return &UnsafeError{path, fmt.Sprintf("it belongs to the user %d", user),
		fmt.Sprintf("be that user, as with sudo -u '#%d', or make it yours: chown %d %s", user,
			os.Geteuid(), typed(path))}
}

// checkNames refuses a file that has another name, by which its log is not found. A name that the
// making of the file has left is taken away.
func checkNames(path string) error {
	info, err := os.Stat(path)
	if err != nil || namesOf(info) < 2 {
		return err
	}
	made, err := filepath.Glob(filepath.Join(filepath.Dir(path), newFile))
	if err != nil {
		return err
	}
	for _, p := range made {
		if other, err := os.Stat(p); err == nil && os.SameFile(info, other) {
			_ = os.Remove(p) // the next look tells
		}
	}
	if info, err = os.Stat(path); err != nil || namesOf(info) < 2 {
		return err
	}
	return &UnsafeError{path, fmt.Sprintf("the file has %d names", namesOf(info)),
		"keep one and remove the others, which this finds: find / -xdev -samefile " + typed(path)}
}

// typed is a path as it is typed into a shell.
func typed(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._,:@+=-"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
