package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
)

const wazeroPath = "github.com/tetratelabs/wazero"

// versionJSON is what this program is made of.
type versionJSON struct {
	Version string `json:"version"` // of the module; (devel) when built from a working copy
	ABI     int    `json:"abi"`     // of the plugin contract
	Go      string `json:"go"`
	Engine  string `json:"engine"`
	System  string `json:"system"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the command, the plugin contract and the engine",
		Args:  takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := versions()
			if a.form != "text" {
				return writeJSON(a.out, a.form, v)
			}
			_, err := fmt.Fprintf(a.out, "wasmagent %s (plugin contract %d, %s, %s, %s)\n",
				v.Version, v.ABI, v.Engine, v.Go, v.System)
			return err
		},
	}
}

func versions() versionJSON {
	v := versionJSON{
		Version: "(devel)", ABI: abi.Version, Go: runtime.Version(), Engine: "wazero",
		System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == wazeroPath {
			v.Engine += " " + dep.Version
		}
	}
	return v
}
