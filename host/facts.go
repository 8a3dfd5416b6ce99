package host

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Facts is what a module says of itself before a byte of it runs.
type Facts struct {
	Imports  []Import
	Exports  []Export
	Memories []Memory // those it defines
	Start    bool     // it has a start section
}

// Import is something a module wants from its host.
type Import struct{ Module, Name, Kind, Type string }

// Export is something a module offers. Kind is func, table, memory, global or tag; Type is a
// function's signature, such as "(i32 i32) -> (i32)".
type Export struct{ Name, Kind, Type string }

// Memory is a linear memory in pages of 64 KiB. Max is 0 when the module declares none.
type Memory struct {
	Min, Max    uint64
	Shared      bool
	Is64        bool
	CustomPages bool // a page size of its own
}

const (
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionExport   = 7
	sectionStart    = 8
	sectionTag      = 13
)

// Limits of what is kept of a module, so that reading it cannot cost much more than its bytes.
const (
	maxTypes     = 10_000  // types a module
	maxParams    = 1_000   // parameters of a type, and results
	maxImports   = 10_000  // imports a module
	maxExports   = 10_000  // exports a module
	maxMemories  = 100     // memories a module
	maxFunctions = 100_000 // functions a module, imported ones not counted
)

var (
	wasmMagic        = []byte("\x00asm")
	wasmVersion      = []byte("\x01\x00\x00\x00")
	componentVersion = []byte("\x0d\x00\x01\x00")
)

var kinds = [...]string{"func", "table", "memory", "global", "tag"}

// Inspect reads a module's imports, exports and memories. It compiles and runs nothing, and an
// error means only that the bytes are no module: whether they can be a plugin is Compile's to say.
func Inspect(wasm []byte) (*Facts, error) {
	f, err := readFacts(wasm)
	if err != nil {
		return nil, &LoadError{Stage: "read", Err: err}
	}
	return &f.Facts, nil
}

// factReader gathers facts section by section. Functions counts imported ones first.
type factReader struct {
	Facts
	types     []string
	functions []string // each one's signature
	refused   []string // features named where they are met
}

func readFacts(wasm []byte) (*factReader, error) {
	switch {
	case !bytes.HasPrefix(wasm, wasmMagic):
		return nil, errors.New("not a WebAssembly module: the file does not begin with \\0asm")
	case len(wasm) < 8:
		return nil, errors.New("at byte 4: " + errCut.Error())
	case bytes.Equal(wasm[4:8], componentVersion):
		return nil, errors.New("a WebAssembly component, which cannot be a plugin: " +
			"build a core module (target wasm32-wasip1, not wasip2)")
	case !bytes.Equal(wasm[4:8], wasmVersion):
		return nil, fmt.Errorf("WebAssembly version % x is not known, only version 1", wasm[4:8])
	}
	f := &factReader{}
	r := &reader{b: wasm, pos: 8}
	for !r.done() {
		id := r.byte()
		s := r.sized()
		if r.err != nil {
			return nil, r.err
		}
		if f.section(id, s); s.err != nil {
			return nil, fmt.Errorf("section %d, %w", id, s.err)
		}
	}
	return f, nil
}

func (f *factReader) section(id byte, r *reader) {
	each := func(max int, read func(*reader)) {
		for range r.atMost(max) {
			if read(r); r.err != nil {
				return
			}
		}
	}
	switch id {
	case sectionType:
		each(maxTypes, f.typ)
	case sectionImport:
		each(maxImports, f.imported)
	case sectionFunction:
		each(maxFunctions, func(r *reader) { f.functions = append(f.functions, f.signature(r)) })
	case sectionMemory:
		each(maxMemories, func(r *reader) { f.Memories = append(f.Memories, readMemory(r)) })
	case sectionExport:
		each(maxExports, f.exported)
	case sectionStart:
		f.Start = true
	case sectionTag:
		f.refuse("exceptions are not supported")
	}
}

func (f *factReader) refuse(problem string) { f.refused = append(f.refused, problem) }

func (f *factReader) typ(r *reader) {
	if form := r.byte(); form != 0x60 && r.err == nil {
		r.fail(fmt.Errorf(
			"type form %#x: garbage-collected and recursive types are not supported", form))
		return
	}
	params := readTypes(r)
	f.types = append(f.types, "("+params+") -> ("+readTypes(r)+")")
}

// signature reads a type index and gives the type's text.
func (f *factReader) signature(r *reader) string {
	i := r.index()
	if r.err == nil && uint64(i) >= uint64(len(f.types)) {
		r.fail(fmt.Errorf("type %d of %d", i, len(f.types)))
	}
	if r.err != nil {
		return ""
	}
	return f.types[i]
}

func (f *factReader) imported(r *reader) {
	im := Import{Module: r.name(), Name: r.name()}
	kind := r.byte()
	if int(kind) >= len(kinds) {
		r.fail(fmt.Errorf("import kind %d", kind))
		return
	}
	im.Kind = kinds[kind]
	switch im.Kind {
	case "func":
		im.Type = f.signature(r)
		f.functions = append(f.functions, im.Type)
	case "table":
		readType(r)
		readMemory(r)
	case "memory":
		readMemory(r)
	case "global":
		readType(r)
		r.byte()
	case "tag":
		r.byte()
		f.signature(r)
	}
	f.Imports = append(f.Imports, im)
}

func (f *factReader) exported(r *reader) {
	e := Export{Name: r.name()}
	kind, i := r.byte(), r.index()
	if int(kind) >= len(kinds) {
		r.fail(fmt.Errorf("export kind %d", kind))
		return
	}
	e.Kind = kinds[kind]
	if e.Kind == "func" {
		if uint64(i) >= uint64(len(f.functions)) {
			r.fail(fmt.Errorf("export %q of function %d of %d", e.Name, i, len(f.functions)))
			return
		}
		e.Type = f.functions[i]
	}
	f.Exports = append(f.Exports, e)
}

// readMemory reads the bounds of a memory or table.
func readMemory(r *reader) Memory {
	flags := r.byte()
	if flags > 0x0f {
		r.fail(fmt.Errorf("limits flag %#x", flags))
	}
	m := Memory{Shared: flags&2 != 0, Is64: flags&4 != 0, CustomPages: flags&8 != 0, Min: r.uint()}
	if flags&1 != 0 {
		m.Max = r.uint()
	}
	if m.CustomPages {
		r.uint()
	}
	return m
}

func readTypes(r *reader) string {
	var words []string
	for range r.atMost(maxParams) {
		words = append(words, readType(r))
		if r.err != nil {
			return ""
		}
	}
	return strings.Join(words, " ")
}

func readType(r *reader) string {
	switch c := r.byte(); c {
	case 0x7f:
		return "i32"
	case 0x7e:
		return "i64"
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	default:
		r.fail(fmt.Errorf("value type %#x: typed references are not supported", c))
		return ""
	}
}
