package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/loader"
)

// lockJSON is a lock that was written.
type lockJSON struct {
	Lock    string            `json:"lock"`
	Plugins map[string]string `json:"plugins"` // digests by name
}

func (a *app) lockCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lock",
		Short: "Pin the plugins of the plugin directories as they are",
		Long: `Write into each plugin directory a wasmagent.lock with the digests of its plugins. From
then on a plugin with another digest, and one that is not in it, is refused until the lock is
written again. A lock comes with its directory, so it only refuses: what a plugin may do is
what the policy says.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.lock(cmd.Context()) },
	}
}

func (a *app) lock(ctx context.Context) error {
	dirs, _, err := a.pluginDirs()
	if err != nil {
		return err
	}
	opts, err := a.loaderOptions(ctx)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		j, err := lockDir(ctx, dir, opts)
		if err != nil {
			return err
		}
		if a.form != "text" {
			err = writeJSON(a.out, a.form, j)
		} else {
			_, err = fmt.Fprintf(a.out, "%s pins %s\n", oneLine(j.Lock), count(len(j.Plugins), "plugin"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lockDir pins every plugin of a directory that could be read, whatever else is wrong with it.
func lockDir(ctx context.Context, dir string, opts *loader.Options) (*lockJSON, error) {
	d, err := loader.OpenDir(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	j := &lockJSON{Lock: filepath.Join(dir, loader.LockFile), Plugins: map[string]string{}}
	for _, p := range d.Plugins() {
		if p.Digest != "" {
			j.Plugins[p.Name] = p.Digest
		}
	}
	var text strings.Builder
	text.WriteString("# Written by \"wasmagent lock\": what is another file is refused.\n\n")
	if err := toml.NewEncoder(&text).Encode(map[string]any{"plugins": j.Plugins}); err != nil {
		return nil, err
	}
	return j, maybe.WriteFile(j.Lock, []byte(text.String()), 0o644)
}
