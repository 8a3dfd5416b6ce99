package main

import "github.com/wasmagent/wasmagent/plugins"

// The exit codes. They are part of the command's promise: a code never changes its meaning.
const (
	exitOK            = 0
	exitHost          = 1
	exitUsage         = 2
	exitNotAllowed    = 3
	exitNotFound      = 4
	exitInvalidInput  = 10
	exitMissingKey    = 11
	exitHandler       = 12
	exitMalformed     = 13
	exitSerialization = 14
	exitCollision     = 15
	exitInFlight      = 16
	exitUnresolved    = 17
	exitSettled       = 18
	exitProvider      = 20
	exitStopped       = 21
	exitTimeout       = 124
	exitInterrupted   = 130
)

// exit is an exit code with the word that stands for it in JSON.
type exit struct {
	code int
	kind string
}

// exits lists every way to end but success. Where one code has several words, the error itself says
// which.
var exits = []exit{
	{exitHost, "host"},
	{exitHost, "invalid_session"},
	{exitHost, "interchange"},
	{exitHost, "io"},
	{exitHost, "reduction"},
	{exitHost, "sdk"},
	{exitUsage, "usage"},
	{exitNotAllowed, "not_allowed"},
	{exitNotFound, "not_found"},
	{exitInvalidInput, plugins.ErrInvalidInput.Error()},
	{exitMissingKey, plugins.ErrMissingIdempotencyKey.Error()},
	{exitHandler, plugins.ErrHandler.Error()},
	{exitMalformed, plugins.ErrMalformedResult.Error()},
	{exitSerialization, plugins.ErrOutputSerialization.Error()},
	{exitCollision, "collision"},
	{exitInFlight, "in_flight"},
	{exitUnresolved, "needs_reconciliation"},
	{exitSettled, "settled"},
	{exitProvider, "http"},
	{exitProvider, "provider"},
	{exitProvider, "decode"},
	{exitProvider, "missing_api_key"},
	{exitProvider, "other"},
	{exitStopped, "budget"},
	{exitStopped, "max_iterations"},
	{exitStopped, "context_limit_exceeded"},
	{exitStopped, "repeated"},
	{exitTimeout, "timeout"},
	{exitInterrupted, "interrupted"},
}

// toolExits gives the exit code of each kind of tool error.
var toolExits = map[plugins.Kind]int{
	plugins.ErrInvalidInput:          exitInvalidInput,
	plugins.ErrMissingIdempotencyKey: exitMissingKey,
	plugins.ErrHandler:               exitHandler,
	plugins.ErrMalformedResult:       exitMalformed,
	plugins.ErrOutputSerialization:   exitSerialization,
}

// kindOf gives an exit code's word.
func kindOf(code int) string {
	for _, e := range exits {
		if e.code == code {
			return e.kind
		}
	}
	return "host"
}
