package rewrite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// TestDifferential runs the specification's suites with modules as they are and rewritten, in both
// engines: every command must have the same outcome, and cost the same fuel in both.
func TestDifferential(t *testing.T) {
	root := filepath.Join(moduleDir(t, wazeroModule), "internal/integration_test/spectest")
	scripts, err := filepath.Glob(filepath.Join(root, "*/testdata/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	spectest := readFile(t, filepath.Join(root, "testdata/spectest.wasm"))
	total, ticks := 0, 0
	for _, path := range scripts {
		rel, _ := filepath.Rel(root, path)
		t.Run(filepath.ToSlash(rel), func(t *testing.T) {
			var script script
			if err := json.Unmarshal(readFile(t, path), &script); err != nil {
				t.Fatal(err)
			}
			for i := range len(script.Commands) - 1 { // a module is registered right after it
				if next := script.Commands[i+1]; next.Type == "register" {
					script.Commands[i].As = next.As
				}
			}
			var fuel [2][]int64
			for i, engine := range engines {
				plain := newPlayer(t, engine.config, spectest, false)
				rewritten := newPlayer(t, engine.config, spectest, true)
				for n, c := range script.Commands {
					want, got := plain.play(path, c), rewritten.play(path, c)
					// Maxima are others after rewriting, so what could not be linked for them now
					// can.
					if want != got && !strings.Contains(want, "maximum size mismatch") {
						t.Errorf("line %d, %s %s, %s:\nplain:     %s\nrewritten: %s",
							c.Line, c.Type, c.Action.Field, engine.name, want, got)
					}
					fuel[i] = append(fuel[i], rewritten.spentByAll())
					if i == 1 && fuel[0][n] != fuel[1][n] {
						t.Errorf("line %d: fuel %d compiled, %d interpreted", c.Line, fuel[0][n], fuel[1][n])
					}
				}
				total, ticks = total+plain.played, ticks+rewritten.ticks
			}
		})
	}
	t.Logf("%d outcomes compared, %d ticks", total, ticks)
	if total < 2*60_000 || ticks < 1_000 {
		t.Errorf("%d outcomes, %d ticks: the suites were not really run", total, ticks)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// script is a suite's list of commands, as wast2json writes it.
type script struct{ Commands []command }

type command struct {
	Type, Name, Filename, As string
	Line                     int
	Action                   struct {
		Type, Field, Module string
		Args                []value
	}
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

// bits gives a value as the engine takes it.
func (v value) bits() []uint64 {
	lanes, ok := v.Value.([]any)
	if !ok {
		return []uint64{number(v.Value, v.Type)}
	}
	width, _ := strconv.Atoi(v.LaneType[1:])
	out := make([]uint64, 2)
	for i, lane := range lanes {
		at := i * width
		out[at/64] |= number(lane, v.LaneType) & (1<<width - 1) << (at % 64)
	}
	return out
}

func number(v any, typ string) uint64 {
	s, _ := v.(string)
	if s == "" || s == "null" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		signed, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic(err)
		}
		n = uint64(signed)
	}
	switch typ {
	case "externref":
		return n + 1 // 0 is null
	case "i32", "f32":
		return uint64(uint32(n))
	}
	return n
}

// player plays a script in a runtime of its own.
type player struct {
	*machine
	t       testing.TB
	rewrite bool
	named   map[string]api.Module
	last    api.Module
	all     []api.Module
	played  int
}

// tickOften is a slice that makes guests call tick all the time.
const tickOften = 1_000

func newPlayer(t *testing.T, config wazero.RuntimeConfig, spectest []byte, rewrite bool) *player {
	p := &player{t: t, rewrite: rewrite, named: map[string]api.Module{},
		machine: newMachine(t, config, tickOften)}
	if _, err := p.Instantiate(p.ctx, spectest); err != nil {
		t.Fatal(err)
	}
	return p
}

// spentByAll is what all modules used since it was asked last.
func (p *player) spentByAll() (used int64) {
	for _, mod := range p.all {
		used += p.spent(mod)
	}
	return used
}

// play runs a command and describes its outcome.
func (p *player) play(path string, c command) string {
	switch c.Type {
	case "module", "assert_uninstantiable", "assert_unlinkable":
		p.played++
		wasm := readFile(p.t, filepath.Join(filepath.Dir(path), c.Filename))
		mod, err := p.instantiate(wasm, c.As)
		if err != nil {
			return outcome(nil, nil, err)
		}
		if c.Type == "module" {
			p.last = mod
			if c.Name != "" {
				p.named[c.Name] = mod
			}
		}
	case "assert_return", "action", "assert_trap", "assert_exception":
		p.played++
		return p.act(c)
	}
	return ""
}

func (p *player) act(c command) string {
	mod := p.last
	if c.Action.Module != "" {
		mod = p.named[c.Action.Module]
	}
	if mod == nil {
		return "no module"
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(mod.ExportedGlobal(c.Action.Field).Get())
	}
	var args []uint64
	for _, v := range c.Action.Args {
		args = append(args, v.bits()...)
	}
	f := mod.ExportedFunction(c.Action.Field)
	if f == nil {
		return "no function"
	}
	results, err := f.Call(p.ctx, args...)
	return outcome(results, f.Definition().ResultTypes(), err)
}

// outcome describes results, or the first line of an error: what follows depends on the engine.
// References are addresses, so only whether they are null counts.
func outcome(results []uint64, types []api.ValueType, err error) string {
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		if _, cause, ok := strings.Cut(line, "] failed: "); ok { // the function's number or name
			return cause
		}
		return line
	}
	vectors := slices.Contains(types, api.ValueType(V128))
	for i, t := range types {
		if !vectors && t != api.ValueTypeExternref && !ValType(t).numeric() && results[i] != 0 {
			results[i] = 1
		}
	}
	return fmt.Sprint(results)
}

func (p *player) instantiate(wasm []byte, name string) (api.Module, error) {
	config := wazero.NewModuleConfig().WithName(name)
	if !p.rewrite {
		return p.InstantiateWithConfig(p.ctx, wasm, config)
	}
	mod, err := p.load(openImports(wasm), nil, config)
	if mod != nil {
		p.all = append(p.all, mod)
	}
	return mod, err
}

// openImports takes the maxima off imported memories and tables, since those of the modules that
// export them are others after rewriting. No plugin has such imports.
func openImports(wasm []byte) []byte {
	out := slices.Clone(wasm[:8])
	r := reader{b: wasm, pos: 8, end: len(wasm), types: 1 << 20}
	for r.left() > 0 {
		at := r.pos
		id := r.byte()
		end := int(r.u32()) + r.pos
		if id == secImport {
			n := r.u32()
			imports := uleb(uint64(n))
			for range n {
				imports = append(imports, openImport(&r)...)
			}
			out = append(out, section(secImport, imports)...)
		} else {
			out = append(out, wasm[at:end]...)
		}
		r.pos = end
	}
	return out
}

func openImport(r *reader) []byte {
	at := r.pos
	r.name()
	r.name()
	switch kind := Kind(r.byte()); kind {
	case Table, Memory:
		if kind == Table {
			r.valType()
		}
		if flags := r.b[r.pos]; flags != 1 { // unbounded or shared
			r.byte()
			r.u32()
			if flags == 3 {
				r.u32()
			}
			return r.b[at:r.pos]
		}
		head := slices.Clone(r.b[at:r.pos])
		r.byte()
		head = append(append(head, 0), uleb(uint64(r.u32()))...)
		r.u32()
		return head
	case Global:
		r.valType()
		r.byte()
	case Tag:
		r.byte()
		r.u32()
	default:
		r.u32()
	}
	return r.b[at:r.pos]
}
