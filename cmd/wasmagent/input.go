package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/plugins"
)

// maxInput is how many bytes of input are read from a file or stdin: enough for the registry to
// refuse what is too large with its own words, and too little for a wrong file to fill the memory.
const maxInput = 2 * plugins.MaxInput

// input builds a call's input from the argument and the -f fields. What is not an object in JSON
// passes as it is, for the registry to refuse with its own words.
func (a *app) input(args, fields []string, spec abi.ToolSpec) (json.RawMessage, error) {
	raw := json.RawMessage("{}")
	if len(args) > 0 {
		var err error
		if raw, err = a.readArg(args[0]); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return raw, nil
	}
	if _, err := transcode.AppendMsgpack(nil, raw); err != nil {
		return raw, nil // no fields can be put into it, and the registry says why
	}
	var object map[string]any
	if err := decodeExact(raw, &object); err != nil || object == nil {
		return nil, &usageError{text: "-f puts fields into an object, and the input is not one"}
	}
	schema := newSchema([]byte(spec.InputSchema))
	for _, f := range fields {
		if err := a.setField(object, schema, f); err != nil {
			return nil, err
		}
	}
	return encodeExact(object)
}

// readArg reads the input argument: JSON, @file or - for stdin.
func (a *app) readArg(arg string) ([]byte, error) {
	if arg == "-" {
		return a.readStdin()
	}
	if path, ok := strings.CutPrefix(arg, "@"); ok {
		return a.readInput(path)
	}
	return []byte(arg), nil
}

func (a *app) readStdin() ([]byte, error) {
	a.log.Debug("reading the input from stdin")
	return readLimited(a.ctx, a.in, "stdin")
}

func (a *app) readInput(path string) ([]byte, error) {
	if path == "" {
		return nil, &usageError{text: "@ names a file, such as @input.json"}
	}
	f, err := openRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &usageError{text: fmt.Sprintf("no input file %s", path)}
	case errors.Is(err, errNotRegular):
		return nil, &usageError{
			text: fmt.Sprintf("input file %s is %v", path, err),
			hint: "what a pipe or device gives comes in as stdin: -, or -f name=@-",
		}
	case err != nil:
		return nil, err
	}
	defer f.Close()
	return readLimited(a.ctx, f, path)
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens a file that holds what it holds: to open a pipe could take for ever.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return os.Open(path)
}

// readLimited reads all of r, or as long as ctx lasts. A read that does not come back is left to
// itself: there is no way to end one of a terminal or pipe, and the command ends soon.
func readLimited(ctx context.Context, r io.Reader, name string) ([]byte, error) {
	var b []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		b, err = io.ReadAll(io.LimitReader(r, maxInput+1))
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("reading %s: %w", name, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("input from %s: %w", name, err)
	}
	if len(b) > maxInput {
		return nil, &usageError{text: fmt.Sprintf(
			"input from %s is larger than %s", name, bytesText(maxInput))}
	}
	return b, nil
}

// setField puts one -f name=value into object, typed by the schema of the place.
func (a *app) setField(object map[string]any, s *schema, field string) error {
	name, text, ok := strings.Cut(field, "=")
	if !ok || name == "" || slices.Contains(strings.Split(name, "."), "") {
		return &usageError{
			text: fmt.Sprintf("-f %q is not name=value", field),
			hint: "such as -f city=Oslo, or -f address.city=Oslo for an object in the object",
		}
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := a.readField(path)
		if err != nil {
			return err
		}
		text = string(b)
	}
	path := strings.Split(name, ".")
	for _, step := range path[:len(path)-1] {
		inner, ok := object[step].(map[string]any)
		if object[step] != nil && !ok {
			return &usageError{text: fmt.Sprintf("-f %s: %q is not an object", name, step)}
		}
		if inner == nil {
			inner = map[string]any{}
			object[step] = inner
		}
		object, s = inner, s.property(step)
	}
	last := path[len(path)-1]
	value, err := s.property(last).parse(text)
	if err != nil {
		return &usageError{
			text: fmt.Sprintf("-f %s: %v", name, err),
			hint: s.property(last).example(name),
		}
	}
	object[last] = value
	return nil
}

func (a *app) readField(path string) ([]byte, error) {
	if path == "-" {
		return a.readStdin()
	}
	b, err := a.readInput(path)
	if err == nil {
		return b, nil
	}
	var usage *usageError
	if errors.As(err, &usage) && usage.hint == "" {
		usage.hint = "a text that begins with @ goes into the JSON input"
	}
	return nil, err
}

// decodeExact decodes JSON with every digit of its numbers kept.
func decodeExact(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

func encodeExact(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
