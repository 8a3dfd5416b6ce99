package rewrite

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// randomRun is one instance of a module.
type randomRun struct {
	*machine
	facts     *Facts
	metered   bool // rewritten as hosts do
	unmetered bool // rewritten without fuel
	mod       api.Module
	logged    []string // calls of imports in this step
	inside    bool     // an import that calls an export
	exhausted bool     // a stack overflowed in this step
}

func newRandomRun(t *testing.T, config wazero.RuntimeConfig, facts *Facts) *randomRun {
	r := &randomRun{facts: facts, machine: newMachine(t, config, tickOften)}
	r.maxTicks = randomTicks
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, imp := range facts.Imports {
		if imp.Kind != Func {
			continue
		}
		if hosts[imp.Module] == nil {
			hosts[imp.Module] = r.NewHostModuleBuilder(imp.Module)
		}
		stub := func(ctx context.Context, _ api.Module, stack []uint64) { r.imported(ctx, imp, stack) }
		hosts[imp.Module].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(stub),
			apiTypes(imp.Type.Params), apiTypes(imp.Type.Results)).Export(imp.Name)
	}
	name, globals := importedGlobals(facts)
	if _, err := r.InstantiateWithConfig(r.ctx, globals,
		wazero.NewModuleConfig().WithName(name)); err != nil {
		t.Fatal(err)
	}
	for name, host := range hosts {
		if _, err := host.Instantiate(r.ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return r
}

// importedGlobals gives a module that exports all globals that another imports, and its name: the
// modules of wasm-opt import globals from one module only.
func importedGlobals(facts *Facts) (name string, wasm []byte) {
	name = "no globals"
	var globals, exports [][]byte
	for _, imp := range facts.Imports {
		if imp.Kind != Global {
			continue
		}
		g := facts.Globals[len(globals)]
		var mutable byte
		if g.Mutable {
			mutable = 1
		}
		name = imp.Module
		exports = append(exports,
			cat(str(imp.Name), []byte{byte(Global)}, uleb(uint64(len(globals)))))
		globals = append(globals, cat([]byte{byte(g.Type), mutable}, constantOf(g.Type), []byte{opEnd}))
	}
	return name, module(section(secGlobal, vec(globals...)), section(secExport, vec(exports...)))
}

// constantOf is an instruction that gives some value of a type, null for a reference.
func constantOf(t ValType) []byte {
	switch t {
	case I32:
		return []byte{opI32Const, 42}
	case I64:
		return []byte{opI64Const, 43}
	case F32:
		return cat([]byte{opF32Const}, make([]byte, 4))
	case F64:
		return cat([]byte{opF64Const}, make([]byte, 8))
	case V128:
		return cat([]byte{opVector, vectorConst}, make([]byte, 16))
	}
	return []byte{opRefNull, byte(t)}
}

func apiTypes(types []ValType) []api.ValueType {
	out := make([]api.ValueType, len(types))
	for i, t := range types {
		out[i] = api.ValueType(t)
	}
	return out
}

// imported is every imported function: it notes its arguments and gives zeros. Those named
// call-export call the export of the number that is their first argument, and may catch its trap.
func (r *randomRun) imported(ctx context.Context, imp Import, stack []uint64) {
	r.logged = append(r.logged, imp.Name+describe(imp.Type.Params, stack))
	if strings.HasPrefix(imp.Name, "call-export") && !r.inside && r.mod != nil {
		catches := len(stack) == 1 || stack[1]&1 == 1 // call-export-catch, or the bit of the flags
		e := r.facts.Exports[int(uint32(stack[0]))%len(r.facts.Exports)]
		if e.Kind == Func {
			r.inside = true
			text, err := r.callFunction(ctx, e, 0)
			r.inside = false
			r.logged = append(r.logged, text)
			if err != nil && (!catches || r.exhausted || r.ticks >= randomTicks) {
				panic(err)
			}
		}
	}
	clear(stack)
}

func (r *randomRun) begin() { r.ticks, r.logged, r.exhausted = 0, nil, false }

func (r *randomRun) instantiate(wasm []byte) string {
	r.begin()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	var mod api.Module
	var err error
	switch {
	case r.metered:
		mod, err = r.load(wasm, nil, config)
	case r.unmetered:
		mod, err = r.load(wasm, &Options{Unmetered: true}, config)
	default:
		mod, err = r.InstantiateWithConfig(limitMemory(r.ctx, Plan{}), wasm, config)
	}
	if err == nil {
		r.mod = mod
	}
	return r.ended("", err)
}

func (r *randomRun) call(e Export, round int) string {
	r.begin()
	text, _ := r.callFunction(r.ctx, e, round)
	return text
}

func (r *randomRun) callFunction(ctx context.Context, e Export, round int) (string, error) {
	var args []uint64
	for _, t := range e.Type.Params {
		args = append(args, randomArguments[round][t]...)
		if t != V128 && len(randomArguments[round][t]) == 0 {
			args = append(args, 0) // null
		}
	}
	results, err := r.mod.ExportedFunction(e.Name).Call(ctx, args...)
	return r.ended(describe(e.Type.Results, results), err), err
}

const trapped = "trap: "

// ended describes how a step ended.
func (r *randomRun) ended(results string, err error) string {
	if err == nil {
		return results
	}
	trap := outcome(nil, nil, err)
	r.exhausted = r.exhausted || strings.Contains(trap, "stack overflow")
	return trapped + trap
}

// randomArguments are what functions are called with, round by round; references are null.
var randomArguments = []map[ValType][]uint64{
	{I32: {0}, I64: {0}, F32: {0}, F64: {0}, V128: {0, 0}},
	{I32: {7}, I64: {1 << 33}, F32: {uint64(math.Float32bits(-1.5))},
		F64: {math.Float64bits(1e300)}, V128: {1<<40 | 3, 1<<63 | 5}},
	{I32: {1<<32 - 1}, I64: {1<<64 - 1}, F32: {uint64(math.Float32bits(float32(math.Inf(1))))},
		F64: {math.Float64bits(math.NaN())}, V128: {1<<64 - 1, 1<<64 - 1}},
}

// describe gives values as text: NaNs without their payloads, which engines may choose, and
// references as whether they are null.
func describe(types []ValType, bits []uint64) string {
	var b strings.Builder
	for _, t := range types {
		if len(bits) == 0 {
			break // a call that trapped has no results
		}
		v := bits[0]
		switch {
		case t == V128:
			fmt.Fprintf(&b, " %x:%x", v, bits[1])
			bits = bits[1:]
		case t == F32 && math.IsNaN(float64(math.Float32frombits(uint32(v)))),
			t == F64 && math.IsNaN(math.Float64frombits(v)):
			b.WriteString(" nan")
		case t == I32, t == F32:
			fmt.Fprintf(&b, " %x", uint32(v))
		case t.numeric():
			fmt.Fprintf(&b, " %x", v)
		default:
			fmt.Fprintf(&b, " null=%t", v == 0)
		}
		bits = bits[1:]
	}
	return b.String()
}

// fuel is what the step used.
func (r *randomRun) fuel() int64 {
	if !r.metered || r.mod == nil {
		return 0
	}
	return r.spent(r.mod)
}

var memorySeed = maphash.MakeSeed()

// state describes what a step left behind.
func (r *randomRun) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, " logged %q", r.logged)
	if r.mod == nil {
		return b.String()
	}
	if mem := r.mod.Memory(); r.facts.Memory != nil {
		bytes, _ := mem.Read(0, mem.Size())
		fmt.Fprintf(&b, ", memory %d:%x", len(bytes), maphash.Bytes(memorySeed, bytes))
	}
	for _, e := range r.facts.Exports {
		if e.Kind == Global {
			t := []ValType{r.facts.Globals[e.Index].Type}
			v := r.mod.ExportedGlobal(e.Name).Get()
			fmt.Fprintf(&b, ", %s%s", e.Name, describe(t, []uint64{v, 0}))
		}
	}
	return b.String()
}
