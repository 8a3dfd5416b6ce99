package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// teller tells what happens while a model and its tools are at work. In text form the answer goes
// to stdout and everything else to stderr; with jsonl each event is a line of stdout; with json
// there is one object at the end. Tools that run side by side may speak at once.
type teller struct {
	app    *app
	stream bool // text goes to stdout as it is written, as in a chat

	mu     sync.Mutex
	open   bool  // stdout is in the middle of a line
	failed error // of the last write

	turns, calls int // so far, of all runs
	model        string
}

func (a *app) newTeller(stream bool) *teller {
	a.status.on = isTerminal(a.err) && a.form == "text" && (!stream || !isTerminal(a.out))
	return &teller{app: a, stream: stream}
}

// How much of a stranger's text a line of stderr shows, in characters.
const (
	maxShownArguments = 200
	maxShownResult    = 300
)

// event tells one event of a run. The last one is the outcome's.
func (t *teller) event(ev message.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Kind == message.TurnCompleted && ev.Agent == "" {
		t.turns++
		t.calls += len(ev.Message.Calls)
		t.model = ev.Message.Model
	}
	switch t.app.form {
	case "text":
		t.text(ev)
	case "jsonl":
		if ev.Kind != message.Ended {
			t.write(func(w io.Writer) error { return writeJSON(w, "jsonl", ev) })
		}
	default:
		if ev.Kind == message.Warning {
			t.line("%s%s %s", t.who(ev.Agent), t.paint().yellow("warning:"), oneLine(ev.Text))
		}
	}
}

// who begins a line about a subagent.
func (t *teller) who(agent string) string {
	if agent == "" {
		return ""
	}
	return t.paint().dim("["+agent+"]") + " "
}

func (t *teller) text(ev message.Event) {
	switch ev.Kind {
	case message.TextDelta:
		if t.stream && ev.Agent == "" {
			t.say(ev.Text)
		}
	case message.ReasoningDelta:
		t.app.status.show("%s is thinking", t.turn())
	case message.ToolStarted:
		t.line("%s%s %s %s", t.who(ev.Agent), t.paint().bold("call"), oneLine(ev.Call.Name),
			shorten(ev.Call.Arguments, maxShownArguments))
		t.app.status.show("%s: %s runs", t.turn(), oneLine(ev.Call.Name))
	case message.ToolCompleted:
		t.result(t.who(ev.Agent), ev.Result)
		t.app.status.show("%s: waiting for the model", t.turn())
	case message.TurnCompleted:
		if t.stream && ev.Agent == "" {
			t.endLine()
		} else if len(ev.Message.Calls) > 0 && ev.Message.Text != "" {
			t.line("%s%s", t.who(ev.Agent), visible(strings.TrimSuffix(ev.Message.Text, "\n")))
		}
	case message.JobChanged:
		t.job(t.who(ev.Agent), ev.Job)
	case message.AgentStarted:
		t.line("%s%s %s", t.who(ev.Agent), t.paint().bold("begins:"), shorten(ev.Text, maxShownArguments))
	case message.AgentEnded:
		t.agentEnded(ev)
	case message.Warning:
		t.line("%s%s %s", t.who(ev.Agent), t.paint().yellow("warning:"), oneLine(ev.Text))
	}
}

// agentEnded tells how a subagent has ended.
func (t *teller) agentEnded(ev message.Event) {
	if ev.End == message.EndAnswer {
		t.line("%s%s", t.who(ev.Agent), t.paint().green("has answered"))
		return
	}
	t.line("%s%s %s", t.who(ev.Agent), t.paint().red("has no answer:"),
		shorten(ev.Text, maxShownResult))
}

// result tells what became of a call in a line.
func (t *teller) result(who string, r *message.Result) {
	name := oneLine(r.Name)
	switch r.Outcome {
	case message.OK:
		size := len(r.Text)
		if r.Handle != "" {
			size = r.Bytes
		}
		t.line("%s%s %s %s", who, t.paint().green("done"), name, t.paint().dim(bytesText(int64(size))))
	case message.Unknown:
		t.line("%s%s %s %s", who, t.paint().red("unknown"), name, shorten(r.Text, maxShownResult))
	default:
		code := r.Code
		if r.Cause != "" && r.Cause != code {
			code += ", " + r.Cause
		}
		t.line("%s%s %s (%s): %s", who, t.paint().red("failed"), name, code,
			shorten(r.Text, maxShownResult))
	}
}

