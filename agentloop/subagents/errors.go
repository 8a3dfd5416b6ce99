package subagents

import (
	"errors"
	"fmt"
	"strings"
)

// RequestError is a request whose arguments are wrong.
type RequestError struct{ Detail string }

// DepthError is a subagent that would be nested too deep.
type DepthError struct{ MaxDepth, AttemptedDepth int }

// ConcurrencyError is a subagent too many, in the whole tree.
type ConcurrencyError struct{ MaxConcurrent int }

// DefinitionError is an agent type that nobody has defined.
type DefinitionError struct {
	Name string
	Have []string // the agent types that there are, sorted
}

// NotFoundError is an ID of no subagent of this agent, or of one whose end has been told.
type NotFoundError struct{ ID string }

// ErrBackgroundPolicy is a background subagent where nothing says who answers for it.
var ErrBackgroundPolicy = errors.New(`a background subagent needs ` +
	`capabilities.subagents.background_prompts to be "auto_policy" or "parent"`)

func (e *RequestError) Error() string { return e.Detail }

func (e *DepthError) Error() string {
	return fmt.Sprintf("a subagent at depth %d would be too deep, at most %d is allowed",
		e.AttemptedDepth, e.MaxDepth)
}

func (e *ConcurrencyError) Error() string {
	if e.MaxConcurrent == 1 {
		return "1 subagent runs already, which is as many as may"
	}
	return fmt.Sprintf("%d subagents run already, which is as many as may", e.MaxConcurrent)
}

func (e *DefinitionError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("there is no agent type %q, and no other; leave it out", e.Name)
	}
	return fmt.Sprintf("there is no agent type %q; there are %s", e.Name, strings.Join(e.Have, ", "))
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no subagent %q, or its result has been given already", e.ID)
}
