package rewrite

// The cost model; doc.go tells it in words. Changing a number here changes what guests are said
// to have used, so it is a change of the promise that fuel is deterministic.
const (
	costInstruction = 1
	costBulk        = 32 // an operation on a range, however short: a call of a function of the engine's
	costExit        = 64 // an instruction that the engine carries out outside of compiled code
	costSmall       = 64 // the most that a small function may cost; an indirect call adds it
	shiftPage       = 12 // a page of memory.grow costs 1 << shiftPage
	shiftBytes      = 4  // 1 << shiftBytes bytes of memory.copy, fill and init cost 1
)

// price is what one instruction costs by itself.
func price(in instr) uint64 {
	switch in.op {
	case opBlock, opLoop, opElse, opEnd, opNop, opTryTable:
		return 0 // these only give structure
	case opCallIndirect, opReturnIndirect, opCallRef, opReturnCallRef:
		return costInstruction + costSmall // it may lead to a small function
	case opMemoryGrow, opRefFunc:
		return costExit
	case opMisc:
		switch {
		case in.sub == miscTableGrow:
			return costExit
		case priced(in):
			return costBulk
		}
	}
	return costInstruction
}

// priced says whether an instruction costs more the larger its last operand is.
func priced(in instr) bool {
	switch in.op {
	case opMemoryGrow:
		return true
	case opMisc:
		return in.sub == miscMemoryInit || in.sub >= miscMemoryCopy && in.sub <= miscTableInit ||
			in.sub == miscTableCopy || in.sub == miscTableGrow || in.sub == miscTableFill
	}
	return false
}

// calls says whether an instruction leads into another function.
func calls(in instr) bool { return in.op >= opCall && in.op <= opReturnCallRef }

// smallness finds out whether a function may be small, while its body is checked.
type smallness struct {
	cost    uint64
	big     bool
	callees []uint32
}

// add adds one instruction of the body.
func (s *smallness) add(in instr, imported uint32) {
	if s.big {
		return
	}
	s.cost += price(in)
	switch {
	case in.op == opCall && in.x >= imported:
		s.callees = append(s.callees, in.x-imported)
	case in.op == opLoop, calls(in), priced(in):
		s.big = true
	}
	if s.big || s.cost > costSmall {
		s.big, s.callees = true, nil
	}
}

// big marks a function that charges for itself.
const big = -1

// smallCosts gives for each defined function its cost if it is small, else big. A function is
// small only after all that it calls are, so that no recursion is.
func smallCosts(bodies []body) []int32 {
	costs := make([]int32, len(bodies))
	waits := make([]int, len(bodies))     // for so many callees
	callers := make([][]int, len(bodies)) // that wait for a function
	var ready []int
	for i, b := range bodies {
		costs[i] = big
		if b.small.big {
			continue
		}
		waits[i] = len(b.small.callees)
		for _, callee := range b.small.callees {
			callers[callee] = append(callers[callee], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		cost := bodies[i].small.cost
		for _, callee := range bodies[i].small.callees {
			cost += uint64(costs[callee])
		}
		if cost > costSmall {
			continue
		}
		costs[i] = int32(cost)
		for _, caller := range callers[i] {
			if waits[caller]--; waits[caller] == 0 {
				ready = append(ready, caller)
			}
		}
	}
	return costs
}

// meter prices the parts of a body between whose passes fuel is checked: the function without its
// loops, then each loop without the loops in it, in the order of their heads. It finds out also
// what else m must know before it writes. It reads the instructions from r, which stands at the
// first.
func (w *writer) meter(m *metering, r *reader) {
	costs := append(w.costs[:0], 0)
	open := append(w.open[:0], 0) // which cost each open block adds to
	decided := false
	for r.err == nil && len(open) > 0 {
		in := r.next(&w.space)
		here := open[len(open)-1]
		costs[here] += w.price(in)
		switch in.op {
		case opBlock, opIf, opTryTable:
			open = append(open, here)
		case opLoop:
			m.straight = m.straight || !decided
			open = append(open, len(costs))
			costs = append(costs, 0)
		case opEnd:
			open = open[:len(open)-1]
		}
		m.prices = m.prices || priced(in)
		decided = decided || in.op == opLoop || turns(in)
	}
	w.costs, w.open, m.costs = costs, open, costs
}

// price is what an instruction costs with what it calls, if that is small.
func (w *writer) price(in instr) uint64 {
	cost := price(in)
	if (in.op == opCall || in.op == opReturnCall) && in.x >= w.tick {
		if small := w.smallCosts[in.x-w.tick]; small != big {
			cost += uint64(small)
		}
	}
	return cost
}

// turns says whether an instruction may lead elsewhere than to the next.
func turns(in instr) bool {
	switch in.op {
	case opUnreachable, opIf, opElse, opThrow, opThrowRef, opReturn:
		return true
	}
	return in.labels > 0 || calls(in)
}
