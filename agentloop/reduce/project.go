package reduce

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Project makes a view of a record, and the view's log. What the given log has stays reduced, as
// far as the record has it (Verify tells), and is made shorter if the policy is tighter; what else
// the policy says is added. Neither the record nor the log is changed, and the same arguments give
// the same bytes.
func Project(list []message.Message, p Policy, log Log) ([]message.Message, Log) {
	log = project(list, p, log, false)
	return messages(render(list, log)), log
}

// project makes the log. That of a draft is as long as it would be, and has no digests yet.
func project(list []message.Message, p Policy, log Log, draft bool) Log {
	s := &plan{list: list, policy: p.filled(), draft: draft, have: map[place]Record{},
		taken: map[int]bool{}}
	for _, r := range log {
		if r.resolve(list) == nil {
			s.have[place{r.Pointer.Message, r.Pointer.Call, r.Kind == Turns}] = r
			s.taken[number(r.ID)] = true
		}
	}
	gone := s.clear()
	s.shorten(gone)
	slices.SortFunc(s.log, compare)
	return s.log
}

// plan is a log that is being made.
type plan struct {
	list   []message.Message
	policy Policy
	draft  bool
	have   map[place]Record // those of the log before
	taken  map[int]bool     // numbers of records
	log    Log
}

// noDigest is the one of a draft.
var noDigest = strings.Repeat("0", 2*sha256.Size)

type place struct {
	message, call int
	turns         bool
}

// add makes a record, with the smallest number that no other one has. When all are taken it makes
// none.
func (s *plan) add(kind Kind, p Pointer, about string) bool {
	n := 1
	for s.taken[n] {
		n++
	}
	if n > MaxRecords {
		return false
	}
	s.taken[n] = true
	p.Role, p.SHA256 = s.list[p.Message].Role, noDigest
	r := Record{Kind: kind, Pointer: p}
	if !s.draft {
		r.Pointer.SHA256 = digest(r.original(s.list))
	}
	r.ID = makeID(n, r.Pointer.SHA256)
	r.Placeholder = Stub{kind, r.ID, about}.String()
	s.log = append(s.log, r)
	return true
}

// clear makes the records of whole turns, and tells which messages they are.
func (s *plan) clear() (gone []bool) {
	gone = make([]bool, len(s.list))
	for at, r := range s.have {
		if at.turns {
			fill(gone[at.message:r.end()])
		}
	}
	if s.policy.Turns != 0 {
		first, last := mayGo(s.list)
		cut := cutAt(s.list, s.policy.Turns)
		for i := first; i < cut; i++ {
			gone[i] = gone[i] || i < last.From || i >= last.To
		}
	}
	for from := 0; from < len(gone); from++ {
		to := from
		for to < len(gone) && gone[to] {
			to++
		}
		if to > from && !s.clearOne(from, to) {
			clear(gone[from:to])
		}
		from = max(from, to)
	}
	return gone
}

// clearOne makes one record of messages in a row, in the place of those that were inside. Where
// that would save nothing it makes none.
func (s *plan) clearOne(from, to int) bool {
	cleared, size, calls := false, 0, 0
	var tools []string
	for i := from; i < to; i++ {
		m := &s.list[i]
		r, ok := s.have[place{message: i, turns: true}]
		if ok && i == from && r.end() == to {
			s.log = append(s.log, r)
			return true
		}
		cleared = cleared || ok
		size += sizeOf(m)
		calls += len(m.Calls)
		for _, c := range m.Calls {
			if !slices.Contains(tools, word(c.Name)) {
				tools = append(tools, word(c.Name))
			}
		}
	}
	if !cleared && size <= stubRoom {
		return false
	}
	about := count(to-from, "message") + " left out"
	if calls > 0 {
		about += fmt.Sprintf(" with %s: %s", count(calls, "call"), strings.Join(tools, ", "))
	}
	for at, r := range s.have {
		if from <= at.message && at.message < to {
			delete(s.taken, number(r.ID))
		}
	}
	return s.add(Turns, Pointer{Message: from, Messages: to - from}, summary("%s", about))
}

// sizeOf is about how many bytes a message takes in a request.
func sizeOf(m *message.Message) int {
	const around = 40
	n := around + len(m.Text)
	for _, c := range m.Calls {
		n += around + len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	if m.Result != nil {
		n += around + len(m.Result.Text)
	}
	return n
}

// shorten makes the records of results and arguments in the messages that are not gone.
func (s *plan) shorten(gone []bool) {
	protected := s.protected()
	seen := map[string]bool{}
	for i := range s.list {
		if gone[i] {
			continue
		}
		m := &s.list[i]
		if m.Result != nil {
			s.output(i, protected[i], seen[m.Result.Text])
			seen[m.Result.Text] = true
		}
		for c := range m.Calls {
			s.input(i, c, i+1+c < len(s.list) && protected[i+1+c])
		}
	}
}

// protected tells which of the messages are results that stay.
func (s *plan) protected() []bool {
	is, left := make([]bool, len(s.list)), s.policy.Protect
	for i := len(s.list) - 1; i >= 0 && left > 0; i-- {
		if s.list[i].Result != nil {
			is[i] = true
			left--
		}
	}
	return is
}

// output reduces a result, if it is to be.
func (s *plan) output(i int, protected, seen bool) {
	text := s.list[i].Result.Text
	old, ok := s.have[place{message: i}]
	switch {
	case ok && (old.Kind == Duplicate || old.Pointer.Span.From <= s.policy.Keep):
		s.log = append(s.log, old)
	case ok:
		s.log = append(s.log, old.recut(text, floor(text, s.policy.Keep)))
	case protected:
	case seen && len(text) >= minDuplicate:
		s.add(Duplicate, Pointer{Message: i}, summary("the same %d bytes as an earlier result of %s",
			len(text), word(s.list[i].Result.Name)))
	case len(text) > s.policy.Trigger:
		span := Span{floor(text, s.policy.Keep), len(text)}
		s.add(Output, Pointer{Message: i, Span: span}, leftOut(span))
	}
}

// input reduces the arguments of a call, if they are to be.
func (s *plan) input(i, c int, protected bool) {
	text := s.list[i].Calls[c].Arguments
	old, ok := s.have[place{message: i, call: c}]
	if !ok && (protected || len(text) <= s.policy.Trigger) {
		return
	}
	if ok && old.Pointer.Span.From <= s.policy.Keep {
		s.log = append(s.log, old)
		return
	}
	span := Span{floor(text, s.policy.Keep), len(text)}
	short := &Record{Pointer: Pointer{Span: span}}
	if len(short.arguments(text))+stubRoom > len(text) { // escapes make it longer
		span.From = 0
	}
	if ok {
		s.log = append(s.log, old.recut(text, span.From))
		return
	}
	s.add(Input, Pointer{Message: i, Call: c, Span: span}, leftOut(span))
}

// recut is the record with less of the original kept.
func (r Record) recut(text string, from int) Record {
	r.Pointer.Span = Span{from, len(text)}
	r.Placeholder = Stub{r.Kind, r.ID, leftOut(r.Pointer.Span)}.String()
	return r
}

func leftOut(s Span) string { return summary("%d of %d bytes left out", s.To-s.From, s.To) }

func fill(list []bool) {
	for i := range list {
		list[i] = true
	}
}

// count is a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
