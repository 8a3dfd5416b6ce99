package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/config"
)

func (a *app) configCommand() *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration of runs, and where each value comes from",
		Long: `Show every key of the configuration of runs, what counts, and where that comes from: the
default, the user's file, the file .wasmagent.toml of the working directory, or a flag.
The flags are those of "run", to try them. No key of a provider and no header is shown.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			c, err := a.configuration(&flags)
			if err != nil {
				return err
			}
			return a.printConfig(c.Effective())
		},
	}
	a.settingFlags(cmd, &flags)
	return cmd
}

// settingJSON is a key of the configuration.
type settingJSON struct {
	Key   string       `json:"key"`
	Value string       `json:"value"` // as a file would have it
	From  []originJSON `json:"from"`
}

type originJSON struct {
	Kind string `json:"kind"` // default, user, project, flag or environment
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Name string `json:"name,omitempty"` // of a flag or variable
}

func (a *app) printConfig(settings []config.Setting) error {
	if a.form == "text" {
		rows := [][]string{{"KEY", "VALUE", "FROM"}}
		for _, s := range settings {
			from := make([]string, len(s.From))
			for i, o := range s.From {
				from[i] = o.String()
			}
			rows = append(rows, []string{s.Key, s.Value, strings.Join(from, ", ")})
		}
		return writeRows(a.out, rows)
	}
	list := make([]settingJSON, len(settings))
	for i, s := range settings {
		list[i] = settingJSON{Key: s.Key, Value: s.Value}
		for _, o := range s.From {
			list[i].From = append(list[i].From, originJSON(o))
		}
	}
	if a.form == "json" {
		return writeJSON(a.out, a.form, map[string]any{"settings": list})
	}
	for _, s := range list {
		if err := writeJSON(a.out, a.form, s); err != nil {
			return err
		}
	}
	return nil
}