// turn says where the run is.
func (t *teller) turn() string {
	return fmt.Sprintf("turn %d, %s", t.turns, count(t.calls, "call"))
}

// begin tells that the model has been asked.
func (t *teller) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.app.status.show("waiting for the model")
}

// note is a line of stderr, in every form.
func (t *teller) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line(format, args...)
}

// warn tells a warning that is not the loop's own.
func (t *teller) warn(text string) {
	t.event(message.Event{Kind: message.Warning, Text: text})
}

// progressEvent is a line of jsonl that the loop has no event for.
type progressEvent struct {
	Event    message.EventKind `json:"event"`
	Call     message.Call      `json:"call"`
	Progress progressJSON      `json:"progress"`
}

const toolProgress message.EventKind = "tool_progress"

// progress tells what a running tool says of its progress.
func (t *teller) progress(id, tool string, p abi.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.app.form == "jsonl" {
		ev := progressEvent{toolProgress, message.Call{ID: id, Name: tool},
			progressJSON{p.Done, p.Total, p.Message}}
		t.write(func(w io.Writer) error { return writeJSON(w, "jsonl", ev) })
		return
	}
	of := fmt.Sprint(p.Done)
	if p.Total > 0 {
		of += fmt.Sprintf(" of %v", p.Total)
	}
	t.app.status.show("%s: %s %s %s", t.turn(), tool, of, shorten(p.Message, maxShownArguments))
	t.app.log.Info("progress", "tool", tool, "done", p.Done, "total", p.Total, "message", p.Message)
}

// say writes a piece of the model's text to stdout.
func (t *teller) say(text string) {
	t.app.status.clear()
	t.write(func(w io.Writer) error {
		_, err := io.WriteString(w, visible(strings.ReplaceAll(text, "\r\n", "\n")))
		return err
	})
	t.open = !strings.HasSuffix(text, "\n")
}

// endLine ends the line of stdout that the model's text left open.
func (t *teller) endLine() {
	t.app.status.clear()
	if t.open {
		t.write(func(w io.Writer) error { _, err := io.WriteString(w, "\n"); return err })
		t.open = false
	}
}

// line writes a line to stderr.
func (t *teller) line(format string, args ...any) {
	t.endLine()
	fmt.Fprintf(t.app.err, format+"\n", args...)
}

// write writes to stdout, and keeps the error for the end: what has begun is not undone by it.
func (t *teller) write(to func(io.Writer) error) {
	if err := to(t.app.out); err != nil && t.failed == nil {
		t.failed = err
	}
}

func (t *teller) paint() palette { return t.app.paint(t.app.err) }

// quiet has nobody else write while f does.
func (t *teller) quiet(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
	f()
}

// shorten is a stranger's text in a line of ours.
func shorten(text string, most int) string {
	r := []rune(lineBreaks.Replace(text))
	if len(r) <= most {
		return visible(string(r))
	}
	return visible(string(r[:most])) + fmt.Sprintf(" … [%d characters more]", len(r)-most)
}

// statusLine is the last line of a terminal, which says what goes on until something else is
// written.
type statusLine struct {
	w  io.Writer
	on bool // on a terminal

	mu    sync.Mutex
	shown bool
}

const maxStatus = 79 // characters: a line that wraps could not be cleared

func (s *statusLine) show(format string, args ...any) {
	if s.on {
		s.clear()
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprint(s.w, cut(fmt.Sprintf(format, args...), maxStatus))
		s.shown = true
	}
}

func (s *statusLine) clear() { _, _ = s.Write(nil) }

// Write writes in its place, for the log.
func (s *statusLine) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
	if len(b) == 0 {
		return 0, nil
	}
	return s.w.Write(b)
}
