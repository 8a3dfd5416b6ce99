package session

import (
	"errors"
	"fmt"
)

// ErrClosed is the error of a session that is used after Close.
var ErrClosed = errors.New("the session is closed")

// ErrArchived is the error of resuming a session that was put away.
var ErrArchived = errors.New("the session is archived: unarchive it, or fork it")

// InvalidError is a session file that breaks its own rules.
type InvalidError struct {
	File   string // "" where no file is known
	Line   int    // from 1, which is the header; 0: the file as a whole
	Detail string
}

func (e *InvalidError) Error() string {
	where := "the session is not valid"
	if e.File != "" {
		where = fmt.Sprintf("session %s is not valid", e.File)
	}
	if e.Line > 0 {
		where += fmt.Sprintf(": line %d", e.Line)
	}
	return where + ": " + e.Detail
}

// BusyError is a session that is being written already.
type BusyError struct {
	Name string
	File string // the lock
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %q is in use: another run holds %s", e.Name, e.File)
}

// NameError is a name that no session can have.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is no name of a session: it needs 1 to %d of a-z, 0-9, - and _, "+
		"with a letter or digit first", e.Name, MaxName)
}

// RangeError is a fork at a message that is not there.
type RangeError struct {
	Name         string
	At, Messages int
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("session %q has %d messages: it cannot be forked at %d",
		e.Name, e.Messages, e.At)
}
