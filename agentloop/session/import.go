package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Import makes a session of what another program has recorded, all of it or nothing, and locks it.
// The source says which program that is. Its error is an *InvalidError where the messages are none
// of a session.
func (d *Dir) Import(name, source string, m Meta, list []message.Message) (*Session, error) {
	if source == sourceOwn || !slices.Contains(sources, source) {
		return nil, fmt.Errorf("sessions are not imported from %q", source)
	}
	m.Title = shorten(m.Title)
	var text bytes.Buffer
	var view history
	for i := range list {
		start := text.Len()
		if err := appendLine(&text, list[i]); err != nil {
			return nil, err
		}
		err := view.add(entry{Message: list[i]})
		if size := text.Len() - start; err == nil && size > MaxLine {
			err = fmt.Errorf("the line would have more than %d bytes", MaxLine)
		} else if err == nil && text.Len() > MaxFile {
			err = fmt.Errorf("the file would have more than %d bytes", MaxFile)
		}
		if err != nil {
			return nil, &InvalidError{Line: i + 2, Detail: err.Error()}
		}
		m.note(&list[i])
	}
	return d.create(name, Header{Source: source}, m, text.Bytes())
}
