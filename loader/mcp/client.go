//lint:file-ignore SA1019 Servers of the older era tell what they do in no other way.

package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
)

// newClient makes a client that offers a server nothing: no sampling, no questions to a user, no
// roots.
func (s *Source) newClient() *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "wasmagent", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case s.stale <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.heard(r.Params)
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			s.logged(r.Params)
		},
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if !offersNot(method) {
				return next(ctx, method, req)
			}
			s.say("refused: the server asked for "+method, "asks")
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
				Message: method + " is not offered"}
		}
	})
	return client
}

// offersNot reports whether a method is one that a server may have of other clients. The library
// answers the ones that it does not know itself.
func offersNot(method string) bool {
	return slices.Contains([]string{"roots/list", "sampling/createMessage", "elicitation/create"},
		method)
}

// quieten asks a server of the older era for its log from info up: it may send none, or all. What it
// says to that does not matter, nor whether it says anything.
func (s *Source) quieten(ctx context.Context, c *session) {
	init := c.mcp.InitializeResult()
	if init.ProtocolVersion <= oldEra && init.Capabilities != nil && init.Capabilities.Logging != nil {
		ctx, cancel := context.WithTimeout(ctx, quietGrace)
		defer cancel()
		_ = c.mcp.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "info"})
	}
}

// ear is a call that runs, as what its server says finds it. After the call's end it is deaf.
type ear struct {
	mu       sync.Mutex
	progress func(abi.Progress)
	log      func(abi.Level, string)
}

func (e *ear) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.progress, e.log = nil, nil
}

// heard passes progress on to its call.
func (s *Source) heard(p *sdk.ProgressNotificationParams) {
	v, ok := s.ears.Load(p.ProgressToken)
	if !ok {
		return
	}
	e := v.(*ear)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.progress != nil {
		e.progress(abi.Progress{Done: p.Progress, Total: p.Total,
			Message: s.shown(p.Message, MaxProgressChars)})
	}
}

// logged passes a line on: to the call that runs when there is one, since a line does not say whose
// it is, and else to the log.
func (s *Source) logged(p *sdk.LoggingMessageParams) {
	text := s.shown(fmt.Sprint(p.Data), MaxLineChars)
	level := levelOf(string(p.Level))
	s.lines.write(func(dropped int64) {
		var only *ear
		running := 0
		s.ears.Range(func(_, v any) bool {
			only = v.(*ear)
			running++
			return running < 2
		})
		if running == 1 && only.say(level, text) {
			return
		}
		logLine(s.log, slogLevels[level], text, "log", dropped)
	})
}

func (e *ear) say(level abi.Level, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log == nil {
		return false
	}
	e.log(level, text)
	return true
}

var slogLevels = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func levelOf(word string) abi.Level {
	switch word {
	case "debug":
		return abi.LevelDebug
	case "warning":
		return abi.LevelWarn
	case "error", "critical", "alert", "emergency":
		return abi.LevelError
	}
	return abi.LevelInfo
}
