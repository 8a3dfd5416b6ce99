package ledger

import (
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/plugins"
)

// Classes of what a ledger says of itself. Whatever it was asked to record is not recorded, unless
// the text says otherwise, so nothing may run.
var (
	ErrFull      = errors.New("the ledger is full") // of Memory, or the disk under SQLite
	ErrBusy      = errors.New("another process keeps the ledger for itself")
	ErrReadOnly  = errors.New("the ledger can only be read")
	ErrDamaged   = errors.New("the ledger is damaged")
	ErrMoved     = errors.New("a file of the ledger was moved or deleted while it was open")
	ErrClosed    = errors.New("the ledger is closed")
	ErrNotLedger = errors.New("not a ledger") // the file was left as it was
	ErrNewer     = errors.New("a ledger of a newer version of this program")
	ErrAbandoned = errors.New("the run was abandoned by an operator")
	ErrNotFound  = errors.New("the ledger has no such thing") // run, call or held key
	ErrSettled   = errors.New("there is nothing to resolve")
)

// LimitError is something that is too long to be recorded.
type LimitError struct {
	What      string
	Size, Max int // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the %s has %d bytes, a ledger takes at most %d", e.What, e.Size, e.Max)
}

// UnsafeError is a ledger that another user could change. Nothing was written to it.
type UnsafeError struct {
	Path   string // of the file or folder
	Detail string // what is wrong with it
	Do     string // what to do about it, with what to type
}

func (e *UnsafeError) Error() string { return fmt.Sprintf("%s: %s; %s", e.Path, e.Detail, e.Do) }

// TamperError is a place where the ledger is not as it was written: a record was changed or is
// gone, or a table that is made of the records says otherwise.
type TamperError struct {
	Run      string // "": the whole file
	Position int    // of the call that the record is about, or of the nearest one; 0: of none
	Record   int    // its number in the run's chain, from 1; 0 when no single record is meant
	Detail   string
}

func (e *TamperError) Error() string {
	at := fmt.Sprintf("run %q", e.Run)
	if e.Run == "" {
		at = "the file"
	}
	if e.Position > 0 {
		at = plugins.Place{Run: e.Run, Position: e.Position}.String()
	}
	if e.Record > 0 {
		at += fmt.Sprintf(", record %d", e.Record)
	}
	return at + ": " + e.Detail
}
