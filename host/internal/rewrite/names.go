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

// nameSection checks the counts and lengths of the parts that the engine or Rewrite read: the engine
// allocates from declared counts here, too. Indices that name nothing do no harm.
func (c *checker) nameSection() {
	end := c.end
	for c.err == nil && c.pos < end {
		at, id, size := c.pos, c.byte(), c.u32()
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
	for range c.count("names", 2) {
		c.u32()
		if c.name(); c.err != nil {
			return
		}
	}
}
