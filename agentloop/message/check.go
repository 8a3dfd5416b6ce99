package message

import "fmt"

// OrderError is a list of messages that no provider takes.
type OrderError struct {
	Index  int // of the message
	Detail string
}

func (e *OrderError) Error() string { return fmt.Sprintf("message %d: %s", e.Index+1, e.Detail) }

// Check tells whether every call has exactly one result, in its place. Its error is an *OrderError.
func Check(list []Message) error {
	var open []Call
	for i := range list {
		m := &list[i]
		refuse := func(format string, args ...any) error {
			return &OrderError{i, fmt.Sprintf(format, args...)}
		}
		if m.Role == Tool {
			if m.Result == nil {
				return refuse("the role is tool and there is no result")
			}
			if len(open) == 0 || open[0].ID != m.Result.CallID {
				return refuse("a result of call %q, which is not the next one to be answered",
					m.Result.CallID)
			}
			open = open[1:]
			continue
		}
		switch {
		case len(open) > 0:
			return refuse("call %q has no result", open[0].ID)
		case m.Result != nil:
			return refuse("a result in a message of the role %s", m.Role)
		case len(m.Calls) > 0 && m.Role != Assistant:
			return refuse("calls in a message of the role %s", m.Role)
		case m.Role == System && i > 0:
			return refuse("a system prompt that is not the first message")
		}
		open = m.Calls
	}
	if len(open) > 0 {
		return &OrderError{len(list), fmt.Sprintf("call %q has no result", open[0].ID)}
	}
	return nil
}
