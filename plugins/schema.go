package plugins

import (
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/internal/schema"
)

// Limits of schemas, which may be a stranger's.
const (
	MaxSchemaBytes = abi.MaxSchemaBytes // of one schema's text
	MaxProblems    = schema.MaxProblems // problems that a SchemaError lists
)

// newSchemaError is a value that is wrong in one way.
func newSchemaError(pointer, detail string) *SchemaError {
	return &SchemaError{Pointer: pointer, Problems: []Problem{{pointer, detail}}}
}

// fit holds arguments against the tool's schema, and puts in their place what they are taken for.
func (e *entry) fit(call *Call, input *carried) error {
	input.notes = nil
	fitted, err := e.input.Fit(call.Input, input.raw)
	if fitted != nil {
		input.notes = fitted.Notes
	}
	if fitted != nil && fitted.Text != nil {
		call.Input, input.raw = fitted.Text, fitted.Packed
	}
	call.Packed = input.raw
	return schemaFault(err)
}

// schemaFault makes of a check's error what the registry's callers get.
func schemaFault(err error) error {
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*schema.Invalid](err)
	if !ok {
		return HostFault(err)
	}
	problems := make([]Problem, len(invalid.Problems))
	for i, p := range invalid.Problems {
		problems[i] = Problem(p)
	}
	return &SchemaError{problems[0].Pointer, problems, invalid.More}
}
