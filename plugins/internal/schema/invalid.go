package schema

import (
	"fmt"
	"strings"
)

// Invalid is a value that its schema does not allow.
type Invalid struct {
	Problems []Problem // sorted by place, at most MaxProblems and at least one
	More     int       // problems that are not listed
}

// Problem is one thing wrong with a value.
type Problem struct{ Pointer, Detail string }

// newInvalid keeps the first problems, which must be sorted, and counts the others.
func newInvalid(problems []Problem, more int) *Invalid {
	if n := len(problems) - MaxProblems; n > 0 {
		problems, more = problems[:MaxProblems], more+n
	}
	return &Invalid{problems, more}
}

func (e *Invalid) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

func (p Problem) String() string {
	if p.Pointer == "" {
		return "at the top: " + p.Detail
	}
	return "at " + p.Pointer + ": " + p.Detail
}
