package rewrite

// smallCost is the most that a function may cost whose callers pay for it.
const smallCost = 64

// price is what one instruction costs. Those that only give structure cost nothing; so do the calls
// into the host, which charges them itself.
func price(in instr) uint32 {
	switch in.op {
	case opBlock, opLoop, opElse, opEnd, opNop:
		return 0
	case opCallIndirect, opReturnIndirect, opCallRef, opReturnCallRef:
		return 1 + smallCost // it may lead to a function that does not charge for itself
	default:
		return 1
	}
}

// smallness finds out whether a function is small: see the cost model in doc.go.
type smallness struct {
	cost    uint32
	big     bool
	callees []uint32
}

// count adds one instruction of a function.
func (s *smallness) count(in instr, imported uint32) {
	if s.big {
		return
	}
	s.cost += price(in)
	switch {
	case s.cost > smallCost, in.op == opLoop, in.op == opReturnCall, priced(in):
		s.big, s.callees = true, nil
	case in.op == opCall && in.x >= imported:
		s.callees = append(s.callees, in.x)
	}
}

// priced says whether an instruction's price depends on an operand.
func priced(in instr) bool {
	if in.op == opMemoryGrow {
		return true
	}
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy,
		miscTableGrow, miscTableFill:
		return in.op == opMisc
	}
	return false
}
