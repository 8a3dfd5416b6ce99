package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/host"
)

// place is something that no plugin may write to.
type place struct{ what, path string }

// mounts makes the host's mounts of a section's, with their real paths. The error names the first
// that cannot be.
func (s *section) mounts(quota host.Mount, kept []place) ([]host.Mount, error) {
	var all []host.Mount
	for i, m := range s.Files {
		mounted := host.Mount{
			Guest: m.Guest, Write: m.Mode == "rw", Scratch: m.Scratch,
			Bytes: quota.Bytes, Files: quota.Files,
		}
		if !m.Scratch {
			real, err := filepath.EvalSymlinks(m.Host)
			if err != nil {
				return nil, fmt.Errorf("files[%d]: %s: %s", i, m.Host, reason(err))
			}
			mounted.Host = real
		}
		if mounted.Write {
			if err := keepOut(mounted.Host, kept); err != nil {
				return nil, fmt.Errorf("files[%d]: %s: %w", i, m.Host, err)
			}
		}
		all = append(all, mounted)
	}
	return all, nil
}

// keepOut refuses a writable mount that holds one of the places, or lies in one.
func keepOut(path string, kept []place) error {
	for _, k := range kept {
		if within(k.path, path) {
			return fmt.Errorf("no plugin may write to it: it holds %s, %s", k.what, k.path)
		}
		if within(path, k.path) {
			return fmt.Errorf("no plugin may write to it: it lies in %s, %s", k.what, k.path)
		}
	}
	return nil
}

// files are those that a secret comes from: the file itself, or the program and the files that it
// is told of. Who could change them would choose what is sent, or what is run.
func (s *secret) files() []string {
	kind, rest, _ := strings.Cut(s.From, ":")
	switch kind {
	case "file":
		return []string{rest}
	case "cmd":
		return slices.DeleteFunc(strings.Fields(rest), func(word string) bool {
			info, err := os.Stat(word)
			return err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(word)
		})
	}
	return nil
}

// within tells whether a path is another one or lies below it. What is not there yet lies where it
// would be made. Files are compared and not names, since one file can have several.
func within(path, dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false // nothing lies in it
	}
	for at := realPath(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// realPath is where a path leads, as far as it is there: from the root, so that all directories
// above it are seen.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, strings.TrimPrefix(path, at))
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}
