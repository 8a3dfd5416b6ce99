package reduce

import "github.com/wasmagent/wasmagent/agentloop/message"

// Room is how a view and a model's context go together.
type Room uint8

const (
	TooLong Room = iota // it does not fit
	Fits                // it does, and hardly more would
	Roomy               // it does, and so would the next turns
)

// Fit makes a view that fits, with as little reduced as it takes. room is asked about each view
// that is tried, which are not more than a hundred. The policy itself, which is tried first, needs
// to fit; of tighter ones the first that is roomy is taken, or else the first that fits: what was
// tightened stays so, and a view without any room would have to be tightened at each turn.
//
// Results and arguments are cut shorter first, then turns are cleared, the oldest first and half of
// them at a time. Only if that is not enough, so that what is long is at the end, do the same
// policies protect fewer results. When nothing fits, ok is false, and view and log are the policy's
// own.
func Fit(list []message.Message, p Policy, log Log, room func([]message.Message) Room) (
	view []message.Message, fitted Log, ok bool) {
	view, fitted = Project(list, p, log)
	if room(view) != TooLong {
		return view, fitted, true
	}
	base := p.filled()
	for protect := base.Protect; ; protect = min(protect/2, 1) {
		var best *Policy // of those that fit
		for _, tight := range tighter(list, base, fitted, protect) {
			draft := messages(render(list, project(list, tight, log, true)))
			fits := room(draft)
			if fits == Roomy || fits == Fits && best == nil {
				best = &tight
			}
			if fits == Roomy {
				break
			}
		}
		if best != nil {
			view, fitted = Project(list, *best, log)
			return view, fitted, true
		}
		if protect == 0 {
			return view, fitted, false
		}
	}
}

// tighter lists the policies to try, from the loosest on. p is filled.
func tighter(list []message.Message, p Policy, log Log, protect int) (all []Policy) {
	try := func(by, turns int) {
		all = append(all, Policy{p.Trigger / by, orNone(p.Keep / by), orNone(protect), turns})
	}
	for by := 1; by <= tightest; by *= 2 {
		try(by, p.Turns)
	}
	for turns := uncleared(list, log) / 2; turns > 0; turns /= 2 {
		try(tightest, turns)
	}
	if protect == 0 {
		try(tightest, -1)
	}
	return all
}

// tightest is what sizes are divided by before turns are cleared.
const tightest = 8

// orNone is a number of a filled policy as one that is not has it.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// uncleared is how many turns a log leaves of those that may be cleared.
func uncleared(list []message.Message, log Log) (n int) {
	for _, at := range starts(list) {
		gone := false
		for i := range log {
			r := &log[i]
			gone = gone || r.Kind == Turns && at >= r.Pointer.Message && at < r.end()
		}
		if !gone {
			n++
		}
	}
	return n
}
