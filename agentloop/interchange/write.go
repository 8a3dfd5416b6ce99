package interchange

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// state is what a line that is added to a file must know of those before it.
type state struct {
	last    time.Time // of all lines
	ordinal *int64    // Codex: the last line's, where they have one

	parent    string // Claude Code: the UUID of the last line of the conversation
	sidechain bool
}

// Write writes a conversation as a session file. It is checked that the file gives the conversation
// back before a byte of it is written. The error is an *Error, or w's.
func Write(w io.Writer, f Format, c *Conversation) error {
	if !slices.Contains(Formats, f) {
		return &Error{Detail: fmt.Sprintf("the format %q is not known: it is one of %v", f, Formats)}
	}
	if len(c.Messages) == 0 {
		return &Error{Format: f, Detail: "nothing has been said in it yet"}
	}
	lines, err := compose(f, c)
	if err == nil {
		_, err = w.Write(append(bytes.Join(lines, []byte("\n")), '\n'))
	}
	return err
}

// compose gives the lines of a file: those that the messages were read from as far as they still
// say the same, and new ones for the rest.
func compose(f Format, c *Conversation) (lines [][]byte, err error) {
	for _, n := range []int{len(c.Messages), lastTurn(c.Messages), 0} {
		old := keptLines(c.Messages[:n], f)
		if lines, err = composeFrom(old, f, c); err == nil || len(old) == 0 {
			break
		}
	}
	return lines, err
}

// lastTurn is where the last turn begins of those that have lines of a file.
func lastTurn(list []message.Message) int {
	for n := len(list) - 1; n > 0; n-- {
		if list[n].Role == message.User {
			return n
		}
	}
	return 0
}

// composeFrom continues lines of a file with what they do not say.
func composeFrom(old [][]byte, f Format, c *Conversation) ([][]byte, error) {
	w := &writer{Conversation: c, format: f}
	n := 0
	if len(old) > 0 {
		in, err := parse(old, f)
		if err != nil {
			return nil, err
		}
		if n = len(in.Messages); n > len(c.Messages) {
			return nil, &Error{Format: f, Detail: "it has lines of messages that are not there"}
		}
		for n < len(c.Messages) && !in.sourced[n-1] {
			n-- // made up when it was read; it must be there when somebody goes on
		}
		w.lines, w.state = slices.Clone(old), in.state
		w.id, w.cwd = cmp.Or(in.ID, c.ID), cmp.Or(in.CWD, c.CWD)
	} else {
		n = w.begin()
	}
	for i := n; i < len(c.Messages); i++ {
		if err := w.add(i); err != nil {
			return nil, err
		}
	}
	if f == ClaudeCode && len(old) > 0 && n < len(c.Messages) {
		w.point()
	}
	err := limited(w.lines, f, limits{MaxLine, MaxFile, MaxLines})
	if err == nil {
		err = w.check()
	}
	return w.lines, err
}

// limited tells whether what was written can be read.
func limited(lines [][]byte, f Format, max limits) error {
	size := int64(0)
	for _, line := range lines {
		size += int64(len(line)) + 1
		if int64(len(line)) > max.line {
			return &Error{Format: f, Detail: fmt.Sprintf("a line would have more than %d bytes", max.line)}
		}
	}
	if size > max.file || len(lines) > max.lines {
		return &Error{Format: f, Detail: fmt.Sprintf("the file would have more than %d bytes or %d lines",
			max.file, max.lines)}
	}
	return nil
}

// writer writes new lines.
type writer struct {
	*Conversation
	state
	format  Format
	id, cwd string // of the session, as the file has them
	lines   [][]byte
	names   []string // of the tools whose results come next
}

// begin writes what stands before all messages, and tells how many of them that has said.
func (w *writer) begin() int {
	id, err := uuid.Parse(w.ID)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(w.ID))
	}
	w.id, w.cwd, w.last = id.String(), w.CWD, w.Created
	for i := range w.Messages { // an imported session is younger than what was said in it
		if at := w.Messages[i].Time; !at.IsZero() && at.Before(w.last) {
			w.last = at
		}
	}
	if w.cwd == "" {
		w.cwd = "/"
	}
	if w.format == Codex {
		return w.beginCodex()
	}
	return 0
}

// uuid gives the n-th message's, or that of a part of it.
func (w *writer) uuid(n int, of string) string {
	space, err := uuid.Parse(w.id)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(w.id))
	}
	return uuid.NewSHA1(space, fmt.Appendf(nil, "%s %d", of, n)).String()
}

// stamp is the time of a message's lines: no line is older than the one before it.
func (w *writer) stamp(m *message.Message) string {
	if m.Time.After(w.last) {
		w.last = m.Time
	}
	return w.last.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// add writes message n, and beside its first line what a reader would not find in it.
func (w *writer) add(n int) error {
	m := &w.Messages[n]
	name := ""
	if m.Role != message.Tool {
		w.names = nil
		for _, c := range m.Calls {
			w.names = append(w.names, plain(c.Name))
		}
	} else if len(w.names) > 0 {
		name, w.names = w.names[0], w.names[1:]
	}
	said := w.claude
	if w.format == Codex {
		said = w.codex
	}
	lines := said(n, m)
	raw := make([][]byte, len(lines))
	for i := range lines {
		raw[i] = encode(lines[i])
	}
	raw[0] = encode(append(lines[0], field{ownField, patch{}})) // which tells whose it is
	if err := limited(raw, w.format, limits{MaxLine, MaxFile, MaxLines}); err != nil {
		return err
	}
	if own := difference(w.reread(raw, name), fields(m)); len(own) > 0 {
		raw[0] = encode(append(lines[0], field{ownField, own}))
	}
	w.lines = append(w.lines, raw...)
	return nil
}

// reread is the message that lines give back by themselves, and a result with its tool's name,
// which its call gives.
func (w *writer) reread(lines [][]byte, tool string) patch {
	r := newReader(w.format, lines)
	read := r.readClaude
	if w.format == Codex {
		read = r.readCodex
	}
	if read() != nil {
		return nil
	}
	for _, p := range r.parts {
		return fields(&p.Message)
	}
	for _, list := range r.results {
		list[0].Result.Name = tool
		return fields(&list[0].Message)
	}
	return nil
}

// check reads all that was written, and holds it against what should have been.
func (w *writer) check() error {
	in, err := parse(w.lines, w.format)
	if err != nil {
		return err
	}
	if have, want := len(in.Messages), len(w.Messages); have != want {
		return &Error{Format: w.format,
			Detail: fmt.Sprintf("it would give back %d messages of %d", have, want)}
	}
	for i := range w.Messages {
		have, want := fields(&in.Messages[i]), fields(&w.Messages[i])
		if len(difference(have, want)) > 0 {
			return &Error{Format: w.format, Detail: fmt.Sprintf("it would not give back message %d (%s)",
				i+1, w.Messages[i].Role)}
		}
	}
	return nil
}

// nothing stands for a text without words, which the models' APIs refuse.
const nothing = "(no content)"

// maxName is the most characters of an ID or a tool's name that the models' APIs take.
const maxName = 64

// plain makes a name of what the models' APIs take.
func plain(s string) string {
	b := []byte(s)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		b = []byte("_")
	}
	return string(b[:min(len(b), maxName)])
}
