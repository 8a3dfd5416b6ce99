package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/wasmagent/wasmagent/build"
	"github.com/wasmagent/wasmagent/host"
)

// examplesDir is where the example plugins lie in a clone.
const examplesDir = "examples/plugins"

// findExamples looks for the example plugins in the working directory and above it.
func findExamples() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, filepath.FromSlash(examplesDir))
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", &notFoundError{
				text: fmt.Sprintf("no %s here or above: the demo builds the example plugins from a "+
					"clone of the repository", examplesDir),
				hint: "git clone https://github.com/wasmagent/wasmagent && cd wasmagent && " +
					"go run ./cmd/wasmagent demo; or name the directory with --source",
			}
		}
		dir = up
	}
}

// example is one plugin of the demo.
type example struct {
	name string
	dir  string // its source
	file string // the plugin
	mark string // the fingerprint that file was built from
}

// findSources lists the Go packages below source.
func findSources(source, out string) ([]example, error) {
	entries, err := os.ReadDir(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{text: fmt.Sprintf("no directory %s", source)}
	} else if err != nil {
		return nil, err
	}
	var list []example
	for _, e := range entries {
		dir := filepath.Join(source, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "main.go")); err == nil {
			file := filepath.Join(out, e.Name()+".wasm")
			list = append(list, example{e.Name(), dir, file, file + ".source"})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no example plugins: no folder with a main.go", source)
	}
	return list, nil
}

// buildExamples brings the plugins in out up to their sources, and tells how many were built.
func (a *app) buildExamples(ctx context.Context, source, out string) (built int, err error) {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return 0, err
	}
	all, err := findSources(source, out)
	if err != nil {
		return 0, err
	}
	kit, err := kitFingerprint(ctx, source)
	if err != nil {
		return 0, err
	}
	prints := map[string]string{}
	var stale []example
	for _, e := range all {
		print, err := fingerprint(kit, e.dir)
		if err != nil {
			return 0, err
		}
		prints[e.name] = print
		if !e.isBuiltFrom(print) {
			stale = append(stale, e)
		}
	}
	if err := removeOthers(out, all); err != nil || len(stale) == 0 {
		return 0, err
	}
	return len(stale), a.compileExamples(ctx, stale, prints)
}

func (e *example) isBuiltFrom(print string) bool {
	mark, err := os.ReadFile(e.mark)
	if err != nil || string(mark) != print {
		return false
	}
	_, err = os.Stat(e.file)
	return err == nil
}

// removeOthers removes plugins whose source is gone.
func removeOthers(out string, all []example) error {
	files, err := filepath.Glob(filepath.Join(out, "*.wasm"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if !slices.ContainsFunc(all, func(e example) bool { return e.file == f }) {
			err = errors.Join(err, os.Remove(f))
		}
	}
	return err
}

// compileExamples compiles and stamps what is stale. The mark of a plugin is written last: what was
// interrupted is built again.
func (a *app) compileExamples(ctx context.Context, stale []example,
	prints map[string]string) error {
	var targets []build.Target
	for _, e := range stale {
		if err := os.Remove(e.mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		targets = append(targets, build.Target{Dir: e.dir, Out: e.file})
	}
	m := newMeter(a.err)
	defer m.close()
	err := build.CompileAll(ctx, targets, &build.Options{Progress: func(s build.Step) {
		if s.Linked {
			m.step("linked", s.Name, s.Total, false)
		} else {
			m.step("compiling", s.Name, s.Total, true)
		}
	}})
	if err != nil {
		return err
	}
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	m.begin("stamped", len(stale))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range stale {
		group.Go(func() error {
			if err := stampFile(ctx, engine, e.file, e.file); err != nil {
				return fmt.Errorf("%s: %w", e.file, err)
			}
			m.step("stamped", e.name, len(stale), false)
			return os.WriteFile(e.mark, []byte(prints[e.name]), 0o600)
		})
	}
	return group.Wait()
}

// stampFile stamps the module in source and writes it to out.
func stampFile(ctx context.Context, engine *host.Engine, source, out string) error {
	wasm, err := readPlugin(source)
	if err != nil {
		return err
	}
	stamped, err := build.Stamp(ctx, engine, wasm)
	if err != nil {
		return err
	}
	return build.WriteFile(out, stamped)
}

// kitFingerprint covers what all example plugins are made of: the tool chain, the libraries, and
// the kit beside them in the clone.
func kitFingerprint(ctx context.Context, source string) (string, error) {
	chain, err := build.Toolchain(ctx, source, nil)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, chain)
	for _, name := range []string{"go.mod", "go.sum", "internal", "../../go.mod", "../../abi",
		"../../pdk"} {
		if err := hashTree(h, filepath.Join(source, filepath.FromSlash(name))); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// fingerprint covers what one example plugin is made of.
func fingerprint(kit, dir string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, kit)
	if err := hashTree(h, dir); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// hashTree writes the names and contents of all files at or below root to w, but for tests. A root
// that is not there counts as empty.
func hashTree(w io.Writer, root string) error {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case !d.Type().IsRegular(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%q %d\n%s", filepath.ToSlash(rel), len(b), b)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
