package main

import (
	"fmt"
	"io"
	"time"
)

// gate is a promise about performance and what was measured. An aim is a promise that does not
// count as one: it is reported.
type gate struct {
	name, measured, limit string
	held, aim             bool
}

func printGates(w io.Writer, gates []gate) {
	if len(gates) == 0 {
		return
	}
	fmt.Fprint(w, "## Gates, by processor time where it is known\n\n")
	missed, count := 0, 0
	t := newTable("our call against", "measured", "wanted", "")
	for _, g := range gates {
		verdict := pick(g.held, "held", "MISSED")
		if g.aim {
			verdict = pick(g.held, "reached", "not reached")
		} else {
			count++
			missed += pick(g.held, 0, 1)
		}
		t.add(g.name, g.measured, g.limit, verdict)
	}
	t.print(w)
	fmt.Fprintf(w, "%d of %d gates held; aims are reached or not, and are no gates.\n",
		count-missed, count)
}

// atMostTimes wants our cost to be at most limit times another's.
func atMostTimes(name string, ours, other time.Duration, limit float64) gate {
	r := ratio(ours, other)
	return gate{name: name, measured: times(r), limit: fmt.Sprintf("≤ %g×", limit),
		held: r > 0 && r <= limit}
}

// atMostMore wants our cost to exceed another's by limit at most.
func atMostMore(name string, ours, other, limit time.Duration) gate {
	more := ours - other
	return gate{name: name, measured: micros(more) + " µs more",
		limit: fmt.Sprintf("≤ %s µs more", micros(limit)), held: ours > 0 && more <= limit}
}

// timesFaster wants another's cost to be at least limit times ours.
func timesFaster(name string, ours, other time.Duration, limit float64, aim bool) gate {
	r := ratio(other, ours)
	return gate{name: name, measured: times(r) + " faster", limit: fmt.Sprintf("≥ %g×", limit),
		held: r >= limit, aim: aim}
}

// callGates judges a guest's rows.
func callGates(guest string, costs map[rowKey]cost) (gates []gate) {
	for _, tool := range tools {
		for _, s := range sizes {
			at := func(contender string) time.Duration {
				return costs[rowKey{guest, tool, s.name, contender}].gauge()
			}
			label := func(name string) string {
				return fmt.Sprintf("%s: %s %s, %s", name, tool, s.name, guest)
			}
			gates = append(gates, warmGate(label(nameWarm), guest, tool, s, at(nameBytes), at(nameWarm)))
			if s != sizes[0] {
				continue
			}
			for _, f := range factors {
				if at(f.contender) > 0 {
					gates = append(gates, timesFaster(label(f.contender), at(nameBytes), at(f.contender),
						pick(guest == smallGuest, f.small, f.goes), f.aim))
				}
			}
			for _, name := range []string{nameExtismWarm, nameExtismFresh} {
				gates = append(gates, timesFaster(label("of an Extism plugin, "+name), at(nameOursExtism),
					at(name), 1, true))
			}
			if guest == smallGuest {
				gates = append(gates, atMostTimes(label("JSON against "+nameNative), at(nameJSON),
					at(nameNative), 1))
			}
		}
	}
	return gates
}

// factors say how many times faster than others a call of the small and of the Go guest is to be.
var factors = []struct {
	contender   string
	small, goes float64
	aim         bool
}{
	{nameInstantiate, 15, 100, false},
	{nameExtismWarm, 30, 3, true},
	{nameExtismFresh, 300, 150, true},
	{nameGRPC, 100, 8, true},
}

// warmGate compares with an engine that gives no isolation at all.
func warmGate(name, guest, tool string, s size, ours, warm time.Duration) gate {
	const small, echo = 2 * time.Microsecond, 10 * time.Microsecond
	switch {
	case s != sizes[0]:
		return atMostTimes(name, ours, warm, pick(guest == smallGuest, 1.5, 1.2))
	case guest == smallGuest:
		return atMostMore(name, ours, warm, small)
	case tool == "echo":
		return atMostMore(name, ours, warm, echo)
	}
	return atMostTimes(name, ours, warm, 2)
}
