package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Keys of a call's _meta, for servers that work with them.
const (
	MetaKey     = "wasmagent/key"     // the idempotency key; absent when the call is not keyed
	MetaAttempt = "wasmagent/attempt" // from 1
)

// tool is one tool of a server: the bridge from a registry's call to the server's.
type tool struct {
	source *Source
	offered
}

func (t *tool) Spec() abi.ToolSpec { return t.spec }

// OwnName is what the server calls the tool, and what the operator calls it in its rule.
func (t *tool) OwnName() string { return t.original }

// Rule is the operator's word about the tool, as far as it still holds for what the tool has become.
func (t *tool) Rule() plugins.Rule { return t.rule }

// Scope makes the keys of a server's tools the server's own, by the name that its operator gave it.
func (t *tool) Scope() string { return "mcp:" + t.source.server.Name }

// Invoke carries the call to the server and its answer back.
func (t *tool) Invoke(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	s := t.source
	limit := &LimitError{Server: s.server.Name, Limit: "time", Time: s.server.Limits.Time}
	mine, cancel := context.WithTimeoutCause(ctx, s.server.Limits.Time, limit)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if err := s.calls.Acquire(mine, 1); err != nil {
		return plugins.Output{}, t.fault(ctx, mine, err)
	}
	defer s.calls.Release(1)
	if s.weaker(t) {
		return plugins.Output{}, t.failed(plugins.ErrHandler, &abi.Failure{
			Code: "changed", Permanent: true,
			Message: "it has changed since it was listed, and was not called: it counts as write now"})
	}
	raw, err := t.ask(mine, call)
	if err != nil {
		return plugins.Output{}, t.fault(ctx, mine, err)
	}
	a, err := readAnswer(raw, s.scrub)
	if err != nil {
		return plugins.Output{}, t.failed(plugins.ErrMalformedResult, err)
	}
	if a.IsError {
		return plugins.Output{}, t.failed(plugins.ErrHandler, a.failure(s.report))
	}
	out, err := a.output(t.spec.OutputSchema != "")
	if err != nil {
		return plugins.Output{}, t.failed(plugins.ErrMalformedResult, err)
	}
	return out, nil
}

// ask gives the server's answer as it sent it. Where the session turns out to be over and nothing
// ran, or it does no harm if something did, it is asked again in a new one.
func (t *tool) ask(ctx context.Context, call plugins.Call) (raw string, err error) {
	for range 2 {
		var c *session
		if c, err = t.source.use(ctx); err != nil {
			return "", err
		}
		sent := &delivery{}
		raw, err = t.askIn(context.WithValue(ctx, deliveryKey{}, sent), c, call)
		if !sessionLost(err) {
			return raw, err
		}
		if !t.mayAskAgain(err, sent) {
			return "", t.source.fault("call", err, nil)
		}
		select {
		case <-c.over:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", t.source.fault("call", err, nil)
}

// delivery is what is known of a call that its session's end has met. It travels in the call's
// context, since the library tells nothing of the answer that says so.
type delivery struct {
	refused atomic.Bool // the server answered that it does not know the session: it ran nothing
}

type deliveryKey struct{}

func sessionLost(err error) bool {
	return errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
}

// mayAskAgain reports whether a call whose session was lost may be made in another one. The library
// says that a connection is closed only before it writes to it. That the session is missing it also
// says to calls that are under way when another one finds out, and for any answer 404, which
// something before the server may have given, or the server after it did the work.
func (t *tool) mayAskAgain(err error, sent *delivery) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || sent.refused.Load() ||
		t.spec.Effect != abi.EffectWrite
}

// askIn asks in one session. A command that does not even read would hold the call past its end:
// it is ended.
func (t *tool) askIn(ctx context.Context, c *session, call plugins.Call) (string, error) {
	s := t.source
	params, done := t.params(call)
	defer done()
	var result *sdk.CallToolResult
	var err error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		result, err = c.mcp.CallTool(ctx, params)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		if !closesWithin(answered, stuckGrace) {
			c.abort()
			<-answered
		}
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.probe(c)
	}
	switch {
	case wireError(err) != nil:
		s.good()
		return "", err
	case err != nil && ctx.Err() != nil, sessionLost(err):
		return "", err
	case err != nil:
		return "", s.fault("call", err, c)
	}
	s.good()
	raw, ok := result.Meta[rawKey].(string)
	if !ok {
		return "", malformed("bad_envelope", "the result has neither content nor structured content")
	}
	return raw, nil
}

