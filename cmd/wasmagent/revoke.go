package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// revokeJSON is what revoke did.
type revokeJSON struct {
	Plugin      string   `json:"plugin"`
	Directories []string `json:"directories"` // where plugins of this name were allowed
}

func (a *app) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke PLUGIN | FILE",
		Short: "Take back that a plugin was allowed",
		Long: `Take back that a plugin was allowed. If its section grants it anything, it is not run any
more until it is allowed again; the section itself stays. The plugin need not be there any
more. Programs that run already go on.`,
		Args:              takes(1, 1, "one plugin or file"),
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.revoke(cmd.Context(), args[0])
		},
	}
}

func (a *app) revoke(_ context.Context, arg string) error {
	operator, err := a.operator()
	if err != nil {
		return err
	}
	name, dirs, err := a.revokePlaces(arg)
	if err != nil {
		return err
	}
	done := revokeJSON{Plugin: name, Directories: []string{}}
	for _, dir := range dirs {
		was, err := operator.Revoke(dir, name)
		if err != nil {
			return err
		}
		if was {
			done.Directories = append(done.Directories, dir)
		}
	}
	if len(done.Directories) == 0 {
		return &notFoundError{
			text: fmt.Sprintf("plugin %q was not allowed in %s", name, strings.Join(dirs, ", ")),
			hint: fmt.Sprintf("%q shows the plugins", a.inDirs("wasmagent list")),
		}
	}
	if a.form != "text" {
		return writeJSON(a.out, a.form, done)
	}
	for _, dir := range done.Directories {
		fmt.Fprintf(a.out, "revoked: %s in %s\n", oneLine(name), oneLine(dir))
	}
	if operator.Granted(name) {
		fmt.Fprintf(a.err, "the section [plugins.%s] of %s stays, and is not given to it any more\n",
			name, a.policyFile())
	}
	return nil
}

// revokePlaces gives the real directories in which a plugin may have been allowed. It need not be
// there any more.
func (a *app) revokePlaces(arg string) (name string, dirs []string, err error) {
	if isPath(arg) {
		abs, err := filepath.Abs(arg)
		if err != nil {
			return "", nil, err
		}
		if base := filepath.Base(abs); base == "plugin.wasm" || base == "manifest.json" {
			abs = filepath.Dir(abs)
		}
		for _, suffix := range []string{".wasm", ".extism.json"} {
			if name, ok := strings.CutSuffix(filepath.Base(abs), suffix); ok {
				return name, []string{realDir(filepath.Dir(abs))}, nil
			}
		}
		return filepath.Base(abs), []string{realDir(abs)}, nil
	}
	plugins, _, err := a.pluginDirs()
	for _, dir := range plugins {
		dir = realDir(dir)
		dirs = append(dirs, dir, filepath.Join(dir, arg))
	}
	return arg, dirs, err
}

// realDir is where a directory really lies, as far as it is there.
func realDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}
