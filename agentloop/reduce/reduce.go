package reduce

import (
	"cmp"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Kind is what was reduced.
type Kind string

const (
	Output    Kind = "output"    // a long result: its beginning is kept
	Duplicate Kind = "duplicate" // a result that was there before
	Input     Kind = "input"     // long arguments of a call: their beginning is kept
	Turns     Kind = "turns"     // messages in a row
)

// Record tells what stands behind a stub.
type Record struct {
	ID          string  `json:"id"`
	Kind        Kind    `json:"kind"`
	Pointer     Pointer `json:"pointer"`
	Placeholder string  `json:"placeholder"` // the stub as the view has it
}

// Pointer is the place of an original in the recorded conversation.
type Pointer struct {
	Message  int          `json:"message"`            // its index, from 0
	Role     message.Role `json:"role"`               // of that message
	Messages int          `json:"messages,omitempty"` // of the kind turns: how many
	Call     int          `json:"call,omitempty"`     // of the kind input: its index in the message
	Span     Span         `json:"span,omitzero"`      // what the view leaves out; zero: all
	SHA256   string       `json:"sha256"`             // of the whole original, in hex
}

// Span is bytes of an original: From is the first one, To the one after the last.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Log is the records of a view, in the order of their places.
type Log []Record

// MaxRecords is how many records a log may have.
const MaxRecords = 9999

// Find gives a record by its id.
func (l Log) Find(id string) (Record, bool) {
	i := slices.IndexFunc(l, func(r Record) bool { return r.ID == id })
	if i < 0 {
		return Record{}, false
	}
	return l[i], true
}

// end is the index after the last message that a record is about.
func (r *Record) end() int { return r.Pointer.Message + max(r.Pointer.Messages, 1) }

func compare(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Pointer.Message, b.Pointer.Message),
		cmp.Compare(a.Pointer.Call, b.Pointer.Call))
}

// Policy says what is reduced. A zero field is the documented default.
type Policy struct {
	// Trigger is the most bytes of a result or of a call's arguments that stay as they are. 0:
	// DefaultTrigger; less than MinTrigger counts as that.
	Trigger int

	// Keep is how many bytes of what is longer stay at its beginning. 0: DefaultKeep; -1: none; at
	// most what leaves Trigger room for a stub.
	Keep int

	// Protect is how many results at the end, with their calls, stay as they are. 0: DefaultProtect;
	// -1: none.
	Protect int

	// Turns is how many turns at the end stay as messages; those before give way to a stub. A turn is
	// a message of the user or one of the model with the results of its calls. 0: all; -1: none.
	Turns int
}

const (
	DefaultTrigger = 8192 // bytes
	MinTrigger     = 512  // bytes
	DefaultKeep    = 1024 // bytes
	DefaultProtect = 2    // results
)

// stubRoom is more bytes than a stub takes with what is around it.
const stubRoom = 256

// minDuplicate is the fewest bytes of a result that is worth a stub as a duplicate.
const minDuplicate = 256

// filled is the policy with its defaults, where -1 has become 0.
func (p Policy) filled() Policy {
	or := func(v, zero int) int {
		if v == 0 {
			v = zero
		}
		return max(v, 0)
	}
	p.Trigger = max(or(p.Trigger, DefaultTrigger), MinTrigger)
	p.Keep = min(or(p.Keep, DefaultKeep), p.Trigger-stubRoom)
	p.Protect = or(p.Protect, DefaultProtect)
	return p
}
