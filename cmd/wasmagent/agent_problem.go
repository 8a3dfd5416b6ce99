package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/script"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// agentProblem is what errors of a model, a run or a session have to say besides their text.
type agentProblem struct {
	Status          int    `json:"status,omitempty"`
	Variable        string `json:"variable,omitempty"`
	MaxTurns        int    `json:"max_turns,omitempty"`
	ProjectedTokens int    `json:"projected_tokens,omitempty"`
	ReserveTokens   int    `json:"reserve_tokens,omitempty"`
	ContextLimit    int    `json:"context_limit,omitempty"`
	Model           string `json:"model,omitempty"`
	Line            int    `json:"line,omitempty"`
	Reduction       string `json:"reduction,omitempty"`
}

// agentExits gives the exit codes of the errors that agentloop.Code names. The others are not the
// agent's.
var agentExits = map[string]int{
	"missing_api_key":        exitProvider,
	"http":                   exitProvider,
	"provider":               exitProvider,
	"decode":                 exitProvider,
	"max_iterations":         exitStopped,
	"context_limit_exceeded": exitStopped,
	"invalid_session":        exitHost,
	"reduction":              exitHost,
	"interchange":            exitHost,
	"sdk":                    exitHost,
}

// agentExit classifies an error of the agent layer.
func agentExit(err error) (code int, kind string, ok bool) {
	if errors.Is(err, errCancelled) {
		return exitInterrupted, "interrupted", true
	}
	if stopped, is := errors.AsType[*stoppedError](err); is {
		return exitStopped, string(stopped.end), true
	}
	if other, is := errors.AsType[*agentloop.OtherError](err); is && other.Where == "model" {
		return exitProvider, "other", true
	}
	if _, is := errors.AsType[*session.BusyError](err); is {
		return exitInFlight, "in_flight", true
	}
	if _, is := errors.AsType[*agentloop.IOError](err); is {
		return exitHost, "io", true
	}
	kind = agentloop.Code(err)
	code, ok = agentExits[kind]
	return code, kind, ok
}

func isStopped(err error) bool {
	_, ok := errors.AsType[*stoppedError](err)
	return ok
}

// addAgentError tells what an error of the agent layer has to say besides its text.
func (p *problem) addAgentError(err error) {
	if e, ok := errors.AsType[*provider.StatusError](err); ok {
		p.Status = e.Status
	}
	if e, ok := errors.AsType[*provider.MissingAPIKeyError](err); ok {
		p.Variable = e.Variable
	}
	if e, ok := errors.AsType[*agentloop.MaxIterationsError](err); ok {
		p.MaxTurns = e.N
	}
	if e, ok := errors.AsType[*agentloop.ContextLimitError](err); ok {
		p.ProjectedTokens, p.ReserveTokens = e.ProjectedTokens, e.ReserveTokens
		p.ContextLimit, p.Model = e.ContextLimit, e.Model
	}
	if e, ok := errors.AsType[*agentloop.ReductionError](err); ok {
		p.Reduction = e.ID
	}
	if e, ok := errors.AsType[*session.InvalidError](err); ok {
		p.Path, p.Line = e.File, e.Line
	}
	if e, ok := errors.AsType[*agentloop.InterchangeError](err); ok {
		p.Line = e.Line
	}
}

// agentHint says what to do about an error of the agent layer, or "".
func agentHint(err error) string {
	if e, ok := errors.AsType[*provider.StatusError](err); ok {
		return statusHint(e.Status)
	}
	if e, ok := errors.AsType[*provider.MissingAPIKeyError](err); ok {
		return fmt.Sprintf("put the key into $%s, or name the variable that has it with --key-env; "+
			`"wasmagent call" and "wasmagent run --provider script:FILE" need none`, e.Variable)
	}
	if e, ok := errors.AsType[*script.Error](err); ok && e.Step > 0 {
		return "each request is answered by one [[step]] of the script, in their order; " +
			"docs/providers.md tells what a step may say"
	}
	switch agentloop.Code(err) {
	case "http":
		return "is the server running, and is its address right? --base-url, or base_url in the " +
			"section [provider] of the configuration"
	case "decode":
		if errors.Is(err, provider.ErrCutShort) {
			return "try again: the server broke off, or something between did"
		}
		return "does the server speak this API? --provider says which, and --base-url where, with the " +
			"version, such as http://localhost:11434/v1"
	case "invalid_session":
		return `nothing was changed; "wasmagent sessions list" shows the others`
	}
	return ""
}

