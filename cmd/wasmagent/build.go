package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/build"
	"github.com/wasmagent/wasmagent/host"
)

func (a *app) buildCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "build DIR | FILE.wasm",
		Short: "Compile a Go plugin and stamp its manifest in",
		Long: `Compile the Go package in DIR into a plugin, ask it in the sandbox what it is, and
stamp the answer into the file, so that it can be listed and reviewed without running
it. A finished module in any language is stamped only. The file is the directory's
name with .wasm, in the working directory, unless -o says otherwise; a finished module
is stamped in place. Folders that are not there yet are made.`,
		Args: takes(1, 1, "one directory or file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.build(cmd.Context(), args[0], out)
		},
	}
	// The name and the letter hide the global flag, which has nothing to say here.
	cmd.Flags().StringVarP(&out, "output", "o", "",
		"the `file` to write, or the directory to write it into: one that is there, or DIR/")
	return cmd
}

func (a *app) build(ctx context.Context, source, out string) error {
	if slices.Contains(forms, out) {
		return &usageError{
			text: fmt.Sprintf("-o names the file to write here, not the form of results (%q)", out),
			hint: fmt.Sprintf(`"wasmagent inspect -o json" tells about a finished plugin; `+
				"to write a file of that name: -o ./%s", out),
		}
	}
	info, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return &notFoundError{text: fmt.Sprintf("no directory or file %s", source)}
	} else if err != nil {
		return err
	}
	if out, err = outFile(source, out, info.IsDir()); err != nil {
		return err
	}
	module := source
	if info.IsDir() {
		dir, err := os.MkdirTemp("", "wasmagent-build-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		module = filepath.Join(dir, "plugin.wasm")
		fmt.Fprintf(a.err, "compiling %s\n", source)
		if err := build.Compile(ctx, build.Target{Dir: source, Out: module}, nil); err != nil {
			return compileHint(err)
		}
	}
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "describing %s\n", source)
	if err := stampFile(ctx, engine, module, out); err != nil {
		return describeHint(fmt.Errorf("%s: %w", source, err))
	}
	return a.printBuilt(ctx, out)
}

// compileHint tells an author without a Go module how to begin one.
func compileHint(err error) error {
	if c, ok := errors.AsType[*build.CompileError](err); ok &&
		strings.Contains(c.Output, "go.mod file not found") {
		return &hinted{err, `"go mod init" makes a module; README.md says how it finds the kit`}
	}
	return err
}

// describeHint tells an author what makes a program a plugin, when it is none.
func describeHint(err error) error {
	if m, ok := errors.AsType[*host.ModuleError](err); ok && slices.ContainsFunc(m.Problems,
		func(p string) bool { return strings.Contains(p, abi.ExportDescribe+" is missing") }) {
		return &hinted{err,
			`in Go, import the package pdk and register a tool: see README.md, "Write a plugin"`}
	}
	return err
}

// printBuilt tells what was built, without the schemas.
func (a *app) printBuilt(ctx context.Context, path string) error {
	j, err := a.inspectFile(ctx, path)
	if err != nil {
		return err
	}
	t := newTable(a.out)
	t.row("file", "%s", j.Path)
	t.row("digest", "%s", j.Digest)
	t.row("size", "%s", bytesText(j.Size))
	t.row("plugin", "%s", j.title())
	for _, tool := range j.Tools {
		t.row("tool", "%s (%s)", tool.Name, tool.effectText())
	}
	for _, im := range j.importsByModule() {
		t.row("imports", "%s: %s", im.module, strings.Join(im.names, ", "))
	}
	t.row("asks for", "%s", textOr(strings.Join(j.Needs, "; "), "nothing"))
	if err := t.Flush(); err != nil {
		return err
	}
	return a.adviseBuilt(ctx, j)
}

// adviseBuilt tells what check would warn of, and what to do next.
func (a *app) adviseBuilt(ctx context.Context, j *inspectJSON) error {
	wasm, err := readPlugin(j.Path)
	if err != nil {
		return err
	}
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	k := &checker{noCalls: true}
	if err := k.plugin(ctx, engine, wasm); err != nil {
		return err
	}
	v := k.verdict(j.Path)
	v.printFindings(a.err, a.paint(a.err))
	if v.Good && j.Error == nil && len(j.Tools) > 0 {
		file := j.Path
		if !isPath(file) {
			file = "./" + file
		}
		if len(j.Tools) > 1 {
			file += ":" + j.Tools[0].Name
		}
		fmt.Fprintf(a.err, "try: wasmagent call %s\n", shellQuote(file))
	}
	return nil
}

// outFile settles the file to write, and makes its folder: a mistake shows before the work.
func outFile(source, out string, isDir bool) (string, error) {
	full, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(full), ".wasm") + ".wasm"
	info, err := os.Stat(out)
	switch {
	case out == "" && isDir:
		return name, nil
	case out == "":
		return source, nil
	case err == nil && info.IsDir(), os.IsPathSeparator(out[len(out)-1]):
		out = filepath.Join(out, name)
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return "", &usageError{text: fmt.Sprintf("%s is not a file, so it cannot be written", out)}
	}
	return out, os.MkdirAll(filepath.Dir(out), 0o755)
}
