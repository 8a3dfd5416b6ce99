package script

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// fields are those of a call's arguments; no arguments at all are none.
func (c *call) fields() (fields map[string]any, err error) {
	fields = map[string]any{}
	if strings.TrimSpace(c.Arguments) == "" {
		return fields, nil
	}
	err = json.Unmarshal([]byte(c.Arguments), &fields)
	return fields, err
}

// recalled is a call's arguments with what they have of earlier results. missing is a pointer that
// leads to nothing in any.
func (c *call) recalled(history []message.Message) (arguments, missing string) {
	if len(c.Recall) == 0 {
		return c.Arguments, ""
	}
	fields, _ := c.fields() // checked before
	for name, pointer := range c.Recall {
		value, ok := latest(history, pointer)
		if !ok {
			return "", pointer
		}
		fields[name] = value
	}
	return compact(fields), ""
}

// latest is the value in the latest result that has one at the pointer.
func latest(history []message.Message, pointer string) (any, bool) {
	for _, m := range slices.Backward(history) {
		var whole any
		if m.Result == nil || json.Unmarshal([]byte(m.Result.Text), &whole) != nil {
			continue
		}
		if value, ok := at(whole, pointer); ok {
			return value, true
		}
	}
	return nil, false
}
