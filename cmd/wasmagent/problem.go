package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/policy"
)

// usageError is a mistake in the flags or arguments that shows only once the command runs.
type usageError struct{ text, hint string }

func (e *usageError) Error() string { return e.text }

// notFoundError is a tool, plugin or file that is not there.
type notFoundError struct{ text, hint string }

func (e *notFoundError) Error() string { return e.text }

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// reported is an error that its command has told all about already.
type reported struct{ error }

func (e *reported) Unwrap() error { return e.error }

// problem is an error as it is printed, and its JSON form.
type problem struct {
	Kind   string   `json:"kind"`
	Cause  string   `json:"cause,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	Plugin string   `json:"plugin,omitempty"`
	Digest string   `json:"digest,omitempty"`
	Path   string   `json:"path,omitempty"`
	Needs  []string `json:"needs,omitempty"`
	// Approval, Changed and Allow tell of a plugin that is not allowed; see loader.NotAllowedError.
	Approval  bool            `json:"approval,omitempty"`
	Changed   []string        `json:"changed,omitempty"`
	Allow     string          `json:"allow,omitempty"`
	Code      string          `json:"code,omitempty"`
	Pointer   string          `json:"pointer,omitempty"`
	Problems  []pointerJSON   `json:"problems,omitempty"`
	Permanent bool            `json:"permanent,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
	// DetailsError is why details that the tool gave are not in Details.
	DetailsError string `json:"details_error,omitempty"`
	// What the ledger knows of the call: its key, the call that holds it, where this one is
	// recorded, its input when somebody must find out about it, and whether its key waits for that.
	Key        string          `json:"key,omitempty"`
	Holder     string          `json:"holder,omitempty"`
	Place      string          `json:"place,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Unresolved bool            `json:"unresolved,omitempty"`
	// Value and Content are a result that could not be recorded.
	Value   json.RawMessage `json:"value,omitempty"`
	Content []blockJSON     `json:"content,omitempty"`

	Attempts int    `json:"attempts,omitempty"` // when there was more than one
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	agentProblem
	Exit int `json:"exit"`

	ours bool // all lines of the message are the host's own words
}

// pointerJSON is one thing wrong with a value, and the JSON pointer of its place.
type pointerJSON struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// finish prints err, if there is one, and gives the exit code. In text form an error goes to
// stderr; otherwise it is the outcome that the caller waits for, and goes to stdout as JSON.
func (a *app) finish(command string, err error) int {
	if err == nil {
		return exitOK
	}
	p := a.problemOf(err)
	if p.Exit == exitUsage && p.Hint == "" {
		p.Hint = fmt.Sprintf(`"%s --help" shows how`, command)
	}
	if _, told := errors.AsType[*reported](err); told {
		return p.Exit
	}
	speaks := command == "wasmagent "+mcpVerb // and stdout is not for outcomes
	if a.form != "json" && a.form != "jsonl" || speaks {
		p.print(a.err, a.paint(a.err))
	} else if werr := writeJSON(a.out, a.form, map[string]problem{"error": p}); werr != nil {
		fmt.Fprintf(a.err, "error: %v\n", werr)
		return exitHost
	}
	return p.Exit
}

// problemOf decides what became of a command that ended with err.
func (a *app) problemOf(err error) problem {
	p := problem{Message: err.Error(), Tool: a.tool}
	p.Exit, p.Kind = a.exitOf(err)
	p.addToolError(err)
	p.addLoadError(err)
	p.addLedgerError(err)
	p.addAgentError(err)
	p.addRecord(a.record)
	if p.Allow != "" {
		p.Allow = a.allowHere(p.Allow, p.Plugin, p.Path)
	}
	p.Hint = a.hintOf(p.Exit, err)
	_, p.ours = errors.AsType[*config.Error](err)
	return p
}

// exitOf classifies err: its exit code and the word for it.
func (a *app) exitOf(err error) (code int, kind string) {
	code = a.codeOf(err)
	if c, word, ok := agentExit(err); ok && code == exitHost {
		return c, word
	}
	return code, kindOf(code)
}

// codeOf is the exit code of all errors but the agent's. A tool error comes first, since a plugin's
// own time limit matches a context error too.
func (a *app) codeOf(err error) int {
	var tool *plugins.ToolError
	if errors.As(err, &tool) {
		return toolExits[tool.Kind]
	}
	var usage *usageError
	var flag *policy.FlagError
	if !a.started || errors.As(err, &usage) || errors.As(err, &flag) {
		return exitUsage
	}
	if a.ctx.Err() != nil {
		if errors.Is(context.Cause(a.ctx), errTimeout) {
			return exitTimeout
		}
		return exitInterrupted
	}
	if code, ok := ledgerExit(err); ok {
		return code
	}
	var missing *notFoundError
	var denied *loader.NotAllowedError
	var refused *notAgreedError
	var server *mcp.ServerError
	switch {
	case errors.As(err, &server):
		return exitHandler
	case errors.As(err, &denied), errors.As(err, &refused):
		return exitNotAllowed
	case errors.As(err, &missing):
		return exitNotFound
	}
	return exitHost
}

// addToolError tells what a failed call has to say besides its text.
func (p *problem) addToolError(err error) {
	var tool *plugins.ToolError
	if !errors.As(err, &tool) {
		return
	}
	p.Tool, p.Plugin, p.Digest, p.Cause = tool.Tool, tool.Plugin, tool.Digest, plugins.CauseOf(err)
	if tool.Attempts > 1 {
		p.Attempts = tool.Attempts
	}
	var schema *plugins.SchemaError
	if errors.As(tool.Err, &schema) {
		p.Pointer = schema.Pointer
		for _, each := range schema.Problems {
			p.Problems = append(p.Problems, pointerJSON{each.Pointer, each.Detail})
		}
	}
	var carriage *transcode.CarriageError
	if errors.As(tool.Err, &carriage) {
		p.Pointer = carriage.Pointer
		p.Problems = []pointerJSON{{carriage.Pointer, carriage.Detail}}
	}
	var failure *abi.Failure
	if errors.As(tool.Err, &failure) {
		p.Code, p.Permanent, p.Pointer = failure.Code, failure.Permanent, failure.Pointer
		if tool.Kind == plugins.ErrInvalidInput {
			p.Problems = []pointerJSON{{failure.Pointer, failure.Message}}
		}
		p.addDetails(failure.Details)
	}
}

// addDetails takes in what the tool adds to its failure, or why that cannot be shown.
func (p *problem) addDetails(raw abi.Raw) {
	if len(raw) == 0 {
		return
	}
	details, err := transcode.AppendJSON(nil, raw)
	if err != nil {
		p.DetailsError = err.Error()
		return
	}
	p.Details = details
}

func (p *problem) addLoadError(err error) {
	var server *mcp.ServerError
	if errors.As(err, &server) {
		p.Plugin, p.Cause = server.Server, server.CauseName()
	}
	var load *loader.LoadError
	if errors.As(err, &load) {
		p.Plugin, p.Path = load.Plugin, load.Path
	}
	var spec *loader.SpecError
	if errors.As(err, &spec) {
		p.Tool, p.Plugin, p.Path = spec.Tool, spec.Plugin, spec.Path
	}
	var denied *loader.NotAllowedError
	if errors.As(err, &denied) {
		p.Plugin, p.Path, p.Needs = denied.Plugin, denied.Path, denied.Needs
		p.Approval, p.Changed, p.Allow = denied.Approval, denied.Changed, denied.Allow
	}
}

// print writes p for people: the fact (of a configuration, all of them), what to do, and only then a
// guest's many lines.
func (p *problem) print(w io.Writer, c palette) {
	fact, rest, long := strings.Cut(p.Message, "\n")
	fmt.Fprintf(w, "%s %s\n", c.red("error:"), visible(fact))
	if long && p.ours {
		fmt.Fprintln(w, visible(rest))
		long = false
	}
	if p.Hint != "" {
		fmt.Fprintf(w, "%s %s\n", c.dim("hint:"), oneLine(p.Hint))
	}
	if p.DetailsError != "" {
		fmt.Fprintf(w, "%s left out, %s\n", c.dim("details:"), visible(p.DetailsError))
	} else if p.Details != nil {
		fmt.Fprintf(w, "%s %s\n", c.dim("details:"), visible(string(p.Details)))
	}
	if long {
		fmt.Fprintln(w, visible(rest))
	}
}
