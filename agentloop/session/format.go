package session

import (
	"bytes"
	"encoding/json"
	"regexp"
	"time"
)

const (
	MaxName     = 64        // characters of a session's name
	MaxHeader   = 4 << 10   // bytes of the first line
	MaxLine     = 32 << 20  // bytes of a line, with its newline
	MaxFile     = 256 << 20 // bytes of a session's file
	MaxMeta     = 64 << 10  // bytes of NAME.meta.json
	MaxSessions = 10_000    // sessions that a folder's list may have
)

const (
	formatName    = "wasmagent.session"
	formatVersion = 1
	sourceOwn     = "wasmagent"
)

// sources are who may have written the messages of a session first.
var sources = []string{sourceOwn, "claude-code", "codex"}

// Header is the first line of a session's file. It never changes.
type Header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Source  string    `json:"source"` // who wrote the messages first
	ID      string    `json:"id"`     // a UUID of version 7
	Created time.Time `json:"created,omitzero"`
	Parent  *Parent   `json:"parent,omitempty"` // of a fork, and of a subagent's

	// Ledger is the file that records the calls. It is not opened here: whoever goes on with the
	// session must record them in the same one, or what was done may be done again.
	Ledger string `json:"ledger,omitempty"`
}

// Parent says where a session comes from: which one it is a fork of, or whose subagent's it is.
type Parent struct {
	ID       string `json:"id"`
	Name     string `json:"name"`            // at that time
	Messages int    `json:"messages"`        // that it had in common with the fork
	Agent    string `json:"agent,omitempty"` // the subagent's ID; "": it is a fork
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func checkName(name string) error {
	if len(name) > MaxName || !namePattern.MatchString(name) {
		return &NameError{Name: name}
	}
	return nil
}

// appendLine adds v as one line of JSON. Nothing in it can break the line: JSON escapes every
// control character, and raw values are compacted.
func appendLine(buf *bytes.Buffer, v any) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
