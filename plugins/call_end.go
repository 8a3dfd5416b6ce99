package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// asToolError turns what a tool's Invoke returned into what a caller of the registry gets.
func (e *entry) asToolError(ctx context.Context, err error) error {
	tool, isTool := errors.AsType[*ToolError](err)
	switch {
	case err == nil || is[*hostFault](err):
		return err
	case isTool && (tool.Tool == "" || tool.Tool == e.spec.Name):
		mine := *tool // the tool may return the same error to many calls
		mine.Tool, mine.Effect = e.spec.Name, e.spec.Effect
		return &mine
	case isTool:
		// A tool that called another one: that one's kind is not this call's, so only its text
		// stays, and whether trying again can help.
		return e.fail(ErrHandler, &abi.Failure{Message: err.Error(), Permanent: !tool.mayPass()})
	case callersEnd(ctx, err):
		return e.callersEnd(ctx)
	}
	return e.fail(ErrHandler, err)
}

// callersEnd reports whether err only says that the caller's own context is over.
func callersEnd(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// callersEnd is the error of a call that its caller has ended.
func (e *entry) callersEnd(ctx context.Context) error {
	return fmt.Errorf("tool %q: %w", e.spec.Name, context.Cause(ctx))
}

// fail makes a ToolError of this tool.
func (e *entry) fail(kind Kind, cause error) *ToolError {
	return &ToolError{Tool: e.spec.Name, Kind: kind, Effect: e.spec.Effect, Err: cause}
}

// log writes one line about a finished call, at the level that its fault deserves.
func (r *Registry) log(ctx context.Context, call *Call, began time.Time, res *Result, err *error) {
	level := slog.LevelDebug
	fault := FaultOf(*err)
	switch {
	case *err != nil && callersEnd(ctx, *err): // who ends a call knows it
	case fault == FaultTool:
		level = slog.LevelWarn
	case fault == FaultHost:
		level = slog.LevelError
	}
	if !r.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("tool", clip(call.Tool, maxName)),
		slog.String("call", clip(call.ID, maxName)),
		slog.Duration("time", time.Since(began)),
	}
	if *err == nil {
		attrs = append(attrs, slog.Int("attempts", res.Attempts), slog.Bool("copied", res.Copied))
	} else {
		attrs = append(attrs, slog.String("fault", fault.String()),
			slog.String("kind", className(*err)), slog.String("cause", CauseOf(*err)))
		if tool, ok := errors.AsType[*ToolError](*err); ok {
			attrs = append(attrs, slog.Int("attempts", tool.Attempts))
		}
		attrs = append(attrs, slog.String("err", (*err).Error()))
	}
	r.opts.Logger.LogAttrs(ctx, level, "call", attrs...)
}
