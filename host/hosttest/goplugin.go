package hosttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// buildFlags are those that plugins are built with.
var buildFlags = []string{"-trimpath", "-buildmode=c-shared", "-ldflags=-w"}

// GoPlugin compiles the Go plugin in a directory and gives the module's bytes. The result is kept
// in the user's cache under a digest of all that goes into it, so that each state of the sources is
// built once, whichever test or process asks first. Nothing is downloaded.
func GoPlugin(tb testing.TB, dir string) []byte {
	tb.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		tb.Fatal(err)
	}
	build, _ := goPlugins.LoadOrStore(abs, sync.OnceValues(func() ([]byte, error) {
		return buildOnce(abs)
	}))
	wasm, err := build.(func() ([]byte, error))()
	if err != nil {
		tb.Fatalf("building the plugin in %s: %v", dir, err)
	}
	return wasm
}

var goPlugins sync.Map // directory → func() ([]byte, error)

func buildOnce(dir string) ([]byte, error) {
	key, err := sourceKey(dir)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir("wasm")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, key+".wasm")
	lock := flock.New(file + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer lock.Unlock()
	wasm, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		return wasm, err
	}
	made := file + ".new"
	args := append(append([]string{"build"}, buildFlags...), "-o", made, ".")
	if _, err := goCommand(dir, args...); err != nil {
		return nil, err
	}
	if err := os.Rename(made, file); err != nil {
		return nil, err
	}
	removeOld(cache)
	return os.ReadFile(file)
}

// removeOld takes away plugins that were built long ago, and their locks: their sources are no
// more.
func removeOld(dir string) {
	const age = 7 * 24 * time.Hour
	list, _ := os.ReadDir(dir)
	for _, f := range list {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// sourceKey is a digest of the tool chain and of every file, outside the standard library, that the
// plugin is made of.
func sourceKey(dir string) (string, error) {
	out, err := goCommand(dir, "list", "-deps",
		"-json=ImportPath,Dir,Standard,GoFiles,SFiles,EmbedFiles", ".")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), buildFlags)
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath, Dir string
			Standard        bool
			GoFiles, SFiles []string
			EmbedFiles      []string
		}
		if err := list.Decode(&pkg); err == io.EOF {
			return fmt.Sprintf("%x", sum.Sum(nil)), nil
		} else if err != nil {
			return "", err
		}
		if pkg.Standard {
			continue
		}
		for _, name := range slices.Concat(pkg.GoFiles, pkg.SFiles, pkg.EmbedFiles) {
			err := addFile(sum, pkg.ImportPath+"/"+name, filepath.Join(pkg.Dir, name))
			if err != nil {
				return "", err
			}
		}
	}
}

func addFile(sum hash.Hash, name, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%s %d\n%s", name, len(b), b)
	return err
}

// goCommand runs the go command for the guest's platform, off line.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOPROXY=off", "GOWORK=off",
		"CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}