// params are the call as the server gets it. What the server says about it reaches the call until
// done.
func (t *tool) params(call plugins.Call) (p *sdk.CallToolParams, done func()) {
	s := t.source
	p = &sdk.CallToolParams{Name: t.original, Arguments: json.RawMessage("{}"),
		Meta: sdk.Meta{MetaAttempt: max(call.Attempt, 1)}}
	if len(call.Input) > 0 {
		p.Arguments = call.Input
	}
	if call.Key != "" {
		p.Meta[MetaKey] = call.Key
	}
	token := fmt.Sprint("call-", s.tokens.Add(1))
	p.SetProgressToken(token)
	e := &ear{progress: call.Progress, log: call.Log}
	s.ears.Store(token, e)
	return p, func() {
		s.ears.Delete(token)
		e.close()
	}
}

// fault is a call without an answer, or with one that is an error of the protocol. The caller's
// context is ctx, and mine the call's own.
func (t *tool) fault(ctx, mine context.Context, err error) error {
	wire := wireError(err)
	switch {
	case isType[*plugins.MalformedError](err):
		return t.failed(plugins.ErrMalformedResult, err)
	case wire != nil:
		return t.refused(wire)
	case t.source.life.Err() != nil, errors.Is(err, ErrClosed):
		return plugins.HostFault(ErrClosed)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case mine.Err() != nil:
		return t.failed(plugins.ErrHandler, context.Cause(mine))
	}
	if e, ok := errors.AsType[*ServerError](err); ok {
		err = inCall{e}
	}
	return t.failed(plugins.ErrHandler, err)
}

// refused is an error of the protocol. That the arguments are not valid, or the tool not known, is
// what a caller can act on; it is the server's word, and no proof that nothing ran.
func (t *tool) refused(wire *jsonrpc.Error) error {
	message := t.source.report(wire.Message)
	switch wire.Code {
	case codeTooLong:
		return t.failed(plugins.ErrMalformedResult, &LimitError{
			Server: t.source.server.Name, Limit: "output", Bytes: t.source.server.Limits.Output})
	case codeMalformed:
		return t.failed(plugins.ErrMalformedResult, malformed("bad_envelope", message))
	case codeBroken:
		e := &ServerError{Server: t.source.server.Name, Stage: "call", Err: errors.New(message)}
		return t.failed(plugins.ErrHandler, inCall{e})
	case jsonrpc.CodeInvalidParams:
		return t.failed(plugins.ErrInvalidInput, &abi.Failure{Code: "invalid_params", Message: message})
	}
	return t.failed(plugins.ErrHandler, &abi.Failure{
		Code: fmt.Sprintf("rpc%d", wire.Code), Message: message,
		Permanent: wire.Code == jsonrpc.CodeMethodNotFound,
	})
}

func (t *tool) failed(kind plugins.Kind, cause error) error {
	return &plugins.ToolError{Tool: t.spec.Name, Kind: kind, Effect: t.spec.Effect,
		Plugin: t.source.server.Name, Origin: "server", Err: cause}
}

// Codes by which the protocol's library says that it could not ask at all.
const (
	codeClientClosing = -32003
	codeServerClosing = -32004
	codeRejected      = -32005
)

// wireError is the error that the server answered with, or nil.
func wireError(err error) *jsonrpc.Error {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	switch wire.Code {
	case codeClientClosing, codeServerClosing, codeRejected:
		return nil
	}
	return wire
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
