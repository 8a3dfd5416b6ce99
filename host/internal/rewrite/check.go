package rewrite

import (
	"math/bits"
	"strings"
)

// Reserved begins every name that Rewrite adds to a module. No module may import from a module with
// such a name or export one.
const Reserved = "wasmagent_internal"

const (
	magic     = "\x00asm"
	version   = "\x01\x00\x00\x00"
	component = "\x0d\x00\x01\x00"
)

// Check reads a module's structure: every count against the bytes that are left and the limits,
// every index against what the module declares, every body instruction by instruction. A nil
// limits is all defaults. It takes time linear in the module and allocates no more than a few
// times its size. It does not check operand types: the engine does, on what Rewrite gives. An
// error is an *Error.
//
// Facts keep no reference to wasm but for Custom.
func Check(wasm []byte, limits *Limits) (*Facts, error) {
	return newChecker(wasm, limits).check()
}

func newChecker(wasm []byte, limits *Limits) *checker {
	c := &checker{lim: limits.withDefaults(), f: &Facts{Size: len(wasm), Start: -1}, dataCount: -1}
	c.reader = reader{b: wasm, end: len(wasm), function: -1}
	return c
}

func (c *checker) check() (*Facts, error) {
	c.header()
	for last := 0; c.err == nil && c.left() > 0; {
		last = c.nextSection(last)
	}
	c.section = "module"
	c.finish()
	if c.err != nil {
		return nil, c.err
	}
	c.f.Features, c.f.space, c.f.tableMost = c.features, c.space, c.lim.TableElements
	return c.f, nil
}

// checker is one run of Check.
type checker struct {
	reader
	lim       Limits
	f         *Facts
	space     space
	dataCount int64           // segments that the data count section declares, -1 without one
	seen      map[string]bool // export names
	items     int             // counted against Limits.Items
	named     int             // and Limits.Names
	open      []byte          // scratch of walk
	trusted   bool            // reserved names may be used: in tests, to read what Rewrite gives
}

func (c *checker) header() {
	c.section = sectionHeader
	b := c.b[:min(len(c.b), 8)]
	switch {
	case len(c.b) > c.lim.Module:
		c.fail(0, "Module", overLimit("bytes", uint64(len(c.b)), c.lim.Module))
	case len(b) < 8 || string(b[:4]) != magic:
		c.failf(0, "not a WebAssembly module: it does not begin with \\0asm")
	case string(b[4:]) == component:
		c.failf(4, "a WebAssembly component, where a core module is needed "+
			"(target wasm32-wasip1, not wasip2)")
	case string(b[4:]) != version:
		c.failf(4, "version % x, where 01 00 00 00 is needed", b[4:])
	}
	if c.err == nil {
		c.pos = 8
	}
}

// nextSection checks one section. last is the place of the one before, and so is the result.
func (c *checker) nextSection(last int) int {
	at := c.pos
	id := c.byte()
	if id >= numSections {
		c.section = "unknown"
		c.failf(at, "section %d", id)
		return last
	}
	c.section = sectionNames[id]
	size := c.u32()
	if uint64(size) > uint64(c.left()) {
		c.failf(at, "%d bytes are declared, %d are left", size, c.left())
	}
	if c.err != nil {
		return last
	}
	if id != secCustom {
		if sectionOrder[id] <= last {
			c.failf(at, "twice or in the wrong place")
			return last
		}
		last = sectionOrder[id]
		c.f.sections[id] = span{c.pos, c.pos + int(size)}
	}
	module := c.end
	c.end = c.pos + int(size)
	c.contents(id)
	if c.err == nil && c.pos != c.end {
		c.failf(c.pos, "%d bytes too many", c.end-c.pos)
	}
	c.end = module
	return last
}

func (c *checker) contents(id byte) {
	switch id {
	case secCustom:
		c.customSection()
	case secType:
		c.typeSection()
	case secImport:
		c.importSection()
	case secFunction:
		c.functionSection()
	case secTable:
		c.tableSection()
	case secMemory:
		c.memorySection()
	case secTag:
		c.tagSection()
	case secGlobal:
		c.globalSection()
	case secExport:
		c.exportSection()
	case secStart:
		c.startSection()
	case secElement:
		c.elementSection()
	case secDataCount:
		c.space.data = c.u32()
		c.dataCount = int64(c.space.data)
	case secCode:
		c.codeSection()
	case secData:
		c.dataSection()
	}
}

// finish checks what sections promise about each other.
func (c *checker) finish() {
	if c.err != nil {
		return
	}
	if want := c.f.Functions - int(c.f.importN[Func]); len(c.f.bodies) != want {
		c.failf(c.pos, "%d bodies for %d functions", len(c.f.bodies), want)
	}
	if c.dataCount >= 0 && c.dataCount != int64(len(c.f.data)) {
		c.failf(c.pos, "%d data segments, where %d are declared", len(c.f.data), c.dataCount)
	}
	var elements uint64
	for _, t := range c.f.Tables {
		sum, carry := bits.Add64(elements, t.Min, 0)
		elements = sum | -carry
	}
	m := &c.f.Maxima
	m.TableElements, m.Names, m.DataSegments, m.Items = elements, c.named, len(c.f.data), c.items
	if elements > uint64(c.lim.TableElements) {
		c.section = sectionNames[secTable]
		c.fail(c.f.sections[secTable].from, "TableElements",
			overLimit("elements in all tables", elements, c.lim.TableElements))
	}
}

func (c *checker) customSection() {
	name := c.name()
	if c.err != nil {
		return
	}
	s := span{c.pos, c.end}
	if name == nameSection {
		if !c.f.names.empty() {
			c.failf(c.pos, "a second name section")
			return
		}
		c.f.names = s
		c.nameSection()
		return
	}
	if c.items++; c.tooMany("Items", "items declared outside of code", uint64(c.items), c.lim.Items) {
		return
	}
	c.f.Custom = append(c.f.Custom, Custom{Name: name, Data: c.b[s.from:s.to]})
	c.pos = c.end
}

// reserved refuses a name that only Rewrite may use.
func (c *checker) reserved(at int, what, name string) {
	if !c.trusted && strings.HasPrefix(name, Reserved) {
		c.failf(at, "%s %q: names beginning with %s belong to the host", what, short(name), Reserved)
	}
}

// short cuts a name for an error.
func short(name string) string {
	const most = 64
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// list reads the length of a list of items, see Limits.Items.
func (c *checker) list(what string, size int) int {
	n := c.count(what, size)
	c.items += n
	if c.tooMany("Items", "items declared outside of code", uint64(c.items), c.lim.Items) {
		return 0
	}
	return n
}

func (c *checker) tooMany(limit, what string, n uint64, most int) bool {
	if n <= uint64(most) {
		return false
	}
	c.fail(c.pos, limit, overLimit(what, n, most))
	return true
}
