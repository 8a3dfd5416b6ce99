package rewrite

import "slices"

// Helpers that build modules byte by byte, well formed or not.

func uleb(v uint64) (b []byte) {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

// str is a name with its length before it.
func str(s string) []byte { return append(uleb(uint64(len(s))), s...) }

// vec is a list with its count before it.
func vec(items ...[]byte) []byte { return append(uleb(uint64(len(items))), cat(items...)...) }

// sized is contents with their length before them.
func sized(parts ...[]byte) []byte {
	b := cat(parts...)
	return append(uleb(uint64(len(b))), b...)
}

func section(id byte, parts ...[]byte) []byte { return append([]byte{id}, sized(parts...)...) }

func custom(name string, data []byte) []byte { return section(secCustom, str(name), data) }

func module(sections ...[]byte) []byte {
	return append([]byte(magic+version), cat(sections...)...)
}

// fn is a function body without locals; the last end is added.
func fn(code ...byte) []byte { return sized([]byte{0}, code, []byte{opEnd}) }

// fnLocals is a function body with n locals of type i32.
func fnLocals(n uint64, code ...byte) []byte {
	return sized([]byte{1}, uleb(n), []byte{byte(I32)}, code, []byte{opEnd})
}

func signature(params, results []ValType) []byte {
	list := func(ts []ValType) []byte {
		b := uleb(uint64(len(ts)))
		for _, t := range ts {
			b = append(b, byte(t))
		}
		return b
	}
	return cat([]byte{functionForm}, list(params), list(results))
}

var (
	noValues  = signature(nil, nil)
	i32ToI32  = signature([]ValType{I32}, []ValType{I32})
	zeroIndex = []byte{0}
)

// one is a module with one function () -> () of the given body, and a memory, a table of two
// elements, an immutable and a mutable global, a passive data segment and a passive element
// segment to name.
func one(code ...byte) []byte { return oneBody(fn(code...)) }

func oneBody(body []byte) []byte {
	return module(
		section(secType, vec(noValues)),
		section(secFunction, vec(zeroIndex)),
		section(secTable, vec([]byte{byte(FuncRef), 0, 2})),
		section(secMemory, vec([]byte{0, 1})),
		section(secGlobal, vec(
			[]byte{byte(I32), 0, opI32Const, 7, opEnd},
			[]byte{byte(I64), 1, opI64Const, 9, opEnd})),
		section(secExport, vec(cat(str("f"), []byte{byte(Func), 0}))),
		section(secElement, vec([]byte{1, 0, 1, 0})),
		section(secDataCount, []byte{1}),
		section(secCode, vec(body)),
		section(secData, vec(cat([]byte{1}, str("data")))),
	)
}
