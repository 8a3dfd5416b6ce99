package extism

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// module is a plugin whose functions are tools.
type module struct {
	guest     *host.Module
	manifest  abi.Manifest
	functions map[string]loader.Function // by tool

	maxVarBytes int   // of a call's variables
	maxResponse int64 // bytes of a response's body
}

func (m *module) Manifest() abi.Manifest          { return m.manifest }
func (m *module) Size() int64                     { return m.guest.Size() }
func (m *module) Close(ctx context.Context) error { return m.guest.Close(ctx) }

// Call implements loader.Module.
func (m *module) Call(ctx context.Context, call *plugins.Call, obs *host.Observer) (
	out plugins.Output, stats host.CallStats, err error) {
	fn, ok := m.functions[call.Tool]
	if !ok {
		return out, stats, fmt.Errorf("no function of the name %q", call.Tool)
	}
	input := []byte(call.Input)
	if fn.Text {
		if input, err = onlyText(call); err != nil {
			return out, stats, err
		}
	}
	answer, stats, err := m.run(ctx, fn.Export, input, obs)
	if err != nil {
		return out, stats, err
	}
	out, err = loader.OutputOf(answer)
	return out, stats, err
}

// run calls a function with an input and gives its output, a copy.
func (m *module) run(ctx context.Context, export string, input []byte, obs *host.Observer) (
	output []byte, stats host.CallStats, err error) {
	entry := &host.Entry{
		Export: export,
		Ready:  func(g *host.Guest) error { return m.ready(g, input) },
		Exits:  true,
		Keep:   func(r *host.Returned) bool { return verdict(r, export) == nil },
	}
	ret, stats, err := m.guest.Run(ctx, entry, obs)
	s, _ := ret.State.(*state)
	if exit, ok := errors.AsType[*host.ExitError](err); ok {
		err = &abi.Failure{Code: fmt.Sprintf("exit_%d", exit.Code), Message: said(s, exit.Error()),
			Permanent: true}
	}
	if err == nil {
		err = verdict(&ret, export)
	}
	if failure, ok := err.(*abi.Failure); ok {
		failure.Message = string(m.guest.Scrub([]byte(failure.Message)))
	}
	if silent, ok := errors.AsType[*host.ExitError](err); ok {
		silent.Stderr = stats.Stderr
	}
	if err != nil {
		return nil, stats, err
	}
	b, _ := s.mem.view(s.output, s.outLen) // which was there when it was set
	return bytes.Clone(m.guest.Scrub(b)), stats, nil
}

// ready puts the input where the guest finds it.
func (m *module) ready(g *host.Guest, input []byte) error {
	if most := g.Limits().Request; int64(len(input)) > most {
		return &host.LimitError{Limit: "request", Max: most, Asked: int64(len(input))}
	}
	s := g.State().(*state)
	// An output, an error or a response while loading were none of this call's.
	*s = state{mem: s.mem, vars: s.vars, varBytes: s.varBytes,
		maxVarBytes: m.maxVarBytes, maxResponse: m.maxResponse, inputLength: uint64(len(input))}
	s.now = newCall(g, s)
	c := s.now
	err := c.mem.settle(&c.bounds)
	if err == nil {
		s.input, err = c.mem.put(input, &c.bounds)
	}
	return err
}

// command is the function of a program that has one, and ends by an exit.
const command = "_start"

// verdict is why a guest that returned has not done its work: its own report, if it made one. It has
// no way to say that another time may go better, so its failure counts as one that lasts.
func verdict(r *host.Returned, export string) error {
	s := r.State.(*state)
	if r.Exited && !s.answered && export != command {
		return &host.ExitError{}
	}
	if code := int32(r.Result); code != 0 {
		return &abi.Failure{Code: fmt.Sprintf("code_%d", code),
			Message: said(s, fmt.Sprintf("returned %d, without an error text", code)), Permanent: true}
	}
	if s.failure != 0 {
		return &abi.Failure{Message: said(s, "set an empty error"), Permanent: true}
	}
	return nil
}

// said is the text of the guest's error, or what stands in for it.
func said(s *state, silent string) string {
	if len(s.failureText) > 0 {
		return string(s.failureText)
	}
	return silent
}

// onlyText is the one string among arguments.
func onlyText(call *plugins.Call) ([]byte, error) {
	text, err := textIn(call.Packed, call.Input)
	if err != nil {
		return nil, &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: err}
	}
	return text, nil
}

// textIn is that string, of arguments as msgpack; nil: as JSON.
func textIn(packed abi.Raw, input json.RawMessage) (text []byte, err error) {
	if packed == nil {
		if packed, err = transcode.AppendMsgpack(nil, input); err != nil {
			return nil, err
		}
	}
	r := abi.NewReader(packed)
	n, err := r.Map()
	if err != nil {
		return nil, errors.New("the function takes an object with one string")
	}
	if n != 1 {
		return nil, fmt.Errorf("the function takes one string, and there are %d arguments", n)
	}
	name, err := r.StrBytes()
	if err != nil {
		return nil, err
	}
	if text, err = r.StrBytes(); err != nil {
		return nil, fmt.Errorf("the function takes one string, and %q is none", name)
	}
	return text, nil
}
