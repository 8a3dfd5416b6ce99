package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/conform"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// checker gathers findings about one plugin.
type checker struct {
	noCalls  bool // tools are not called
	findings []finding
	tools    []string
}

func (k *checker) add(level, where, format string, args ...any) {
	k.findings = append(k.findings, finding{level, where, fmt.Sprintf(format, args...)})
}

func (k *checker) err(where, format string, args ...any) {
	k.add("error", where, format, args...)
}

func (k *checker) warn(where, format string, args ...any) {
	k.add("warning", where, format, args...)
}

// verdict gives what was found, errors first.
func (k *checker) verdict(path string) checkJSON {
	v := checkJSON{Path: path, Good: k.good(), Tools: []string{}, Findings: []finding{}}
	v.Tools = append(v.Tools, k.tools...)
	for _, level := range []string{"error", "warning"} {
		for _, f := range k.findings {
			if f.Level == level {
				v.Findings = append(v.Findings, f)
			}
		}
	}
	return v
}

// good reports whether no finding is an error.
func (k *checker) good() bool {
	return !slices.ContainsFunc(k.findings, func(f finding) bool { return f.Level == "error" })
}

// plugin checks a whole file. One that is refused is still asked what it offers, since its author
// wants to know all at once. The error is not the plugin's.
func (k *checker) plugin(ctx context.Context, e *host.Engine, wasm []byte) error {
	_, stamped, err := abihost.Section(wasm)
	if err != nil {
		k.err("file", "%v", err)
		return nil
	}
	report, err := conform.Check(ctx, e, wasm, &conform.Options{NoCalls: k.noCalls})
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		k.add(string(f.Level), f.Where, "%s", f.Text)
	}
	for _, t := range report.Manifest.Tools {
		k.tools = append(k.tools, t.Name)
		k.tool(t)
	}
	if len(report.Missing) > 0 {
		k.warn("needs", "it asks for %s; it is refused until its operator grants that",
			strings.Join(report.Missing, ", "))
	}
	if !stamped && k.good() {
		k.warn("file", `no manifest is stamped in, so listing it runs it: "wasmagent build FILE"`)
	}
	return nil
}

// other checks a plugin of another contract, which was opened. Its operator has named and described
// its tools, so no call of them is tried.
func (k *checker) other(p *loader.Plugin) {
	if p.Err != nil {
		k.err("file", "%v", p.Err)
	}
	for _, err := range p.Withheld {
		k.err("tool", "%v", err)
	}
	for _, t := range p.Manifest.Tools {
		k.tools = append(k.tools, t.Name)
		k.tool(t)
	}
}

func (k *checker) tool(t abi.ToolSpec) {
	where := "tool " + t.Name
	if err := plugins.CheckSpec(t); err != nil {
		k.err(where, "%v", err)
	}
	if n := len(t.Name); n > abi.WarnToolNameBytes {
		k.warn(where, "its name has %d characters, and some clients cut names at %d",
			n, abi.WarnToolNameBytes)
	}
	if t.Description == "" {
		k.warn(where, "it has no description: a model cannot tell when to use it")
	}
	if t.InputSchema == "" {
		k.warn(where, "it has no input schema: nothing is checked before it runs")
	}
	if bare := undescribed(t.InputSchema); len(bare) > 0 {
		k.warn(where, "no description of %s", strings.Join(bare, ", "))
	}
	if t.OutputSchema == "" {
		k.warn(where, "it has no output schema: nothing is promised of its results")
	}
}

// undescribed gives the names of a schema's top-level properties that have no description, sorted.
func undescribed(schemaText string) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal([]byte(schemaText), &s) != nil {
		return nil
	}
	var bare []string
	for name, text := range s.Properties {
		var p struct {
			Description string `json:"description"`
			Ref         string `json:"$ref"`
		}
		if json.Unmarshal(text, &p) == nil && p.Description == "" && p.Ref == "" {
			bare = append(bare, name)
		}
	}
	slices.Sort(bare)
	return bare
}