func statusHint(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "the key is not accepted, or none was sent: only the vendor's own server gets one unless " +
			"--key-env names the variable that has it"
	case status == http.StatusNotFound:
		return "is there such a model, and is the address right? --model, --base-url"
	case status == http.StatusTooManyRequests:
		return "the server asks to wait: try again later"
	case status >= 500 || status == 0:
		return "the fault is the server's: try again later"
	}
	return "the server does not take the request; what it says is the reason"
}

// explain adds to an error of a run how to go on with it.
func (g *agent) explain(err error) error {
	if err == nil {
		return nil
	}
	again := ""
	if g.session != nil {
		again = fmt.Sprintf("wasmagent run --resume %s", g.session.Name())
		if g.app.ledgerFile != "" {
			again += " --ledger " + shellQuote(g.app.ledgerFile)
		}
		again = g.app.inDirs(again)
	}
	var hint string
	switch e, stopped := errors.AsType[*stoppedError](err); {
	case stopped && e.end == message.EndBudget:
		hint = goOn(again, "with a larger --budget-steps, --budget-tokens, --budget-dollars or "+
			"--budget-time")
	case stopped:
		hint = goOn(again, "with a prompt that says what to do instead")
	case agentloop.Code(err) == "max_iterations":
		hint = goOn(again, "with a larger --max-turns")
	case agentloop.Code(err) == "context_limit_exceeded":
		hint = g.contextHint(err)
	case g.session != nil && setApart(err):
		hint = g.app.underPolicy("wasmagent sessions fork "+g.session.Name()) + " makes a session that can go on"
	case g.app.ctx.Err() != nil && again != "":
		hint = again + " goes on with it"
	default:
		return err
	}
	return &hinted{err, hint}
}

// contextHint says how a conversation fits into the model's context.
func (g *agent) contextHint(err error) string {
	if e, ok := errors.AsType[*agentloop.ContextLimitError](err); ok && !g.answered() {
		return fmt.Sprintf("%d tokens of every limit are kept free for the answer, so what was said first "+
			"needs a limit of %d: --context-limit, or provider.context_limits in the configuration",
			e.ReserveTokens, e.ProjectedTokens+e.ReserveTokens)
	}
	fork := "wasmagent sessions fork"
	if g.session != nil {
		fork += " " + g.session.Name()
	}
	hint := "a new conversation, or one forked where it was shorter (" + fork + " --at N), fits; " +
		"--context-limit, if the model takes more"
	if g.loop.Reduction == nil {
		hint += "; capabilities.reduction.enabled = true in the configuration shows the model less of it"
	}
	return hint
}

// answered tells whether the model has said anything in the conversation.
func (g *agent) answered() bool {
	return slices.ContainsFunc(g.loop.History(), func(m message.Message) bool {
		return m.Role == message.Assistant
	})
}

// setApart tells of a session whose run in the ledger cannot be gone on with: it was given up, or
// the session's file was set back since.
func setApart(err error) bool {
	_, diverged := errors.AsType[*plugins.DivergedError](err)
	return diverged || errors.Is(err, ledger.ErrAbandoned)
}

// goOn says how to go on with a run that has stopped. Without a session it must begin anew.
func goOn(again, how string) string {
	if again == "" {
		return "again " + how + "; --session NAME would have kept what was done, to go on with"
	}
	return again + " goes on, " + strings.TrimPrefix(how, "again ")
}
