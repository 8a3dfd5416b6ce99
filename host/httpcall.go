package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host/egress"
)

// Limits of what goes through the host call http, in bytes. The policy's own are those of what
// carries the requests, and lower.
const (
	maxHTTPCall   = 16 << 20 // of a coded request
	maxHTTPAnswer = 64 << 20 // of a body and headers
)

// http sends a request for the guest, which waits without a turn.
func (in *instance) http(mem guestMemory, args []uint64) int {
	return in.service(mem, args, "http", maxHTTPCall, in.module.policy.Grants.HTTP != nil,
		in.send)
}

func (in *instance) send(b []byte) ([]byte, error) {
	q, err := abihost.ParseHTTPRequest(b)
	if err != nil {
		return nil, callError(abi.Invalid, "the request cannot be read: %v", err)
	}
	req := &egress.Request{Method: q.Method, URL: q.URL, Body: q.Body,
		Timeout: time.Duration(q.TimeoutMS) * time.Millisecond}
	for _, h := range q.Headers {
		req.Headers = append(req.Headers, egress.Header(h))
	}
	resp, err := in.fetch(req)
	if err != nil {
		return nil, err
	}
	return answerOf(resp)
}

// fetch sends a request. Its errors are *abi.CallError.
func (in *instance) fetch(req *egress.Request) (resp *egress.Response, err error) {
	ctx, cancel := in.waiting()
	defer cancel()
	in.away(func() { resp, err = in.module.policy.Grants.HTTP.Do(ctx, req) })
	failure, known := errors.AsType[*egress.Error](err)
	if !known || failure.Sent {
		in.run.effects.Requests++
	}
	in.look()
	switch {
	case known:
		return nil, callError(abi.CallErrorKind(failure.Kind), "%v", failure)
	case err != nil:
		return nil, in.interrupted(err, "no request can be sent now")
	}
	return resp, nil
}

func answerOf(resp *egress.Response) ([]byte, error) {
	a := abi.HTTPResponse{Status: resp.Status, URL: resp.URL, Body: resp.Body,
		Truncated: resp.Truncated}
	size := len(resp.Body)
	for _, h := range resp.Headers {
		a.Headers = append(a.Headers, abi.HTTPHeader(h))
		size += len(h.Name) + len(h.Value)
	}
	if size > maxHTTPAnswer {
		return nil, callError(abi.TooLarge, "the answer has %s, more than %s",
			byteText(int64(size)), byteText(maxHTTPAnswer))
	}
	return abi.AppendHTTPResponse(nil, &a), nil
}

// interrupted is an error of something that the guest waited for: the caller has given up, or else
// the host is in trouble, which is the operator's to read.
func (in *instance) interrupted(err error, text string) error {
	if !in.run.cancelled.IsZero() || in.run.caller.Err() != nil {
		return callError(abi.Cancelled, "the caller has given up")
	}
	in.module.engine.logger.Warn("host call", "plugin", in.module.manifest.Name,
		"digest", in.module.Digest(), "error", err)
	return callError(abi.Internal, "%s", text)
}

// service is what the host calls with a payload have in common. Whatever goes wrong is a value for
// the guest; only a range that is not its memory ends it.
func (in *instance) service(mem guestMemory, args []uint64, name string, max int, granted bool,
	work func(b []byte) ([]byte, error)) int {
	b := mem.view(name, args[0], args[1])
	in.charge(uint64(min(len(b), max)))
	err := in.may(name, granted)
	switch {
	case err != nil:
	case len(b) > max:
		err = callError(abi.TooLarge, "the request has %s, more than %s",
			byteText(int64(len(b))), byteText(int64(max)))
	default:
		b, err = work(b)
	}
	if failed, ok := errors.AsType[*abi.CallError](err); ok {
		b = abi.AppendCallError(nil, failed)
	}
	return in.keep(b)
}

// may says why the guest may not use what the operator grants, if it may not.
func (in *instance) may(name string, granted bool) error {
	switch {
	case !in.run.inCall():
		return callError(abi.NotNow, "not while the plugin loads")
	case !granted:
		return callError(abi.Denied, "the operator has not granted %s to this plugin", name)
	}
	return nil
}

func callError(kind abi.CallErrorKind, format string, args ...any) error {
	return &abi.CallError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// waiting is done when the guest must end, and when its caller gives up.
func (in *instance) waiting() (context.Context, context.CancelFunc) {
	r := &in.run
	gaveUp := r.isCancelled(time.Now())
	at, _ := r.end(in.module.limits.Grace)
	ctx, cancel := context.WithDeadline(in.module.killed, at)
	if gaveUp {
		return ctx, cancel // what it does in its grace
	}
	stop := context.AfterFunc(r.caller, cancel)
	return ctx, func() { stop(); cancel() }
}
