package asm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// order is the order of the sections in a module: the count of data segments comes before the code.
var order = []byte{
	SectionType, SectionImport, SectionFunction, SectionTable, SectionMemory, SectionGlobal,
	SectionExport, SectionStart, SectionElement, SectionDataCount, SectionCode, SectionData,
}

// Bytes assembles the module.
func (m *Module) Bytes() []byte {
	out := []byte("\x00asm" + m.version)
	for _, id := range order {
		if payload, ok := m.payload(id); ok {
			out = append(out, id)
			out = append(out, sized(payload)...)
		}
	}
	if names := m.names.payload(); names != "" {
		out = append(out, SectionCustom)
		out = append(out, sized(sized("name")+names)...)
	}
	for _, c := range m.customs {
		out = append(out, SectionCustom)
		out = append(out, sized(c)...)
	}
	return append(out, m.tail...)
}

// payload is the content of a section, and whether the module has it.
func (m *Module) payload(id byte) (string, bool) {
	if raw, ok := m.raw[id]; ok {
		return raw, true
	}
	if id == SectionStart {
		return m.start, m.start != ""
	}
	entries := m.entries[id]
	n := uint64(len(entries))
	if id == SectionDataCount {
		if !m.passive && m.counts[id] == 0 {
			return "", false
		}
		n = uint64(len(m.entries[SectionData]))
	}
	claimed, lies := m.counts[id]
	if lies {
		n = claimed
	}
	if n == 0 && !lies {
		return "", false
	}
	return string(leb(nil, n)) + strings.Join(entries, ""), true
}

func (n names) payload() string {
	var b strings.Builder
	if n.module != "" {
		b.WriteString("\x00" + sized(sized(n.module)))
	}
	if len(n.funcs) > 0 {
		list := leb(nil, uint64(len(n.funcs)))
		for _, f := range slices.Sorted(maps.Keys(n.funcs)) {
			list = append(leb(list, uint64(f)), sized(n.funcs[f])...)
		}
		b.WriteString("\x01" + sized(string(list)))
	}
	return b.String()
}

// Uint is an unsigned number as the binary format codes it.
func Uint(v uint64) string { return string(leb(nil, v)) }

// Sized is bytes behind their length, as names, code bodies and sections are coded.
func Sized(s string) string { return sized(s) }

func sized(s string) string { return string(leb(nil, uint64(len(s)))) + s }

func leb(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b, v = append(b, byte(v)|0x80), v>>7
	}
	return append(b, byte(v))
}

func sleb(op string, v int64) []byte {
	b := []byte(op)
	for {
		low := byte(v) & 0x7f
		v >>= 7
		if (v == 0 && low&0x40 == 0) || (v == -1 && low&0x40 != 0) {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

func valType(word string) string {
	switch word {
	case "i32":
		return "\x7f"
	case "i64":
		return "\x7e"
	case "f32":
		return "\x7d"
	case "f64":
		return "\x7c"
	case "v128":
		return "\x7b"
	case "funcref":
		return "\x70"
	case "externref":
		return "\x6f"
	}
	panic(fmt.Sprintf("asm: %q is no value type", word))
}

// funcType codes a signature such as "i32 i64 -> i32".
func funcType(sig string) string {
	params, results, _ := strings.Cut(sig, "->")
	return "\x60" + typeVector(params) + typeVector(results)
}

func typeVector(words string) string {
	list := strings.Fields(words)
	out := string(leb(nil, uint64(len(list))))
	for _, w := range list {
		out += valType(w)
	}
	return out
}

func localVector(words string) string {
	list := strings.Fields(words)
	out := string(leb(nil, uint64(len(list))))
	for _, w := range list {
		out += "\x01" + valType(w)
	}
	return out
}

func funcVector(funcs []FuncIndex) string {
	out := leb(nil, uint64(len(funcs)))
	for _, f := range funcs {
		out = leb(out, uint64(f))
	}
	return string(out)
}

func limits(min uint64, max []uint64) string {
	if len(max) == 0 {
		return flagged(0, []uint64{min})
	}
	return flagged(1, []uint64{min, max[0]})
}

func flagged(flags byte, bounds []uint64) string {
	out := []byte{flags}
	for _, n := range bounds {
		out = leb(out, n)
	}
	return string(out)
}

func flag(mutable bool) string {
	if mutable {
		return "\x01"
	}
	return "\x00"
}
