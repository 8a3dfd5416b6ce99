package sdk

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// refuse is a call that does not fit the moment, or what it is about.
func refuse(name, format string, args ...any) *agentloop.SdkError {
	return &agentloop.SdkError{Name: name, Err: fmt.Errorf(format, args...)}
}

// named gives the error of a run its stable name. What is behind it stays findable.
func named(err error) *agentloop.SdkError {
	if own, ok := err.(*agentloop.SdkError); ok {
		return own
	}
	name := agentloop.SdkExecution
	switch agentloop.Code(err) {
	case "sdk":
		name = agentloop.SdkCode(err)
	case "missing_api_key":
		name = agentloop.SdkUnauthorized
	case "provider":
		answer, ok := errors.AsType[*agentloop.StatusError](err)
		if ok && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
			name = agentloop.SdkUnauthorized
		}
	}
	return &agentloop.SdkError{Name: name, Err: err}
}

// namedOpening does so for an error of opening a conversation.
func namedOpening(err error) *agentloop.SdkError {
	_, inUse := errors.AsType[*session.BusyError](err)
	_, noName := errors.AsType[*session.NameError](err)
	name := ""
	switch {
	case inUse:
		name = agentloop.SdkBusy
	case noName, errors.Is(err, fs.ErrExist):
		name = agentloop.SdkInvalidArgument
	case errors.Is(err, fs.ErrNotExist):
		name = agentloop.SdkNotFound
	case errors.Is(err, errors.ErrUnsupported):
		name = agentloop.SdkUnsupportedAction
	default:
		return named(err)
	}
	return &agentloop.SdkError{Name: name, Err: err}
}
