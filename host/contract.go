package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

const noneToNone = "() -> ()"

// refused are the features that a plugin may not use.
const refused = rewrite.Threads | rewrite.Exceptions | rewrite.TypedReferences | rewrite.Memory64

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

// checkContract holds a module against the plugin contract, or against a dialect. links has what can
// be imported. It finds all problems before it answers.
func checkContract(f *rewrite.Facts, d *Dialect, links linkage) error {
	if d != nil {
		return checkDialect(f, d, links)
	}
	problems := slices.Concat(checkFeatures(f), checkImports(f, links), checkExports(f))
	if f.Memory == nil || f.Memory.Imported {
		problems = append(problems, "a plugin defines one memory of its own")
	}
	if len(problems) == 0 {
		return nil
	}
	return contractError(problems...)
}

func contractError(problems ...string) error {
	return &LoadError{Stage: stageContract, Err: &ModuleError{Problems: problems}}
}

func checkFeatures(f *rewrite.Facts) (problems []string) {
	for _, name := range (f.Features & refused).Names() {
		problems = append(problems, "it uses a feature that is not supported: "+name)
	}
	return problems
}

func checkImports(f *rewrite.Facts, links linkage) (problems []string) {
	for _, im := range f.Imports {
		typ := signature(im.Kind, im.Type)
		switch at := fmt.Sprintf("%s.%s", shown(im.Module), shown(im.Name)); {
		case im.Kind != rewrite.Func:
			problems = append(problems, fmt.Sprintf("import %s: a plugin cannot import a %s",
				at, im.Kind))
		case links[im.Module] == nil:
			problems = append(problems, fmt.Sprintf("import %s%s: %s", at, typ,
				unknownModule(im.Module)))
		case links[im.Module][im.Name] == "":
			problems = append(problems, fmt.Sprintf("import %s%s: there is no such function",
				at, typ))
		case links[im.Module][im.Name] != typ:
			problems = append(problems, fmt.Sprintf("import %s%s: the function is %s", at, typ,
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

func checkExports(f *rewrite.Facts) (problems []string) {
	has := map[string]rewrite.Export{}
	for _, e := range f.Exports {
		has[e.Name] = e
	}
	for _, want := range exports {
		got, ok := has[want.name]
		switch {
		case !ok && want.required:
			problems = append(problems, fmt.Sprintf("export %s is missing", want.name))
		case ok && (got.Kind != rewrite.Func || got.Type.String() != noneToNone):
			problems = append(problems, fmt.Sprintf("export %s must be a function %s, and is %s",
				want.name, noneToNone, strings.TrimSpace(got.Kind.String()+" "+signature(got.Kind, got.Type))))
		}
	}
	if _, ok := has["_start"]; ok && len(problems) > 0 {
		problems = append(problems, "it exports _start: a command, where a plugin is a reactor "+
			"(in Go: -buildmode=c-shared)")
	}
	if got, ok := has[abi.ExportMemory]; !ok || got.Kind != rewrite.Memory {
		problems = append(problems, fmt.Sprintf("export %s, its memory, is missing",
			abi.ExportMemory))
	}
	return problems
}

// checkMemory holds a module that keeps the contract against a policy.
func checkMemory(f *rewrite.Facts, l Limits) error {
	limit := uint64(l.Memory) / pageBytes
	if f.Memory.Min <= limit {
		return nil
	}
	return contractError(fmt.Sprintf(
		"its memory begins with %s, past the limit of %s (limits.memory)",
		byteText(int64(f.Memory.Min*pageBytes)), byteText(int64(limit*pageBytes))))
}

// shown is a guest's name as errors print it: clean and cut.
func shown(name string) string {
	const max = 80
	if clean := abi.CleanText(name, max); clean == name {
		return name
	} else {
		return fmt.Sprintf("%q", clean)
	}
}
