package session

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2/maybe"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Meta is what is known of a session beside its messages. It can change, and be made anew.
type Meta struct {
	Title    string  `json:"title,omitempty"` // "": the beginning of the first thing the user says
	Model    string  `json:"model,omitempty"` // that spoke last
	Archived bool    `json:"archived,omitempty"`
	Counts   *Counts `json:"counts,omitempty"` // nil: not known, since its last run did not end well
}

// Counts are those of a session's messages.
type Counts struct {
	Messages int           `json:"messages"`
	Calls    int           `json:"calls"`
	Usage    message.Usage `json:"usage"`
	Bytes    int64         `json:"bytes"` // of the file that was counted
}

// titleLength is the most characters of a title that is made from a message.
const titleLength = 80

// note takes what a message tells about its session.
func (m *Meta) note(said *message.Message) {
	if m.Title == "" && said.Role == message.User {
		m.Title = shorten(said.Text)
	}
	if said.Model != "" {
		m.Model = said.Model
	}
}

func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= titleLength {
		return text
	}
	return string([]rune(text)[:titleLength-1]) + "…"
}

func count(list []entry, size int64) *Counts {
	c := &Counts{Messages: len(list), Bytes: size}
	for i := range list {
		c.Calls += len(list[i].Calls)
		if u := list[i].Usage; u != nil {
			c.Usage.Add(*u)
		}
	}
	return c
}

func metaFile(name string) string { return name + ".meta.json" }

// readMeta reads a session's meta file. One that is not there is an empty one.
func (d *Dir) readMeta(name string) (m Meta, err error) {
	f, err := d.open(metaFile(name), MaxMeta)
	if err != nil {
		if isMissing(err) {
			return m, nil
		}
		return m, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxMeta))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return Meta{}, fmt.Errorf("%s: %w", d.path(metaFile(name)), err)
	}
	return m, nil
}

// writeMeta replaces a session's meta file in one step.
func (d *Dir) writeMeta(name string, m Meta) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(d.path(metaFile(name)), append(text, '\n'), 0o600)
}
