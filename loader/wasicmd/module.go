package wasicmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// module is a command and the tools that are made of it.
type module struct {
	name     string // of the plugin
	guest    *host.Module
	manifest abi.Manifest
	tools    map[string]*tool
}

func (m *module) Manifest() abi.Manifest          { return m.manifest }
func (m *module) Size() int64                     { return m.guest.Size() }
func (m *module) Close(ctx context.Context) error { return m.guest.Close(ctx) }

// Call implements loader.Module: it runs the command once.
func (m *module) Call(ctx context.Context, call *plugins.Call, obs *host.Observer) (
	out plugins.Output, stats host.CallStats, err error) {
	t, ok := m.tools[call.Tool]
	if !ok {
		return out, stats, fmt.Errorf("no tool of the name %q", call.Tool)
	}
	args, stdin, err := t.read(call.Input)
	if err != nil {
		return out, stats, err
	}
	ret, stats, err := m.guest.Run(ctx, &host.Entry{
		Export: start, Args: append([]string{m.name}, args...), Stdin: stdin, Stdout: true, Exits: true,
	}, obs)
	if exit, ok := errors.AsType[*host.ExitError](err); ok {
		if exit.Stderr != "" {
			stats.Note = "" // a file that it looked for in vain: it says itself if that was why
		}
		return out, stats, &abi.Failure{
			Code: fmt.Sprintf("exit_%d", exit.Code), Message: said(exit, ret.Stdout),
			Permanent: true, // a code does not say that another time may go better
		}
	}
	if err != nil {
		return out, stats, err
	}
	out, err = loader.OutputOf(ret.Stdout)
	return out, stats, err
}

// maxTail is how many bytes of stdout are quoted, from its end.
const maxTail = 2 << 10

// said is why a command exited as it says on stderr, else on stdout.
func said(exit *host.ExitError, stdout []byte) string {
	if text := strings.TrimSpace(exit.Stderr); text != "" {
		return text
	}
	tail := string(stdout[max(0, len(stdout)-maxTail):])
	if tail = strings.TrimSpace(strings.ToValidUTF8(tail, "")); tail != "" {
		return tail
	}
	return fmt.Sprintf("exited with code %d and said nothing", exit.Code)
}

// tool is how the input of one tool reaches the command.
type tool struct {
	free  bool // the input is {"args": …, "stdin": …}
	args  [][]loader.ArgumentPart
	stdin string // the property that is read; "": all of the input
	text  bool   // and of all the one string
}

// read makes a command's arguments and its stdin of an input.
func (t *tool) read(input json.RawMessage) (args []string, stdin []byte, err error) {
	if t.free {
		return readFree(input)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, nil, invalid("", err.Error())
	}
	for _, parts := range t.args {
		arg, ok, err := argument(parts, fields)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			args = append(args, arg)
		}
	}
	switch {
	case t.stdin != "":
		return args, textOf(fields[t.stdin]), nil
	case t.text:
		stdin, err = onlyText(fields)
		return args, stdin, err
	}
	return args, input, nil
}

// readFree reads the input of a command that the policy says nothing of.
func readFree(input json.RawMessage) (args []string, stdin []byte, err error) {
	var in struct {
		Args  []string        `json:"args"`
		Stdin json.RawMessage `json:"stdin"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, nil, invalid("", err.Error())
	}
	for i, arg := range in.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, nil, invalid(fmt.Sprintf("/args/%d", i), zeroByte)
		}
	}
	return in.Args, textOf(in.Stdin), nil
}

const zeroByte = "an argument cannot have a zero byte"

// argument puts one argument together; false: there is none, since a property is not there.
func argument(parts []loader.ArgumentPart, fields map[string]json.RawMessage) (
	arg string, ok bool, err error) {
	var b strings.Builder
	for _, p := range parts {
		if p.Property == "" {
			b.WriteString(p.Text)
			continue
		}
		raw := fields[p.Property]
		if raw == nil || string(raw) == "null" {
			return "", false, nil
		}
		value := textOf(raw)
		if strings.ContainsRune(string(value), 0) {
			return "", false, invalid("/"+p.Property, zeroByte)
		}
		b.Write(value)
	}
	return b.String(), true, nil
}

// textOf is a string's text, and anything else as JSON; null is nothing.
func textOf(raw json.RawMessage) []byte {
	var text *string
	if json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return nil
		}
		return []byte(*text)
	}
	return raw
}

// onlyText is the one string among the properties.
func onlyText(fields map[string]json.RawMessage) ([]byte, error) {
	var text string
	for name, raw := range fields {
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, invalid("/"+name, "want a string")
		}
	}
	if len(fields) != 1 {
		return nil, invalid("", fmt.Sprintf("want one string, have %d arguments", len(fields)))
	}
	return []byte(text), nil
}

// invalid is an input that no command line can be made of.
func invalid(pointer, detail string) error {
	return &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: &plugins.SchemaError{
		Pointer: pointer, Problems: []plugins.Problem{{Pointer: pointer, Detail: detail}},
	}}
}
