package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// maxAsked is how many characters of a call's arguments a question shows before it is asked for
// all of them.
const maxAsked = 4000

// canAsk tells whether somebody sits at a terminal who sees a question and can answer it.
func (a *app) canAsk() bool { return a.inIsTerminal() && isTerminal(a.err) }

func (a *app) inIsTerminal() bool {
	in, ok := a.in.(io.Writer) // a file, if it is a terminal
	return ok && isTerminal(in)
}

// ask asks the person at the terminal about a call: first what the host knows of the tool, then
// what the model wants.
func (t *agentTools) ask(ctx context.Context, q agentloop.Question) (agentloop.Answer, error) {
	lines := t.app.typedLines()
	forgetTyped(t.app.in)
	asked := time.Now() // what was typed before is no answer
	arguments := onOneLine(q.Call.Arguments)
	long := len([]rune(arguments)) > maxAsked
	t.heard.quiet(func() { t.question(q, arguments, long) })
	for {
		t.heard.quiet(func() { fmt.Fprint(t.app.err, "[y] once  [s] for this session  [n] no > ") })
		line, err := lines.after(ctx, asked)
		switch {
		case ctx.Err() != nil:
			return agentloop.AnswerDeny, ctx.Err()
		case errors.Is(err, io.EOF):
			return agentloop.AnswerDeny, nil
		case err != nil:
			return agentloop.AnswerDeny, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return agentloop.AnswerAllow, nil
		case "s", "session":
			return agentloop.AnswerAllowSession, nil
		case "n", "no":
			return agentloop.AnswerDeny, nil
		case "v":
			t.heard.note("%s", visible(arguments))
		default:
			t.heard.note("answer y, s or n")
		}
	}
}

// question writes what somebody has to know to decide.
func (t *agentTools) question(q agentloop.Question, arguments string, long bool) {
	w, paint := t.app.err, t.paint()
	fmt.Fprintf(w, "%s may the model call this tool?\n", paint.yellow("approve:"))
	table := newTable(w)
	if q.Agent != "" {
		table.row("  agent", "%s, a subagent", q.Agent)
	}
	owner := t.owner(q.Call.Name)
	switch does := effectText[q.Tool.Effect]; {
	case owner == nil:
		table.row("  tool", "%s, the program's own", q.Call.Name)
	case owner.Digest == "":
		table.row("  tool", "%s, which does this: %s", q.Call.Name, does)
		table.row("  server", "%s, %s, NOT sandboxed", oneLine(owner.Name), oneLine(owner.Path))
	default:
		table.row("  tool", "%s, which does this: %s", q.Call.Name, does)
		table.row("  plugin", "%s, %s, %s", oneLine(owner.Name), oneLine(owner.Path), owner.Digest)
	}
	if long {
		table.row("  input", "%s (v shows all of it)", shorten(arguments, maxAsked))
	} else {
		table.row("  input", "%s", arguments)
	}
	scope := "the same call again"
	if q.Subject == "" {
		scope = "all calls of this tool"
	}
	table.row("  s allows", "%s", scope)
	_ = table.Flush() // as every line to the terminal
}

func (t *agentTools) paint() palette { return t.app.paint(t.app.err) }

// effectText says what a tool does, by what the host has found out or its operator said.
var effectText = map[abi.Effect]string{
	abi.EffectRead:       "read (it can change nothing)",
	abi.EffectIdempotent: "idempotent (it changes something; twice is as once)",
	abi.EffectWrite:      "write (it changes something, each time)",
}

// subject is what an answer for the session is about: of a tool that only reads any call, else the
// very arguments, however they are written.
func (t *agentTools) subject(call message.Call) string {
	if effect, ok := t.effect(call.Name); !ok || effect == abi.EffectRead {
		return ""
	}
	return canonicalJSON(call.Arguments)
}

// onOneLine is a JSON text without line breaks, which could pass for lines of ours.
func onOneLine(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return lineBreaks.Replace(text)
	}
	return b.String()
}

// canonicalJSON is the same for equal values.
func canonicalJSON(text string) string {
	var v any
	if decodeExact([]byte(text), &v) != nil {
		return text
	}
	b, err := encodeExact(v)
	if err != nil {
		return text
	}
	return string(b)
}
