package rewrite

import (
	"context"
	"fmt"
	"maps"

	"path/filepath"

	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// guests are real programs from several compilers, by name.
func guests(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"go/work": goGuest(t)}
	for _, path := range []string{extismModule, wazeroModule} {
		root := moduleDir(t, path)
		for _, file := range wasmFiles(t, root) {
			if strings.Contains(file, "spectest") || strings.Contains(file, "fuzzcases") {
				continue // no programs
			}
			rel, _ := filepath.Rel(root, file)
			all[filepath.ToSlash(filepath.Join(filepath.Base(root), rel))] = readFile(t, file)
		}
	}
	return all
}

// Real guests pass, and they leave room below the limits: the table shows how much.
func TestRealGuests(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engines[1].config)
	defer r.Close(ctx)
	limits := (*Limits)(nil).withDefaults()
	var table strings.Builder
	fmt.Fprintf(&table, tableRow, "limit", limits.Module, limits.Functions, limits.Params,
		limits.Locals, limits.ModuleLocals, limits.Nesting, limits.LoopNesting, limits.BranchTable,
		limits.Checks, limits.TableElements, limits.Names, limits.DataSegments, limits.Items,
		limits.Body, limits.Product, limits.BackEdges, limits.Work, "")
	all := guests(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		wasm := all[name]
		f, err := Check(wasm, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(f.Oversize) > 0 {
			t.Errorf("%s: %v", name, f.Oversize)
		}
		out, _, err := Rewrite(wasm, f, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !accepts(ctx, r, out) {
			t.Errorf("%s: not accepted rewritten", name)
		}
		m := f.Maxima
		fmt.Fprintf(&table, tableRow, short(name), f.Size, f.Functions, m.Params, m.Locals, f.Locals,
			m.Nesting, m.LoopNesting, m.BranchTable, m.Checks, m.TableElements, m.Names,
			m.DataSegments, m.Items, m.Body, m.Product, m.BackEdges, m.Work,
			strings.Join(append(f.Features.Names(), f.Blockers()...), ", "))
	}
	t.Logf("\n"+strings.ReplaceAll(tableRow, "d", "s")+"%s", "guest", "bytes", "funcs", "params",
		"locals", "all locals", "nest", "loops", "br_table", "checks", "table", "names", "data",
		"items", "body", "product", "back", "work", "features and blockers", table.String())
}

const tableRow = "%-65s %9d %6d %6d %6d %10d %6d %5d %8d %7d %6d %7d %7d %6d %8d %9d %7d %9d  %s\n"
