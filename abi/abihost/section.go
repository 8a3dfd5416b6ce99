package abihost

import (
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
)

// ModuleError is bytes that are not a WebAssembly module, as far as its sections show.
type ModuleError struct {
	Offset int
	Detail string
}

func (e *ModuleError) Error() string {
	return fmt.Sprintf("byte %d of the module: %s", e.Offset, e.Detail)
}

const (
	preamble       = "\x00asm\x01\x00\x00\x00"
	componentStart = "\x00asm\x0d\x00\x01\x00"
)

// Section finds the manifest in wasm's custom section abi.ManifestSection, and says with ok whether
// there is one. The manifest aliases wasm. Nothing but the frame of the sections is checked; a
// *ModuleError says where that is broken, or that there are two such sections.
func Section(wasm []byte) (manifest []byte, ok bool, err error) {
	w := walker{wasm: wasm}
	for w.next() {
		if !w.isManifest() {
			continue
		}
		if ok {
			w.fail(w.start, "there are two sections %s", abi.ManifestSection)
			break
		}
		manifest, ok = wasm[w.body:w.end:w.end], true
	}
	if w.err != nil {
		return nil, false, w.err
	}
	return manifest, ok, nil
}

// Stamp returns a copy of wasm with the manifest, at most abi.MaxManifestBytes, in a custom section
// at its end. Sections from earlier stamping are left out.
func Stamp(wasm, manifest []byte) ([]byte, error) {
	if len(manifest) > abi.MaxManifestBytes {
		return nil, &FieldError{"", fmt.Sprintf("the manifest has %d bytes, more than %d",
			len(manifest), abi.MaxManifestBytes)}
	}
	bare, err := Bare(wasm)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(bare)+len(manifest)+len(abi.ManifestSection)+12)
	out = append(out, bare...)
	var name []byte
	name = appendLEB(name, uint32(len(abi.ManifestSection)))
	name = append(name, abi.ManifestSection...)
	out = append(out, 0)
	out = appendLEB(out, uint32(len(name)+len(manifest)))
	out = append(out, name...)
	return append(out, manifest...), nil
}

// Bare gives wasm without its manifest: what runs is the same, stamped or not. It is wasm itself
// when that has none, and else a copy.
func Bare(wasm []byte) ([]byte, error) {
	out := wasm
	w := walker{wasm: wasm}
	for w.next() {
		switch stamped := len(out) < len(wasm); {
		case w.isManifest() && !stamped:
			out = append(make([]byte, 0, len(wasm)), wasm[:w.start]...)
		case !w.isManifest() && stamped:
			out = append(out, wasm[w.start:w.end]...)
		}
	}
	return out, w.err
}

// A walker goes from section to section.
type walker struct {
	wasm  []byte
	err   error
	start int    // the section's id
	id    byte   //
	name  string // of a custom section
	body  int    // what follows the name, or the size
	end   int    // what follows the section
}

func (w *walker) fail(at int, format string, args ...any) bool {
	if w.err == nil {
		w.err = &ModuleError{at, fmt.Sprintf(format, args...)}
	}
	return false
}

// next goes to the next section, if there is one and its frame is sound.
func (w *walker) next() bool {
	if w.end == 0 && !w.preamble() {
		return false
	}
	if w.err != nil || w.end == len(w.wasm) {
		return false
	}
	w.start, w.id, w.name = w.end, w.wasm[w.end], ""
	size, body, ok := w.leb(w.start+1, len(w.wasm))
	if !ok {
		return w.fail(w.start+1, "the size of a section is cut off or not 32 bits")
	}
	if uint64(size) > uint64(len(w.wasm)-body) {
		return w.fail(w.start, "a section of %d bytes ends past the module", size)
	}
	w.body, w.end = body, body+int(size)
	if w.id != 0 {
		return true
	}
	n, name, ok := w.leb(w.body, w.end)
	if !ok || uint64(n) > uint64(w.end-name) {
		return w.fail(w.body, "the name of a custom section ends past it")
	}
	w.body = name + int(n)
	w.name = string(w.wasm[name:w.body])
	return true
}

func (w *walker) preamble() bool {
	switch {
	case hasPrefix(w.wasm, preamble):
		w.end = len(preamble)
		return true
	case hasPrefix(w.wasm, componentStart):
		return w.fail(4, "this is a component, not a core module")
	case hasPrefix(w.wasm, preamble[:4]):
		return w.fail(4, "the version is not 1")
	}
	return w.fail(0, "this is not WebAssembly: it does not begin with \\0asm")
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

func (w *walker) isManifest() bool { return w.id == 0 && w.name == abi.ManifestSection }

// leb reads an unsigned 32-bit LEB128 number that begins at pos and must end by end.
func (w *walker) leb(pos, end int) (v uint32, next int, ok bool) {
	for shift := 0; shift < 35; shift += 7 {
		if pos >= end {
			return 0, 0, false
		}
		c := w.wasm[pos]
		pos++
		if shift == 28 && c > 0x0f {
			return 0, 0, false
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v, pos, true
		}
	}
	return 0, 0, false
}

func appendLEB(b []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}
