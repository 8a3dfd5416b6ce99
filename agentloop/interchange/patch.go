package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"

	"github.com/wasmagent/wasmagent/internal/misfit"
)

// ownField is the field of a line that says what the rest of it cannot.
const ownField = "wasmagent"

// patch is what a message has in its JSON form, and the words of a format do not give back: the
// values of its fields, or null for those that it has not. That of "result" is one itself.
type patch map[string]json.RawMessage

// fields is a message in its JSON form. The lines that it was read from are left out.
func fields(m *message.Message) patch {
	plain := *m
	plain.Meta = map[string]json.RawMessage{}
	for key, value := range m.Meta {
		if key != string(ClaudeCode) && key != string(Codex) {
			plain.Meta[key] = value
		}
	}
	return split(encode(plain))
}

func split(object []byte) patch {
	var p patch
	if json.Unmarshal(object, &p) != nil {
		return nil
	}
	return p
}

// difference is what makes have into want. It is empty, not nil, where there is none.
func difference(have, want patch) patch {
	d := patch{}
	for key, value := range want {
		if key == "result" && have[key] != nil {
			if inner := difference(split(have[key]), split(value)); len(inner) > 0 {
				d[key] = encode(inner)
			}
		} else if !bytes.Equal(have[key], value) {
			d[key] = value
		}
	}
	for key := range have {
		if _, ok := want[key]; !ok {
			d[key] = json.RawMessage("null")
		}
	}
	return d
}

// over lays a patch over an object.
func (p patch) over(object patch) patch {
	if object == nil {
		object = patch{}
	}
	for key, value := range p {
		switch {
		case string(value) == "null":
			delete(object, key)
		case key == "result" && split(value) != nil:
			object[key] = encode(split(value).over(split(object[key])))
		default:
			object[key] = value
		}
	}
	return object
}

// apply changes a message. What comes out must be one.
func (p patch) apply(m *message.Message) error {
	var changed message.Message
	if err := json.Unmarshal(encode(p.over(fields(m))), &changed); err != nil {
		return errors.New(misfit.Text(err))
	}
	switch changed.Role {
	case message.System, message.User, message.Assistant, message.Tool:
	default:
		return fmt.Errorf("the unknown role %q", changed.Role)
	}
	if r := changed.Result; r != nil {
		switch r.Outcome {
		case message.OK, message.Error, message.Unknown:
		default:
			return fmt.Errorf("the unknown outcome %q", r.Outcome)
		}
	}
	for _, c := range changed.Calls {
		if c.ID == "" {
			return fmt.Errorf("a call without an ID")
		}
	}
	delete(changed.Meta, string(ClaudeCode))
	delete(changed.Meta, string(Codex))
	*m = changed
	return nil
}
