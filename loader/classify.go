package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// This file is the single table from what happened in the sandbox to the kinds of
// plugins.ToolError.

// callFault classifies a call that ended without a reply.
func (t *tool) callFault(err error) error {
	var (
		limit    *host.LimitError
		trap     *host.TrapError
		exit     *host.ExitError
		contract *host.ContractError
	)
	switch {
	case errors.As(err, &limit) && limit.Limit == "time":
		return t.fault(plugins.ErrHandler, err)
	case errors.As(err, &limit) && limit.Limit == "request":
		return t.fault(plugins.ErrInvalidInput, err)
	case errors.As(err, &limit) && limit.Limit == "total":
		return plugins.HostFault(err) // others had a part in it
	case errors.As(err, &limit), errors.As(err, &trap), errors.As(err, &exit),
		errors.As(err, &contract):
		return t.fault(plugins.ErrMalformedResult, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the caller's own end
	}
	return plugins.HostFault(err)
}

// otherFault classifies the error of a guest of another contract.
func (t *tool) otherFault(err error, took *host.CallStats) error {
	if e, ok := errors.AsType[*plugins.ToolError](err); ok {
		return t.fault(e.Kind, e.Err)
	}
	if f, ok := errors.AsType[*abi.Failure](err); ok {
		if took.Note != "" {
			f.Message += " (" + took.Note + ")"
		}
		return t.reported(plugins.ErrHandler, f)
	}
	return t.callFault(err)
}

// read turns a reply into a result, or into what the guest says went wrong. That the input was bad is
// believed only of a guest that did nothing before it said so: else something may have happened.
func (t *tool) read(buf *buffer, took *host.CallStats) (plugins.Output, error) {
	b := buf.reply
	reply, err := abi.ParseReply(b)
	if err == nil && reply.Outcome == abi.OutcomeOK && b[0] == oneKey {
		return t.value(buf, reply.Value) // which scans as it goes: the usual reply is not read twice
	}
	if err := transcode.Scan(b, transcode.MaxNodes); err != nil {
		return plugins.Output{}, t.malformed("bad_msgpack", err)
	}
	if err != nil {
		return plugins.Output{}, t.malformed("bad_envelope", err)
	}
	switch reply.Outcome {
	case abi.OutcomeOK:
		return t.value(buf, reply.Value)
	case abi.OutcomeContent:
		return t.content(reply.Content)
	}
	if err := transcode.Scan(b, transcode.MaxSmallNodes); err != nil {
		return plugins.Output{}, t.malformed("bad_msgpack", err)
	}
	switch reply.Outcome {
	case abi.OutcomeFailed:
		if took.Note != "" { // why, in all likelihood: such as a path that is not there
			reply.Failure.Message += " (" + took.Note + ")"
		}
		return plugins.Output{}, t.reported(plugins.ErrHandler, reply.Failure)
	case abi.OutcomeInvalidInput:
		if took.Effects.Any() {
			return plugins.Output{}, t.reported(plugins.ErrHandler, reply.Failure)
		}
		return plugins.Output{}, t.reported(plugins.ErrInvalidInput, reply.Failure)
	case abi.OutcomeUnserializable:
		return plugins.Output{}, t.reported(plugins.ErrOutputSerialization, reply.Failure)
	}
	return plugins.Output{}, t.malformed("bad_envelope", errors.New("an outcome of no known kind"))
}

// oneKey begins a reply that has no key but its outcome: a map of one.
const oneKey = 0x81

// value gives a result its JSON form. It is made in the buffer and then copied, so that it is
// allocated once, at its size.
func (t *tool) value(buf *buffer, raw abi.Raw) (plugins.Output, error) {
	value, err := transcode.AppendJSON(buf.value[:0], raw)
	switch {
	case err == nil && cap(value) > maxPooledBytes:
		return plugins.Output{Value: value}, nil // no buffer of this size is kept for the next call
	case err == nil:
		buf.value = value
		result := make([]byte, len(value)) // bytes.Clone would round the size up and clear the rest
		copy(result, value)
		return plugins.Output{Value: result}, nil
	case isType[*transcode.NoJSONError](err):
		return plugins.Output{}, t.fault(plugins.ErrOutputSerialization, err)
	}
	if e, ok := errors.AsType[*transcode.SyntaxError](err); ok && buf.reply[0] == oneKey {
		e.Offset += len(buf.reply) - len(raw) // of the reply, which the value ends
	}
	return plugins.Output{}, t.malformed("bad_msgpack", err)
}

// content frees blocks from the reply. Their texts become JSON sooner or later, so each must be
// UTF-8.
func (t *tool) content(blocks []abi.Block) (plugins.Output, error) {
	for i, b := range blocks {
		for _, field := range [...]struct{ name, text string }{
			{"text", b.Text}, {"mime", b.MIME}, {"name", b.Name},
		} {
			if !utf8.ValidString(field.text) {
				return plugins.Output{}, t.fault(plugins.ErrOutputSerialization, &transcode.NoJSONError{
					Path:   fmt.Sprintf("$.content[%d].%s", i, field.name),
					Detail: "a string is not UTF-8",
				})
			}
		}
	}
	return plugins.Output{Content: cloneBlocks(blocks)}, nil
}

// How much a guest may say about a failure, in characters; more is cut.
const (
	maxMessage = 4096
	maxWord    = 256 // of its code and its pointer
)

// reported is a failure in the guest's own words. Its details alias the reply and are copied.
func (t *tool) reported(kind plugins.Kind, f *abi.Failure) error {
	return t.fault(kind, &abi.Failure{
		Code:      abi.CleanText(f.Code, maxWord),
		Message:   abi.CutText(strings.ToValidUTF8(f.Message, "\uFFFD"), maxMessage),
		Permanent: f.Permanent,
		Pointer:   abi.CleanText(f.Pointer, maxWord),
		Details:   bytes.Clone(f.Details),
	})
}

// malformed is a reply that cannot be read, with the byte where it goes wrong if that is known.
func (t *tool) malformed(name string, err error) error {
	m := &plugins.MalformedError{Name: name, Detail: err.Error(), Offset: -1}
	if e, ok := errors.AsType[*transcode.SyntaxError](err); ok {
		m.Detail, m.Offset = e.Detail, e.Offset
	}
	if e, ok := errors.AsType[*abi.DecodeError](err); ok {
		m.Detail, m.Offset = e.Detail, e.Offset
	}
	return t.fault(plugins.ErrMalformedResult, m)
}

// loadFault is a call whose plugin could not be loaded: never the tool's own, and the caller's only
// when it stopped waiting.
func (t *tool) loadFault(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return plugins.HostFault(err)
}

func (t *tool) fault(kind plugins.Kind, cause error) error {
	return &plugins.ToolError{
		Tool: t.spec.Name, Kind: kind, Effect: t.spec.Effect,
		Plugin: t.plugin.Name, Digest: t.plugin.Digest, Err: cause,
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
