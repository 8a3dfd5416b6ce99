package reduce

import (
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Verify tells what of a log cannot be undone with a record. The log's own rules come first.
func Verify(list []message.Message, log Log) (faults []*Error) {
	if err := log.check(); err != nil {
		return []*Error{err}
	}
	for i := range log {
		if _, err := log[i].checked(list); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// InvertOne gives the original of one record: a text, a call's arguments, or messages as lines of
// JSON, without what no provider is sent, such as their Meta. Its error is an *Error that names the
// id.
func InvertOne(list []message.Message, log Log, id string) (string, error) {
	r, ok := log.Find(id)
	if !ok {
		return "", &Error{ID: id, Fault: ErrMissing}
	}
	text, err := r.told(list)
	if err != nil {
		return "", err
	}
	return text, nil
}

// Invert gives back the record that a view was made of. What the view has is taken from the view,
// the rest from the record, each original held against its digest. Its error is an *Error that
// names the id, and then nothing is given.
func Invert(view []message.Message, log Log, list []message.Message) ([]message.Message, error) {
	if faults := Verify(list, log); len(faults) > 0 {
		return nil, faults[0]
	}
	items := render(list, log)
	full := make([]message.Message, 0, len(list))
	for i := range view {
		if i >= len(items) || !same(&view[i], &items[i].Message) {
			return nil, foreign(&view[i], log, i)
		}
		if items[i].To > items[i].From+1 {
			full = append(full, list[items[i].From:items[i].To]...)
			continue
		}
		full = append(full, restore(view[i], &items[i], &list[items[i].From]))
	}
	if len(view) < len(items) {
		return nil, &Error{Fault: ErrUnresolved, Detail: fmt.Sprintf(
			"the view has %d messages of %d", len(view), len(items))}
	}
	return full, nil
}

// restore puts originals in the place of a message's stubs.
func restore(m message.Message, item *Item, original *message.Message) message.Message {
	for _, r := range item.Records {
		switch r.Kind {
		case Turns:
			m = *original
		case Input:
			m.Calls = slices.Clone(m.Calls)
			m.Calls[r.Pointer.Call].Arguments = original.Calls[r.Pointer.Call].Arguments
		default:
			result := *m.Result
			result.Text = original.Result.Text
			m.Result = &result
		}
	}
	return m
}

// foreign is the error of a message of a view that log and record do not give.
func foreign(m *message.Message, log Log, i int) *Error {
	for _, s := range stubsIn(m) {
		if _, logged := log.Find(s.ID); !logged {
			return &Error{ID: s.ID, Fault: ErrMissing}
		}
	}
	return &Error{Fault: ErrMismatch,
		Detail: fmt.Sprintf("message %d of the view is not made of this record", i+1)}
}

// same tells whether two messages say the same.
func same(a, b *message.Message) bool {
	if (a.Result == nil) != (b.Result == nil) || a.Result != nil && *a.Result != *b.Result {
		return false
	}
	return a.Role == b.Role && a.Text == b.Text && slices.Equal(a.Calls, b.Calls)
}

// Leaks refuses messages that are to stand as a record of their own and in which a stub of the log
// stands for its original. What only quotes a stub, as a model or a tool may, is no leak: then the
// original is in its place. The error is an *Error that names the id.
func Leaks(list []message.Message, log Log) error {
	for i := range log {
		r := &log[i]
		if _, err := r.checked(list); err == nil {
			continue
		}
		for k := range list {
			if r.leaks(&list[k]) {
				return &Error{r.ID, ErrLeak, fmt.Sprintf("message %d has only the stub of it", k+1)}
			}
		}
	}
	return nil
}

func (r *Record) leaks(m *message.Message) bool {
	switch r.Kind {
	case Turns:
		return m.Role == message.User && m.Text == r.Placeholder
	case Input:
		return slices.ContainsFunc(m.Calls, func(c message.Call) bool {
			return stubOf(c.Arguments) == r.Placeholder && digest(c.Arguments) != r.Pointer.SHA256
		})
	}
	return m.Result != nil && lastLine(m.Result.Text) == r.Placeholder &&
		digest(m.Result.Text) != r.Pointer.SHA256
}
