package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// reserved begins the names that only the host may use in a module.
const reserved = "wasmagent_internal"

const (
	wasiModule = "wasi_snapshot_preview1"
	noneToNone = "() -> ()"
)

// exports are those that a plugin must or may have, each () → ().
var exports = []struct {
	name     string
	required bool
}{
	{abi.ExportInitialize, false},
	{abi.ExportDescribe, true},
	{abi.ExportWarmup, false},
	{abi.ExportCall, true},
}

// checkContract holds a module against the plugin contract. links has the signature of each
// function that can be imported, by module and name. It finds all problems before it answers.
func checkContract(f *factReader, links map[string]map[string]string, l Limits) error {
	problems := slices.Concat(f.refused, checkImports(f, links), checkExports(f), checkMemory(f, l))
	if len(problems) == 0 {
		return nil
	}
	return &ModuleError{Problems: problems}
}

func checkImports(f *factReader, links map[string]map[string]string) (problems []string) {
	for _, im := range f.Imports {
		switch at := fmt.Sprintf("%s.%s", shown(im.Module), shown(im.Name)); {
		case strings.HasPrefix(im.Module, reserved):
			problems = append(problems, fmt.Sprintf("import %s: the name is reserved", at))
		case im.Kind != "func":
			problems = append(problems, fmt.Sprintf("import %s: a plugin cannot import a %s",
				at, im.Kind))
		case links[im.Module] == nil:
			problems = append(problems, fmt.Sprintf("import %s%s: %s", at, im.Type,
				unknownModule(im.Module)))
		case links[im.Module][im.Name] == "":
			problems = append(problems, fmt.Sprintf("import %s%s: there is no such function",
				at, im.Type))
		case links[im.Module][im.Name] != im.Type:
			problems = append(problems, fmt.Sprintf("import %s%s: the function is %s", at, im.Type,
				links[im.Module][im.Name]))
		}
	}
	return problems
}

func unknownModule(name string) string {
	if strings.HasPrefix(name, "wasmagent_v") {
		return fmt.Sprintf("this host speaks version %d of the contract, %s",
			abi.Version, abi.ImportModule)
	}
	return "the host has no such module"
}

func checkExports(f *factReader) (problems []string) {
	has := map[string]Export{}
	for _, e := range f.Exports {
		has[e.Name] = e
		if strings.HasPrefix(e.Name, reserved) {
			problems = append(problems,
				fmt.Sprintf("export %s: the name is reserved", shown(e.Name)))
		}
	}
	for _, want := range exports {
		got, ok := has[want.name]
		switch {
		case !ok && want.required:
			problems = append(problems, fmt.Sprintf("export %s is missing", want.name))
		case ok && (got.Kind != "func" || got.Type != noneToNone):
			problems = append(problems, fmt.Sprintf("export %s must be a function %s, and is %s",
				want.name, noneToNone, strings.TrimSpace(got.Kind+" "+got.Type)))
		}
	}
	if _, ok := has["_start"]; ok && len(problems) > 0 {
		problems = append(problems, "it exports _start: a command, where a plugin is a reactor "+
			"(in Go: -buildmode=c-shared)")
	}
	if got, ok := has[abi.ExportMemory]; !ok || got.Kind != "memory" {
		problems = append(problems, fmt.Sprintf("export %s, its memory, is missing",
			abi.ExportMemory))
	}
	return problems
}

func checkMemory(f *factReader, l Limits) (problems []string) {
	if n := len(f.Memories); n != 1 {
		return []string{fmt.Sprintf("a plugin defines one memory, not %d", n)}
	}
	m := f.Memories[0]
	if m.Shared {
		problems = append(problems, "shared memory is not supported")
	}
	if m.Is64 {
		problems = append(problems, "64-bit memory is not supported")
	}
	if m.CustomPages {
		problems = append(problems, "memory pages of another size are not supported")
	}
	if limit := uint64(l.Memory) / pageBytes; m.Min > limit {
		problems = append(problems, fmt.Sprintf(
			"its memory begins with %d pages of 64 KiB, past the limit of %d (limits.memory)",
			m.Min, limit))
	}
	return problems
}

// shown is a guest's name as errors print it: clean and cut.
func shown(name string) string {
	const max = 80
	clean := abi.CleanText(name, max)
	if clean == name {
		return name
	}
	return fmt.Sprintf("%q", clean)
}

// missingGrants lists what a plugin needs, by its imports or its manifest, and cannot have. A need
// that all its entries mark as optional does not count: its functions answer "denied".
func missingGrants(f *factReader, m *abi.Manifest) (missing []string) {
	needs := &m.Needs
	optionalHTTP := len(needs.HTTP) > 0 &&
		!slices.ContainsFunc(needs.HTTP, func(n abi.HTTPNeed) bool { return !n.Optional })
	if !optionalHTTP && (len(needs.HTTP) > 0 || f.imports("http")) {
		missing = append(missing, "http")
	}
	optionalKV := needs.KV != nil && needs.KV.Optional
	if !optionalKV && (needs.KV != nil || f.imports("kv")) {
		missing = append(missing, "kv")
	}
	for _, n := range needs.Files {
		if !n.Optional {
			missing = append(missing, "files "+n.Guest)
		}
	}
	for _, n := range needs.Env {
		if n.Default == "" {
			missing = append(missing, "env "+n.Name)
		}
	}
	for _, n := range needs.Secrets {
		missing = append(missing, "secret "+n.Name)
	}
	return missing
}

// imports reports whether a host function is imported.
func (f *factReader) imports(name string) bool {
	return slices.ContainsFunc(f.Imports, func(im Import) bool {
		return im.Module == abi.ImportModule && im.Name == name
	})
}
