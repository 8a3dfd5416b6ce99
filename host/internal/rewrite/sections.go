package rewrite

func (c *checker) typeSection() {
	for range c.list("types", 2) {
		if c.pos < c.end && c.b[c.pos] == groupOfTypes {
			c.pos++
			n := c.list("types", 3)
			c.types += uint32(n) // members may refer to each other
			for range n {
				c.functionType()
			}
			c.features |= TypedReferences
		} else {
			c.functionType()
			c.types++
		}
		if c.err != nil {
			return
		}
	}
}

const (
	functionForm = 0x60
	groupOfTypes = 0x4e
)

func (c *checker) functionType() {
	at := c.pos
	if form := c.byte(); form != functionForm {
		c.failf(at, "unknown kind of type 0x%02x", form)
	}
	t := FuncType{Params: c.valTypes("parameters"), Results: c.valTypes("results")}
	if c.err == nil {
		c.f.types = append(c.f.types, t)
	}
}

func (c *checker) valTypes(what string) []ValType {
	n := c.list(what, 1)
	if n == 0 || c.tooMany("Params", what, uint64(n), c.lim.Params) {
		return nil
	}
	c.f.Maxima.Params = max(c.f.Maxima.Params, n)
	ts := make([]ValType, n)
	for i := range ts {
		ts[i] = c.valType()
	}
	return ts
}

func (c *checker) importSection() {
	for range c.list("imports", 4) {
		at := c.pos
		imp := Import{Module: c.name(), Name: c.name()}
		c.reserved(at, "import from module", imp.Module)
		kind := c.pos
		imp.Kind = Kind(c.byte())
		switch imp.Kind {
		case Func:
			t := c.index("type", c.types)
			if c.err == nil {
				imp.Type = c.f.types[t]
				c.addFunction(t)
			}
		case Table:
			c.tableType(true)
		case Memory:
			c.memoryType(true)
		case Global:
			c.globalType(true)
		case Tag:
			c.tag()
		default:
			c.failf(kind, "unknown kind of import 0x%02x", byte(imp.Kind))
		}
		if c.err != nil {
			return
		}
		c.f.importN[imp.Kind]++
		c.f.Imports = append(c.f.Imports, imp)
	}
}

func (c *checker) addFunction(typ uint32) {
	if c.tooMany("Functions", "functions", uint64(c.f.Functions)+1, c.lim.Functions) {
		return
	}
	c.f.Functions++
	c.space.functions++
	c.f.funcTypes = append(c.f.funcTypes, typ)
}

func (c *checker) functionSection() {
	for range c.count("functions", 1) {
		t := c.index("type", c.types)
		if c.err != nil {
			return
		}
		c.addFunction(t)
	}
}

// limits reads a size: bit 0 bounds it, bit 1 shares it, bit 2 makes it 64 bits wide.
func (c *checker) limits(imported bool) Range {
	at := c.pos
	flags := c.byte()
	if flags > 7 {
		c.failf(at, "unknown flags 0x%02x of a size", flags)
	}
	r := Range{Bounded: flags&1 != 0, Shared: flags&2 != 0, Wide: flags&4 != 0, Imported: imported}
	bits := uint(32)
	if r.Wide {
		bits = 64
		c.features |= Memory64
	}
	r.Min = c.uleb(bits)
	if r.Bounded {
		r.Max = c.uleb(bits)
		if c.err == nil && r.Max < r.Min {
			c.failf(at, "at least %d and at most %d", r.Min, r.Max)
		}
	}
	if r.Shared {
		c.features |= Threads
	}
	return r
}

func (c *checker) tableSection() {
	for range c.count("tables", 3) {
		c.tableType(false)
		if c.err != nil {
			return
		}
	}
}

