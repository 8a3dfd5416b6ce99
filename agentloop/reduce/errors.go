package reduce

import "fmt"

// Fault is what keeps a reduction from being undone. It is itself an error, so that
// errors.Is(err, ErrMismatch) asks for it.
type Fault uint8

const (
	ErrMissing    Fault = iota + 1 // the log has no such entry
	ErrUnresolved                  // the record has nothing at the entry's place
	ErrMismatch                    // what is there is not what was reduced
	ErrLog                         // the log breaks its own rules
	ErrLeak                        // a stub stands where the record's own text should
)

var faults = [...]string{"", "there is no such entry in the log",
	"its place is not in the record", "its SHA-256 does not match", "the log is not valid",
	"its stub would leave the view"}

func (f Fault) Error() string { return faults[f] }

// Error is a reduction that cannot be undone.
type Error struct {
	ID     string // "": it is about none, or about all
	Fault  Fault
	Detail string // "": the fault says all
}

func (e *Error) Error() string {
	text := e.Fault.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.ID == "" {
		return "reduction: " + text
	}
	return fmt.Sprintf("reduction %s: %s", e.ID, text)
}

func (e *Error) Unwrap() error { return e.Fault }
