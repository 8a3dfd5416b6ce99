package interchange

import "slices"

// tree is how the lines of a file of Claude Code's hang together.
type tree struct {
	index  map[string]int // of a UUID: its line
	below  map[int][]int  // of a line of the assistant's: those that go on with the same message
	chosen map[int]bool   // the lines of the branch
	side   bool           // the conversation is a subagent's, as in a file of its own
	titled bool           // by a person
	point  int            // the last line that says where the conversation goes on, or -1
}

// plant finds out what follows from what.
func (c *claudeReader) plant() {
	c.index, c.below, c.chosen = map[string]int{}, map[int][]int{}, map[int]bool{}
	c.side, c.point = true, -1
	for n := range c.list {
		l := &c.list[n]
		if _, twice := c.index[l.UUID]; !twice && l.UUID != "" {
			c.index[l.UUID] = n
		}
		if l.talk() && !l.Sidechain {
			c.side = false
		}
	}
	for n := range c.list {
		if _, known := c.index[c.list[n].Leaf]; known && c.list[n].Type == claudePointer {
			c.point = n
		}
		if c.continues(n) {
			parent := c.index[c.list[n].Parent]
			c.below[parent] = append(c.below[parent], n)
		}
	}
}

// continues tells of a line that goes on with the message of the line before: a model's response
// is stored block by block.
func (c *claudeReader) continues(n int) bool {
	l := &c.list[n]
	parent, ok := c.index[l.Parent]
	if !ok || parent == n || !l.talk() || l.Type != "assistant" || l.said.ID == "" {
		return false
	}
	before := &c.list[parent]
	return before.talk() && before.Type == "assistant" && before.said.ID == l.said.ID &&
		before.Sidechain == l.Sidechain
}

// newest is the line that was said last, or -1. Somebody may have gone back before that; a line
// says so, and counts until more is said.
func (c *claudeReader) newest() int {
	leaf := c.newestFrom(c.point + 1)
	if leaf >= 0 || c.point < 0 {
		return leaf
	}
	if at := c.index[c.list[c.point].Leaf]; c.main(at) {
		return at
	}
	return c.newestFrom(0)
}

func (c *claudeReader) newestFrom(first int) int {
	leaf := -1
	for n := first; n < len(c.list); n++ {
		if c.main(n) && (leaf < 0 || !c.list[n].Time.Before(c.list[leaf].Time.Time)) {
			leaf = n
		}
	}
	return leaf
}

// main tells of a line in which somebody speaks who takes part in the conversation itself.
func (c *claudeReader) main(n int) bool {
	l := &c.list[n]
	return l.talk() && l.Sidechain == c.side && c.index[l.UUID] == n
}

// branch lists the lines that lead to a leaf, from the root, or from the last compaction: what that
// has replaced is not sent to a model any more.
func (c *claudeReader) branch(leaf int) (list []int, err error) {
	for n, ok := leaf, true; ok; n, ok = c.index[c.list[n].Parent] {
		if c.chosen[n] {
			return nil, c.fail(n, "it follows from itself: the tree of parentUuid is a circle")
		}
		c.chosen[n] = true
		list = append(list, n)
	}
	slices.Reverse(list)
	return list, nil
}

// response lists the lines of one message, also those beside the branch: where a model makes
// several calls, what follows hangs on one of them.
func (c *claudeReader) response(lines []int) []int {
	all := slices.Clone(lines)
	for i := 0; i < len(all); i++ {
		for _, n := range c.below[all[i]] {
			if !c.chosen[n] {
				c.chosen[n] = true
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

// account tells of the lines that are no part of the conversation.
func (c *claudeReader) account() {
	compacted := map[int]bool{}
	for n := range c.list {
		if c.chosen[n] {
			for at, ok := c.index[c.list[n].Logical]; ok && !compacted[at]; {
				compacted[at] = true
				l := &c.list[at]
				if at, ok = c.index[l.Parent]; !ok {
					at, ok = c.index[l.Logical]
				}
			}
		}
	}
	side, old, other := 0, 0, 0
	for n := range c.list {
		l := &c.list[n]
		switch {
		case !l.talk() || c.chosen[n] || c.taken[n]:
		case l.Sidechain != c.side:
			side++
		case compacted[n]:
			old++
		default:
			other++
		}
	}
	c.note(side, "line", "lines", "of subagents")
	c.note(old, "line", "lines", "that a compaction has replaced")
	c.note(other, "line", "lines", "of other branches")
}
