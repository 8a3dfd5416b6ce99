package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/wasmagent/wasmagent/abi"
)

// Func makes a tool of a Go function. Schemas that spec leaves empty come from the types: fields
// named by their json tags and described by their jsonschema tags, required unless they are
// omitempty or omitzero, no others allowed. A type with a MarshalJSON of its own needs a schema in
// spec.
//
// Arguments are decoded strictly. What fn returns is coded by encoding/json, unless it is an
// Output, which is given as it is. An error of fn is ErrHandler, and one with a permanent
// *abi.Failure in it is not tried again; a *ToolError stays what it is. A panic is a bug that would
// come again: ErrMalformedResult with a *PanicError, never tried again.
//
// fn is not told the call's key nor its attempt: a Tool of one's own is, in its Call.
func Func[In, Out any](spec abi.ToolSpec, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if spec.InputSchema == "" {
		s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: typeSchemas})
		if err != nil {
			return nil, fmt.Errorf("tool %q: no schema from its input type: %w", spec.Name, err)
		}
		if spec.InputSchema, err = schemaText(s); err != nil {
			return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
		}
	}
	if spec.OutputSchema == "" && reflect.TypeFor[Out]() != reflect.TypeFor[Output]() {
		// A type without a schema, such as a recursive one, leaves the result undescribed.
		if s, err := jsonschema.For[Out](&jsonschema.ForOptions{TypeSchemas: typeSchemas}); err == nil {
			if spec.OutputSchema, err = schemaText(s); err != nil {
				return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
			}
		}
	}
	return &native[In, Out]{spec, fn}, nil
}

// typeSchemas are the types whose JSON is not what their Go kind suggests.
var typeSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[[]byte]():          {Types: []string{"null", "string"}, ContentEncoding: "base64"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[json.Number]():     {Type: "number"},
}

func schemaText(s *jsonschema.Schema) (string, error) {
	b, err := json.Marshal(s)
	if string(b) == "true" || string(b) == "{}" {
		return "", err
	}
	return string(b), err
}

// native is a tool that is a Go function.
type native[In, Out any] struct {
	spec abi.ToolSpec
	fn   func(context.Context, In) (Out, error)
}

func (t *native[In, Out]) Spec() abi.ToolSpec { return t.spec }

func (t *native[In, Out]) Invoke(ctx context.Context, call Call) (Output, error) {
	var in In
	if err := decodeStrictly(call.Input, &in); err != nil {
		return Output{}, &ToolError{Kind: ErrInvalidInput, Err: err}
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return Output{}, err
	}
	if done, ok := any(out).(Output); ok {
		return done, nil
	}
	var value json.RawMessage
	err = caught(func() (err error) { value, err = marshal(out); return err })
	if err != nil {
		return Output{}, &ToolError{Kind: ErrOutputSerialization, Err: err}
	}
	return Output{Value: value}, nil
}

// caught calls f and turns a panic into an error.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}

// decodeStrictly decodes arguments that their schema allowed, so what it refuses is the type's own.
func decodeStrictly(text json.RawMessage, in any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(in)
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		ptr := ""
		if mismatch.Field != "" {
			ptr = "/" + strings.ReplaceAll(mismatch.Field, ".", "/")
		}
		return newSchemaError(ptr, fmt.Sprintf("%s does not fit", mismatch.Value))
	}
	return newSchemaError("", strings.TrimPrefix(err.Error(), "json: "))
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
