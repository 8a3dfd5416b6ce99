package agentloop

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// MaxMessage is how many bytes a message may have as JSON that the user or the model says. With what
// a loop adds to it, it has to fit into a line of a session: one that did not could never be
// recorded, nor anything after it.
const MaxMessage = session.MaxLine - maxAdded

const (
	maxAdded     = 2 << 20 // bytes that a loop adds to a message, such as its time, beside those:
	maxAddedCall = 32      // bytes for each call, which may be without an ID
	maxEscaped   = 6       // bytes of JSON for one byte of text
)

// checkSize refuses a message that has more bytes as JSON than max, which is MaxMessage but in tests.
func checkSize(m *message.Message, max int) error {
	n := len(m.Text)
	for i := range m.Reasoning {
		n += len(m.Reasoning[i].Text) + len(m.Reasoning[i].Opaque)
	}
	for i := range m.Calls {
		n += len(m.Calls[i].ID) + len(m.Calls[i].Name) + len(m.Calls[i].Arguments) + maxAddedCall
	}
	for key, value := range m.Meta {
		n += len(key) + len(value)
	}
	if n < max/maxEscaped { // as nearly all are
		return nil
	}
	if n <= max {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(m); err != nil {
			return err
		}
		n = text.Len() - 1 + maxAddedCall*len(m.Calls)
	}
	if n > max {
		return fmt.Errorf("it has more than %d bytes as JSON", max)
	}
	return nil
}
