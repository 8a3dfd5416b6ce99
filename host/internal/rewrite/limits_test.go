package rewrite

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// At each limit a module passes, one past it is refused under the limit's name.
func TestEdges(t *testing.T) {
	nest := func(op byte) func(n int) []byte {
		return func(n int) []byte {
			return one(append(bytes.Repeat([]byte{op, 0x40}, n), bytes.Repeat([]byte{opEnd}, n)...)...)
		}
	}
	types := section(secType, vec(noValues))
	repeat := func(n int, b ...byte) []byte { return append(uleb(uint64(n)), bytes.Repeat(b, n)...) }
	tests := []struct {
		limit string
		most  int
		build func(n int) []byte
	}{
		{"Module", DefaultModule, func(n int) []byte {
			return module(custom("x", make([]byte, n-8-1-4-2))) // 4 bytes of length, 2 of name
		}},
		{"Params", DefaultParams, func(n int) []byte {
			return module(section(secType, vec(cat([]byte{functionForm}, repeat(n, 0x7f), []byte{0}))))
		}},
		{"Params", DefaultParams, func(n int) []byte {
			return module(section(secType, vec(cat([]byte{functionForm, 0}, repeat(n, 0x7f)))))
		}},
		{"Functions", DefaultFunctions, func(n int) []byte {
			return module(types, section(secFunction, repeat(n, 0)),
				section(secCode, repeat(n, 2, 0, opEnd)))
		}},
		{"Locals", DefaultLocals, func(n int) []byte { return oneBody(fnLocals(uint64(n))) }},
		{"ModuleLocals", DefaultModuleLocals, func(n int) []byte {
			full := bytes.Repeat(fnLocals(DefaultLocals), 19)
			return module(types, section(secFunction, repeat(21, 0)),
				section(secCode, []byte{21}, full, fnLocals(uint64(n)-20*DefaultLocals+1),
					fnLocals(DefaultLocals-1)))
		}},
		{"Nesting", DefaultNesting, nest(opBlock)},
		{"LoopNesting", DefaultLoopNesting, nest(opLoop)},
		{"BranchTable", DefaultBranchTable, func(n int) []byte {
			return one(append(append([]byte{opI32Const, 0, 0x0e}, repeat(n, 0)...), 0)...)
		}},
		{"Checks", DefaultChecks, func(n int) []byte {
			fills := bytes.Repeat([]byte{opMisc, miscMemoryFill, 0}, n/2) // types are not checked
			return one(append(bytes.Repeat([]byte{opLoop, 0x40, opEnd}, n-n/2), fills...)...)
		}},
		{"Names", DefaultNames, func(n int) []byte {
			return module(custom("name", cat([]byte{namesFunctions}, sized(repeat(n, 0, 0)))))
		}},
		{"Items", DefaultItems, func(n int) []byte {
			return module(section(secType, repeat(n, functionForm, 0, 0)))
		}},
		{"DataSegments", DefaultDataSegments, func(n int) []byte {
			return module(section(secMemory, vec([]byte{0, 1})), section(secData, repeat(n, 1, 0)))
		}},
		{"Items", DefaultItems, func(n int) []byte { // one segment of elements
			return module(types, section(secImport, vec(cat(str("m"), str("n"), []byte{0, 0}))),
				section(secElement, cat([]byte{1, 1, 0}, repeat(n-3, 0))))
		}},
		{"Items", DefaultItems, func(n int) []byte {
			return module(bytes.Repeat(custom("", nil), n))
		}},
		{"Tables", DefaultTables, func(n int) []byte {
			return module(section(secTable, repeat(n, byte(FuncRef), 0, 0)))
		}},
		{"TableElements", DefaultTableElements, func(n int) []byte {
			return module(section(secTable, vec([]byte{byte(FuncRef), 0, 5},
				cat([]byte{byte(ExternRef), 0}, uleb(uint64(n-5))))))
		}},
	}
	for _, test := range tests {
		if _, err := Check(test.build(test.most), nil); err != nil {
			t.Errorf("%s at its limit: %v", test.limit, err)
		}
		_, err := Check(test.build(test.most+1), nil)
		if e := (*Error)(nil); !errors.As(err, &e) || e.Limit != test.limit {
			t.Errorf("%s past its limit: %v", test.limit, err)
		}
	}
}

// Over the limits of compiling in this process a module passes, and the facts say so.
func TestOversize(t *testing.T) {
	tests := []struct {
		limit string
		most  int
		build func(n int) []byte
	}{
		{"Body", DefaultBody, func(n int) []byte { return one(bytes.Repeat([]byte{opNop}, n-2)...) }},
		{"Product", DefaultProduct, func(n int) []byte { // 2,000 loops, each 2 of 4,000 blocks
			const loops, blocks = 2_000, 4_000
			extra := n - DefaultProduct
			code := bytes.Repeat([]byte{opLoop, 0x40, opEnd}, loops)
			return oneBody(fnLocals(uint64(n/loops/blocks+extra), code...))
		}},
		{"BackEdges", DefaultBackEdges, func(n int) []byte { // 1,000 locals
			const locals = 1_000
			branches := n/locals + n - DefaultBackEdges
			code := append([]byte{opLoop, 0x40}, bytes.Repeat([]byte{0x0c, 0}, branches-2)...)
			code = append(code, opI32Const, 0, opBrTable, 2, 0, 1, 0, opEnd)
			return oneBody(fnLocals(locals, code...))
		}},
		{"Work", DefaultWork, func(n int) []byte { // squares that add up to it
			var bodies [][]byte
			for n > 0 {
				side := int(math.Sqrt(float64(n)))
				bodies = append(bodies, fnLocals(0, bytes.Repeat([]byte{opBlock, 0x40, opEnd}, side)...))
				n -= side * side
			}
			return module(section(secType, vec(noValues)),
				section(secFunction, append(uleb(uint64(len(bodies))), make([]byte, len(bodies))...)),
				section(secCode, vec(bodies...)))
		}},
		{"Work", DefaultWork, func(n int) []byte { // 23 loops over 10,000 locals, 5,000 branches in all
			const loops, br = 23, 0x0c
			code := bytes.Repeat([]byte{opLoop, 0x40, opEnd}, loops)
			branches := 5_000 - 3*loops + n - DefaultWork
			return oneBody(fnLocals(10_000, append(code, bytes.Repeat([]byte{br, 0}, branches)...)...))
		}},
	}
	for _, test := range tests {
		for extra := range 2 {
			f, err := Check(test.build(test.most+extra), nil)
			if err != nil {
				t.Errorf("%s: %v", test.limit, err)
				continue
			}
			if len(f.Oversize) != extra || extra == 1 && f.Oversize[0].Limit != test.limit {
				t.Errorf("%s + %d: %v", test.limit, extra, f.Oversize)
			}
		}
	}
}
