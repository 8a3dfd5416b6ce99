package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// history builds the view of a session: its messages, with the results of each turn in the order of
// its calls.
type history struct {
	list []entry
	open []slot // the calls of the last turn
}

// entry is a message and where its line lies in the file. Size 0: it is not in the file.
type entry struct {
	message.Message
	offset, size int64
}

type slot struct {
	call   message.Call
	result *entry
}

// add takes the next message of the file. The error says what is wrong with it.
func (h *history) add(e entry) error {
	if err := checkShape(&e.Message); err != nil {
		return err
	}
	if e.Role == message.Tool {
		return h.answer(e)
	}
	if e.Role == message.System && len(h.list) > 0 {
		return fmt.Errorf("a system prompt that is not the first message")
	}
	h.list = h.closed(time.Time{})
	h.list = append(h.list, e)
	h.open = nil
	for _, c := range e.Calls {
		h.open = append(h.open, slot{call: c})
	}
	return nil
}

// answer puts a result into its place. Two calls of one turn may have the same ID.
func (h *history) answer(e entry) error {
	id := e.Result.CallID
	twice := false
	for i := range h.open {
		s := &h.open[i]
		if s.call.ID != id {
			continue
		}
		if s.result == nil {
			s.result = &e
			return nil
		}
		twice = true
	}
	if twice {
		return fmt.Errorf("a second result of call %q", id)
	}
	if h.asked(id) {
		return fmt.Errorf("a result of call %q, which belongs to an earlier turn", id)
	}
	return fmt.Errorf("a result of call %q, which no earlier message asks for", id)
}

func (h *history) asked(id string) bool {
	return slices.ContainsFunc(h.list, func(e entry) bool {
		return slices.ContainsFunc(e.Calls, func(c message.Call) bool { return c.ID == id })
	})
}

// missing lists the calls of the last turn that have no result.
func (h *history) missing() (calls []message.Call) {
	for _, s := range h.open {
		if s.result == nil {
			calls = append(calls, s.call)
		}
	}
	return calls
}

// closed is the list with a result for each call, as it would be if the turn ended now.
func (h *history) closed(at time.Time) []entry {
	list := h.list
	for _, s := range h.open {
		if s.result != nil {
			list = append(list, *s.result)
		} else {
			list = append(list, entry{Message: message.Interrupted(s.call, at)})
		}
	}
	return list
}

// messages is the view.
func (h *history) messages() []message.Message {
	list := h.closed(time.Time{})
	all := make([]message.Message, len(list))
	for i := range list {
		all[i] = list[i].Message
	}
	return all
}

// mark is a copy to go back to. What both share is only ever added to.
func (h *history) mark() history {
	return history{list: h.list, open: slices.Clone(h.open)}
}

func checkShape(m *message.Message) error {
	switch m.Role {
	case message.System, message.User, message.Assistant, message.Tool:
	default:
		return fmt.Errorf("the unknown role %q", m.Role)
	}
	if (m.Role == message.Tool) != (m.Result != nil) {
		return fmt.Errorf("the role tool and a result belong together, this is the role %s", m.Role)
	}
	if len(m.Calls) > 0 && m.Role != message.Assistant {
		return fmt.Errorf("calls in a message of the role %s", m.Role)
	}
	for _, c := range m.Calls {
		if c.ID == "" {
			return fmt.Errorf("a call without an ID")
		}
	}
	if m.Result != nil {
		switch m.Result.Outcome {
		case message.OK, message.Error, message.Unknown:
		default:
			return fmt.Errorf("a result with the unknown outcome %q", m.Result.Outcome)
		}
	}
	return nil
}
