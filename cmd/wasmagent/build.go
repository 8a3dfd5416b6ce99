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

	"github.com/wasmagent/wasmagent/build"
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
is stamped in place.`,
		Args: takes(1, 1, "one directory or file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.build(cmd.Context(), args[0], out)
		},
	}
	// The name and the letter hide the global flag, which has nothing to say here.
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
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
	if out == "" {
		if out, err = defaultOut(source, info.IsDir()); err != nil {
			return err
		}
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
			return err
		}
	}
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "describing %s\n", source)
	if err := stampFile(ctx, engine, module, out); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return a.printBuilt(ctx, out)
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
	t.row("plugin", "%s %s", j.Name, j.Version)
	for _, tool := range j.Tools {
		t.row("tool", "%s (%s)", tool.Name, tool.Effect)
	}
	for _, im := range j.importsByModule() {
		t.row("imports", "%s: %s", im.module, strings.Join(im.names, ", "))
	}
	t.row("asks for", "%s", textOr(strings.Join(j.Needs, "; "), "nothing"))
	return t.Flush()
}

// defaultOut names the file that is written when nothing else is said.
func defaultOut(source string, isDir bool) (string, error) {
	if !isDir {
		return source, nil
	}
	full, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(filepath.Base(full), ".wasm") + ".wasm", nil
}
