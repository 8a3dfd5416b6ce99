package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
)

// Each error of the agent layer has its exit code and its word, wherever it is wrapped.
func TestAgentExits(t *testing.T) {
	a := &app{started: true, ctx: t.Context()}
	for _, c := range []struct {
		err  error
		exit int
		kind string
	}{
		{&agentloop.HTTPError{Err: errors.New("refused")}, exitProvider, "http"},
		{&agentloop.StatusError{Status: 503}, exitProvider, "provider"},
		{&agentloop.DecodeError{Err: errors.New("no JSON")}, exitProvider, "decode"},
		{&agentloop.MissingAPIKeyError{Variable: "K"}, exitProvider, "missing_api_key"},
		{&agentloop.OtherError{Where: "model", Err: errors.New("odd")}, exitProvider, "other"},
		{&agentloop.OtherError{Where: "approval", Err: errors.New("odd")}, exitHost, "host"},
		{&agentloop.MaxIterationsError{N: 3}, exitStopped, "max_iterations"},
		{&agentloop.ContextLimitError{}, exitStopped, "context_limit_exceeded"},
		{&stoppedError{message.EndBudget, "used up"}, exitStopped, "budget"},
		{&stoppedError{message.EndRepeated, "again"}, exitStopped, "repeated"},
		{&agentloop.InvalidSessionError{Line: 3}, exitHost, "invalid_session"},
		{&agentloop.IOError{Err: fs.ErrPermission}, exitHost, "io"},
		{&agentloop.SdkError{Name: "busy", Err: errors.New("odd")}, exitHost, "sdk"},
		{&session.BusyError{Name: "s"}, exitInFlight, "in_flight"},
		{&plugins.ReconciliationError{Tool: "t"}, exitUnresolved, "needs_reconciliation"},
		{errCancelled, exitInterrupted, "interrupted"},
		{&fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist}, exitHost, "host"},
	} {
		for _, err := range []error{c.err, &hinted{fmt.Errorf("run: %w", c.err), "do it"},
			&reported{c.err}} {
			if p := a.problemOf(err); p.Exit != c.exit || p.Kind != c.kind {
				t.Errorf("%T: exit %d, %s", c.err, p.Exit, p.Kind)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTimeout)
	a.ctx = ctx
	err := fmt.Errorf("the run was stopped: %w", context.Cause(ctx))
	if p := a.problemOf(err); p.Exit != exitTimeout || p.Kind != "timeout" {
		t.Errorf("exit %d, %s", p.Exit, p.Kind)
	}
}

// A hint claims nothing that may not be so: only a vendor's own server is sent a key unasked, and a
// stream that has begun is not asked for again.
func TestAgentHints(t *testing.T) {
	for want, err := range map[string]error{
		"or none was sent":                           &agentloop.StatusError{Status: 401},
		"the server asks to wait":                    &agentloop.StatusError{Status: 429},
		"the fault is the server's: try again later": &agentloop.StatusError{},
		"try again: the server broke off":            &agentloop.DecodeError{Err: provider.ErrCutShort},
		"does the server speak this API?":            &agentloop.DecodeError{Err: errors.New("no JSON")},
	} {
		if hint := agentHint(fmt.Errorf("asked: %w", err)); !strings.Contains(hint, want) {
			t.Errorf("%v: %q", err, hint)
		}
	}
}
