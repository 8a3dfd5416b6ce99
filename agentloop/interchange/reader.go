package interchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/internal/misfit"
)

// reader puts a conversation together out of a file's lines.
type reader struct {
	format  Format
	lines   [][]byte
	parts   []*part
	results map[string][]*result // by call, in the order in which they are to be taken
	account func()               // tells what a format leaves out; nil: nothing
	broken  int                  // lines that are no JSON

	taken      map[int]bool // the lines whose results have found their calls
	orphans    int          // results that have not
	unanswered int          // calls without one
	out        Imported
}

// part is what a speaker said, and where. Lines are counted from 0.
type part struct {
	message.Message
	lines []int
	patch patch
}

// result is an answer to a call.
type result struct {
	message.Message
	line  int
	patch patch
	aside bool // what it belongs to may be no part of the conversation
}

// stamp is a time. One that cannot be read is none.
type stamp struct{ time.Time }

func (s *stamp) UnmarshalJSON(b []byte) error {
	if s.Time.UnmarshalJSON(b) != nil {
		s.Time = time.Time{}
	}
	return nil
}

func newReader(f Format, lines [][]byte) *reader {
	return &reader{format: f, lines: lines, results: map[string][]*result{}, taken: map[int]bool{}}
}

func (r *reader) fail(line int, format string, args ...any) error {
	return &Error{r.format, line + 1, fmt.Sprintf(format, args...)}
}

// note tells of things that are kept and not part of the conversation, if there are any.
func (r *reader) note(n int, one, many, why string) {
	if n > 0 {
		thing := one
		if n > 1 {
			thing = many
		}
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%d %s %s", n, thing, why))
	}
}

// seen takes note of line n as such, and of how reading it ended.
func (r *reader) seen(n int, at time.Time, err error) {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok && len(bytes.TrimSpace(r.lines[n])) > 0 {
		r.broken++
	}
	if !at.IsZero() && (r.out.Created.IsZero() || at.Before(r.out.Created)) {
		r.out.Created = at
	}
	if at.After(r.out.last) {
		r.out.last = at
	}
}

func (r *reader) answer(line int, id, text string, outcome message.Outcome, p patch) *result {
	res := &result{line: line, patch: p, Message: message.Message{Role: message.Tool,
		Result: &message.Result{CallID: id, Outcome: outcome, Text: text}}}
	r.results[id] = append(r.results[id], res)
	return res
}

// finish puts each result behind its call, and gives every message its lines.
func (r *reader) finish() (*Imported, error) {
	if len(r.parts) == 0 {
		return nil, &Error{Format: r.format, Detail: "there is no conversation in it"}
	}
	holder := make([]int, len(r.lines)) // the message that keeps a line, from 1
	for _, p := range r.parts {
		if err := r.add(p.Message, p.patch, p.lines, holder); err != nil {
			return nil, err
		}
		for i, c := range p.Calls {
			if c.ID == "" || c.Name == "" {
				return nil, r.fail(p.lines[0], "call %d has no ID or no name", i+1)
			}
			res, lines := r.take(c, p.lines[0])
			if err := r.add(res.Message, res.patch, lines, holder); err != nil {
				return nil, err
			}
		}
	}
	if r.account != nil {
		r.account()
	}
	r.accountAll()
	if err := message.Check(r.out.Messages); err != nil {
		return nil, &Error{Format: r.format, Detail: err.Error()}
	}
	r.keep(holder)
	r.out.Format = r.format
	return &r.out, nil
}

// take finds the result of a call, which must come after it.
func (r *reader) take(c message.Call, after int) (*result, []int) {
	list := r.results[c.ID]
	for len(list) > 0 && list[0].line < after {
		r.orphan(list[0])
		list = list[1:]
	}
	if len(list) > 0 {
		res := list[0]
		r.results[c.ID], r.taken[res.line] = list[1:], true
		res.Result.Name = c.Name
		return res, []int{res.line}
	}
	r.results[c.ID] = nil
	r.unanswered++
	return &result{Message: message.Interrupted(c, time.Time{})}, nil
}

func (r *reader) add(m message.Message, p patch, lines, holder []int) error {
	if p != nil {
		if err := p.apply(&m); err != nil {
			return r.fail(lines[0], "the field %q does not fit: %s", ownField, misfit.Text(err))
		}
	}
	r.out.Messages = append(r.out.Messages, m)
	r.out.sourced = append(r.out.sourced, len(lines) > 0)
	for _, n := range lines {
		if holder[n] == 0 { // a line may have several messages: the first one keeps it
			holder[n] = len(r.out.Messages)
		}
	}
	return nil
}

// orphan counts a result that no call of the conversation has.
func (r *reader) orphan(res *result) {
	if !res.aside {
		r.orphans++
	}
}

// accountAll tells of what is the same in all formats.
func (r *reader) accountAll() {
	for _, list := range r.results {
		for _, res := range list {
			r.orphan(res)
		}
	}
	r.note(r.broken, "line", "lines", "of no JSON")
	r.note(r.orphans, "result", "results", "of no call of the conversation")
	r.note(r.unanswered, "call", "calls",
		"without a result: it may or may not have run, and counts as unknown")
}

// keep gives each line to its message, or to the one before it in the file.
func (r *reader) keep(holder []int) {
	lines := make([][]any, len(r.out.Messages))
	last := 1
	for n, h := range holder {
		last = cmp.Or(h, last)
		lines[last-1] = append(lines[last-1], keep(n+1, r.lines[n]))
	}
	for i := range lines {
		if m := &r.out.Messages[i]; len(lines[i]) > 0 {
			if m.Meta == nil {
				m.Meta = map[string]json.RawMessage{}
			}
			m.Meta[string(r.format)] = encode(object{{"lines", lines[i]}})
		}
	}
}

// keptLines are the lines of a format that messages keep, in the order of the file.
func keptLines(list []message.Message, f Format) [][]byte {
	var all []keptLine
	for i := range list {
		var k kept
		if raw := list[i].Meta[string(f)]; raw != nil && json.Unmarshal(raw, &k) == nil {
			all = append(all, k.Lines...)
		}
	}
	slices.SortStableFunc(all, func(a, b keptLine) int { return cmp.Compare(a.N, b.N) })
	lines := make([][]byte, len(all))
	for i := range all {
		lines[i] = all[i].text()
	}
	return lines
}

// paragraphs joins the texts of a message that has several.
func paragraphs(texts []string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	return strings.Join(texts, "\n\n")
}

// picture stands in a text for something that is no text.
func picture(kind, mime string, bytes int) string {
	if mime == "" {
		return fmt.Sprintf("[%s, not shown]", kind)
	}
	return fmt.Sprintf("[%s, %s, %d bytes, not shown]", kind, mime, bytes)
}