// tableType reads a table, in a table section with the value of its elements where it has one.
func (c *checker) tableType(imported bool) {
	at, computed := c.pos, false
	if c.pos < c.end && c.b[c.pos] == tableWithValue {
		c.pos++
		c.zero()
		c.features |= TypedReferences
		computed = true
	}
	t := c.pos
	if c.refType(); c.err != nil {
		return
	}
	item := tableItem{at: at, limits: c.pos}
	size := c.limits(imported)
	if size.Shared {
		c.failf(t, "a shared table")
	}
	item.rest = c.pos
	if computed {
		c.constant(c.space.globals)
	}
	item.end = c.pos
	if c.tooMany("Tables", "tables", uint64(c.space.tables)+1, c.lim.Tables) || c.err != nil {
		return
	}
	c.space.tables++
	c.f.Tables = append(c.f.Tables, size)
	if !imported {
		c.f.tables = append(c.f.tables, item)
	}
}

const tableWithValue = 0x40

// tableItem is where a table is declared: its type, its limits, and the value of its elements.
type tableItem struct{ at, limits, rest, end int }

func (c *checker) refType() {
	at := c.pos
	if t := c.valType(); c.err == nil && (t.numeric() || t == V128) {
		c.failf(at, "%s, where a reference type is needed", t)
	}
}

func (c *checker) memorySection() {
	for range c.count("memories", 2) {
		c.memoryType(false)
		if c.err != nil {
			return
		}
	}
}

func (c *checker) memoryType(imported bool) {
	at := c.pos
	size := c.limits(imported)
	switch {
	case c.err != nil:
	case c.space.memories > 0:
		c.failf(at, "more than one memory")
	case !size.Wide && max(size.Min, size.Max) > maxPages:
		c.failf(at, "%d pages of memory, where %d can be addressed", max(size.Min, size.Max), maxPages)
	default:
		c.space.memories = 1
		c.f.Memory = &size
	}
}

// maxPages is what 32 bits can address.
const maxPages = 65_536

func (c *checker) tagSection() {
	for range c.list("tags", 2) {
		c.tag()
		if c.err != nil {
			return
		}
	}
}

func (c *checker) tag() {
	c.zero()
	c.index("type", c.types)
	c.space.tags++
	c.features |= Exceptions
}

func (c *checker) globalSection() {
	for range c.list("globals", 4) {
		before := c.space.globals
		c.globalType(false)
		c.constant(before) // sees only the globals before it
		if c.err != nil {
			return
		}
	}
}

func (c *checker) globalType(imported bool) {
	g := GlobalType{Type: c.valType(), Imported: imported}
	at := c.pos
	mutable := c.byte()
	if mutable > 1 {
		c.failf(at, "unknown mutability 0x%02x", mutable)
	}
	g.Mutable = mutable == 1
	if c.err != nil {
		return
	}
	c.f.OpaqueGlobals = c.f.OpaqueGlobals || g.Mutable && !g.Type.numeric()
	c.f.Globals = append(c.f.Globals, g)
	c.space.globals++
}

func (c *checker) exportSection() {
	n := c.list("exports", 3)
	c.seen = make(map[string]bool, min(n, 1024))
	for range n {
		at := c.pos
		exp := Export{Name: c.name()}
		c.reserved(at, "export", exp.Name)
		kind := c.pos
		exp.Kind = Kind(c.byte())
		switch exp.Kind {
		case Func:
			exp.Index = c.index("function", c.space.functions)
			if c.err == nil {
				exp.Type = c.f.types[c.f.funcTypes[exp.Index]]
			}
		case Table:
			exp.Index = c.index("table", c.space.tables)
		case Memory:
			exp.Index = c.index("memory", c.space.memories)
		case Global:
			exp.Index = c.index("global", c.space.globals)
		case Tag:
			exp.Index = c.index("tag", c.space.tags)
		default:
			c.failf(kind, "unknown kind of export 0x%02x", byte(exp.Kind))
		}
		if c.seen[exp.Name] {
			c.failf(at, "two exports are named %q", short(exp.Name))
		}
		if c.err != nil {
			return
		}
		c.seen[exp.Name] = true
		c.f.Exports = append(c.f.Exports, exp)
	}
}

func (c *checker) startSection() {
	at := c.pos
	i := c.index("function", c.space.functions)
	if c.err != nil {
		return
	}
	if t := c.f.types[c.f.funcTypes[i]]; len(t.Params)+len(t.Results) > 0 {
		c.failf(at, "start function %d has the signature %s", i, t)
	}
	c.f.Start = int(i)
}
