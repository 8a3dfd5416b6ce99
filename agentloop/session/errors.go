package session

import "fmt"

// InvalidError is a stored session that breaks its own framing or schema.
type InvalidError struct {
	Line   int // from 1; 0 when it is about the file as a whole
	Detail string
}

func (e *InvalidError) Error() string {
	if e.Line == 0 {
		return "the session is not valid: " + e.Detail
	}
	return fmt.Sprintf("the session is not valid: line %d: %s", e.Line, e.Detail)
}
