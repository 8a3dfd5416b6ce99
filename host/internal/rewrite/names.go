package rewrite

// nameSection is the name of the custom section that names functions and locals.
const nameSection = "name"

// Subsections of the name section.
const (
	namesModule    = 0
	namesFunctions = 1
	namesLocals    = 2
	namesLabels    = 3
	namesData      = 9
)

// nameSection checks the counts and lengths of the parts that the engine or Rewrite read: the
// engine allocates from declared counts here, too. Indices that name nothing do no harm.
func (c *checker) nameSection() {
	end := c.end
	for c.err == nil && c.pos < end {
		at := c.pos
		id, size := c.byte(), c.u32()
		if uint64(size) > uint64(end-c.pos) {
			c.failf(at, "%d bytes of names are declared, %d are left", size, end-c.pos)
			return
		}
		c.end = c.pos + int(size)
		switch id {
		case namesModule:
			c.name()
		case namesFunctions:
			c.nameMap()
		case namesLocals, namesLabels:
			c.f.namesLabels = c.f.namesLabels || id == namesLabels
			for range c.count("functions with names", 2) {
				c.u32()
				if c.nameMap(); c.err != nil {
					break
				}
			}
		default:
			c.pos = c.end
		}
		if c.err == nil && c.pos != c.end {
			c.failf(c.pos, "%d bytes too many", c.end-c.pos)
		}
		c.end = end
	}
}

func (c *checker) nameMap() {
	n := c.count("names", 2)
	if c.named += n; c.tooMany("Names", "names", uint64(c.named), c.lim.Names) {
		return
	}
	for range n {
		c.u32()
		if c.name(); c.err != nil {
			return
		}
	}
}

// inserted remembers that a block was added to a function after so many labels of the original.
// Only the names of labels need it.
func (w *writer) inserted(function int, labels uint32) {
	if !w.f.namesLabels {
		return
	}
	if w.labels == nil {
		w.labels = map[uint32][]uint32{}
	}
	w.labels[uint32(function)] = append(w.labels[uint32(function)], labels)
}

// names writes the name section for the functions' new numbers. Other custom sections are left out:
// the engine has no use for them, and debug information would be wrong.
func (w *writer) names() {
	if w.f.names.empty() {
		return
	}
	w.sec = appendName(w.sec, nameSection)
	r := w.reader(secCustom, w.f.names)
	for r.err == nil && r.left() > 0 {
		id, size := r.byte(), r.u32()
		part := *r
		r.skip(int(size))
		part.end = r.pos
		w.body = w.body[:0]
		switch {
		case id == namesFunctions:
			w.nameMap(&part, w.function)
		case id == namesLocals, id == namesLabels:
			w.nameMaps(&part, id)
		case id == namesData && w.lifts() && !w.f.usesData:
			continue
		default:
			w.body = append(w.body, part.b[part.pos:part.end]...)
		}
		w.done(&part)
		w.sec = append(w.sec, id)
		w.sec = appendU(w.sec, uint64(len(w.body)))
		w.sec = append(w.sec, w.body...)
	}
	w.done(r)
	w.flush(secCustom)
}

// nameMaps renumbers the names of locals or labels: by function, a map of names.
func (w *writer) nameMaps(r *reader, id byte) {
	n := r.count("functions with names", 2)
	w.body = appendU(w.body, uint64(n))
	for range n {
		function := r.u32()
		w.body = appendU(w.body, uint64(w.function(function)))
		renumber := func(i uint32) uint32 { return i }
		if id == namesLabels {
			renumber = shifted(w.labels[function])
		}
		if w.nameMap(r, renumber); r.err != nil {
			return
		}
	}
}

// shifted gives the new number of a label where blocks were inserted after so many labels, in
// ascending order. It must be asked in ascending order, as the names are; labels out of order
// keep a number that may be wrong, which only a reader of names sees.
func shifted(inserted []uint32) func(uint32) uint32 {
	n := 0
	return func(label uint32) uint32 {
		for n < len(inserted) && inserted[n] <= label {
			n++
		}
		return label + uint32(n)
	}
}

func (w *writer) nameMap(r *reader, renumber func(uint32) uint32) {
	n := r.count("names", 2)
	w.body = appendU(w.body, uint64(n))
	for range n {
		w.body = appendU(w.body, uint64(renumber(r.u32())))
		w.body = appendName(w.body, r.name())
		if r.err != nil {
			return
		}
	}
}
