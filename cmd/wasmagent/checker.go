package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// checker gathers findings about one plugin.
type checker struct {
	findings []finding
	tools    []string
	needs    []string // what it asks for and nobody can grant
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
// wants to know all at once.
func (k *checker) plugin(ctx context.Context, e *host.Engine, wasm []byte) {
	_, stamped, err := abihost.Section(wasm)
	if err != nil {
		k.err("file", "%v", err)
		return
	}
	if module, err := e.Compile(ctx, wasm, host.Policy{}); err == nil {
		defer module.Close(context.WithoutCancel(ctx))
		k.manifest(module.Manifest())
	} else {
		k.refused(err)
		k.describe(ctx, e, wasm)
	}
	if len(k.needs) > 0 {
		k.warn("needs", "it asks for %s; this version can grant none, so the plugin is refused",
			strings.Join(k.needs, ", "))
	}
	if !stamped && k.good() {
		k.warn("file", `no manifest is stamped in, so listing it runs it: "wasmagent build FILE"`)
	}
}

func (k *checker) describe(ctx context.Context, e *host.Engine, wasm []byte) {
	raw, err := e.Describe(ctx, wasm, host.Policy{})
	if err != nil {
		return // Compile has said why
	}
	if m, err := abihost.ParseManifest(raw); err == nil {
		k.manifest(m)
	}
}

// refused tells why the host does not load the plugin. What only an operator can mend is no error
// of the plugin's.
func (k *checker) refused(err error) {
	if grant, ok := errors.AsType[*host.GrantError](err); ok {
		k.needs = append(k.needs, grant.Missing...)
		return
	}
	load, ok := errors.AsType[*host.LoadError](err)
	if !ok {
		k.err("file", "%v", err)
		return
	}
	if module, ok := errors.AsType[*host.ModuleError](load.Err); ok {
		for _, problem := range module.Problems {
			k.err(load.Stage, "%s", problem)
		}
		return
	}
	k.err(load.Stage, "%v", load.Err)
}

func (k *checker) manifest(m abi.Manifest) {
	if m.Version == "" {
		k.warn("manifest", "it has no version")
	}
	for _, v := range m.Needs.Config {
		if v.Default == "" {
			k.needs = append(k.needs, "config "+v.Name)
		}
	}
	for _, t := range m.Tools {
		k.tools = append(k.tools, t.Name)
		k.tool(t)
	}
}

func (k *checker) tool(t abi.ToolSpec) {
	where := "tool " + t.Name
	if err := plugins.NewRegistry(nil).Add(specOnly{t}); err != nil {
		if add, ok := errors.AsType[*plugins.AddError](err); ok {
			err = add.Err
		}
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

// specOnly is a tool to be registered for the sake of its schemas.
type specOnly struct{ spec abi.ToolSpec }

func (t specOnly) Spec() abi.ToolSpec { return t.spec }

func (t specOnly) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	return plugins.Output{}, errors.New("this tool is never called")
}
