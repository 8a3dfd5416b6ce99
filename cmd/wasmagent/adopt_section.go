package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
	"github.com/wasmagent/wasmagent/policy"
)

// adoption decides which functions of a plugin become which tools.
func (a *app) adoption(h *adoption, pl *loader.Plugin, f *host.Facts) (*policy.Adoption, error) {
	kind := h.kind
	if kind == "" {
		kind = pl.Kind
	}
	_, adoptable := kindNamed(kind).(loader.Adoptable)
	switch {
	case h.kind != "" && kindNamed(h.kind) == nil:
		return nil, &usageError{text: fmt.Sprintf("--kind is one of %s, not %q",
			strings.Join(kindNames(), ", "), h.kind)}
	case kind == "" && describes(f) || kind != "" && !adoptable:
		return nil, &usageError{
			text: fmt.Sprintf("plugin %q describes its tools itself: there is nothing to adopt", pl.Name),
			hint: fmt.Sprintf("%q shows them", a.inDirs("wasmagent list")),
		}
	case kind == "":
		return nil, &usageError{
			text: fmt.Sprintf("%s is of no kind that is known: %s", pl.Path, causeOf(pl.Err)),
			hint: fmt.Sprintf("%q shows what each would want; --kind says which it is",
				a.aboutFile("inspect", pl.Path)),
		}
	}
	have := functionsOf(kind, f)
	if len(have) == 0 {
		return nil, &usageError{text: fmt.Sprintf("plugin %q of the kind %s has no function to make a "+
			"tool of", pl.Name, kind)}
	}
	for _, export := range h.functions {
		if !slices.Contains(have, export) || export == "" {
			return nil, &notFoundError{
				text: fmt.Sprintf("plugin %q has no function %q that could be a tool", pl.Name, export),
				hint: nearHint(export, have, "it has "+strings.Join(have[:min(len(have), maxNamed)], ", ")),
			}
		}
	}
	switch {
	case len(h.functions) > 0:
		have = slices.Compact(slices.Sorted(slices.Values(h.functions)))
	case len(have) > 1: // beside functions a program's own start is what a kit leaves behind
		have = slices.DeleteFunc(have, func(s string) bool { return s == "_start" })
	}
	section := &policy.Adoption{Kind: kind, Told: kind == pl.Kind, DryRun: h.dryRun}
	if len(have) > abi.MaxTools {
		return nil, &usageError{
			text: fmt.Sprintf("plugin %q would have %d tools, more than %d", pl.Name, len(have), abi.MaxTools),
			hint: "--function says which functions become tools",
		}
	}
	taken := map[string]bool{}
	for _, export := range have {
		section.Functions = append(section.Functions,
			policy.AdoptedFunction{Tool: toolOf(export, pl.Name, taken), Export: export})
	}
	return section, nil
}

// tryAdoption makes the plugin as it would be with its section, which is not written when that
// cannot be. It chooses the engine of modules that only one of them links.
func (a *app) tryAdoption(ctx context.Context, operator *policy.Policy, wasm []byte,
	pl *loader.Plugin, section *policy.Adoption) error {
	d, err := operator.Decide(&loader.Plugin{Name: pl.Name, Path: pl.Path, Dir: pl.Dir})
	if err != nil {
		return err
	}
	d.Functions = nil
	for _, f := range section.Functions {
		d.Functions = append(d.Functions,
			loader.Function{Tool: abi.ToolSpec{Name: f.Tool}, Export: f.Export})
	}
	kind := kindNamed(section.Kind)
	if err = a.tryKind(ctx, kind, wasm, pl, &d); errors.Is(err, extism.ErrLinked) {
		section.Engine, d.Engine = extism.EngineSDK, extism.EngineSDK
		err = a.tryKind(ctx, kind, wasm, pl, &d)
	}
	if _, lacks := errors.AsType[*host.GrantError](err); err == nil || lacks {
		return nil // what it needs is granted later
	}
	return &hinted{&loader.LoadError{Plugin: pl.Name, Path: pl.Path, Err: err}, "nothing is written"}
}

// tryKind makes a plugin of a kind, or finds without doing so that it can be made.
func (a *app) tryKind(ctx context.Context, kind loader.Kind, wasm []byte, pl *loader.Plugin,
	d *loader.Decision) error {
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	if k, ok := kind.(loader.Describer); ok {
		_, err := k.Describe(engine, wasm, pl, d)
		return err
	}
	m, err := kind.Compile(ctx, engine, wasm, pl, d)
	if err != nil {
		return err
	}
	return m.Close(ctx)
}

// causeOf is why a plugin was not loaded, without its name; "": it was.
func causeOf(err error) string {
	if load, ok := errors.AsType[*loader.LoadError](err); ok {
		err = load.Err
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// toolOf names the tool that a function becomes. A program's only function says nothing of it: the
// file's name does.
func toolOf(export, plugin string, taken map[string]bool) string {
	name := wasicmd.ToolName(export)
	if export == "" || export == "_start" {
		name = wasicmd.ToolName(plugin)
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%.60s_%d", name, n)
	}
	taken[free] = true
	return free
}
