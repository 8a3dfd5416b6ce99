package interchange

import (
	"fmt"
	"io"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Format is whose files they are.
type Format string

const (
	ClaudeCode Format = "claude-code" // ~/.claude/projects/FOLDER/SESSION.jsonl
	Codex      Format = "codex"       // ~/.codex/sessions/…/rollout-TIME-SESSION.jsonl
)

// Formats lists those that can be read and written.
var Formats = []Format{ClaudeCode, Codex}

const (
	MaxLine  = 16 << 20  // bytes of a line, without its newline
	MaxFile  = 120 << 20 // bytes of a file: its session, where texts are twice, has 256 MiB at most
	MaxLines = 200_000   // lines of a file
	MaxDepth = 500       // objects and lists inside each other, in a line
)

// Error is a file or a conversation that cannot be carried over.
type Error struct {
	Format Format // "" where it is not known
	Line   int    // from 1; 0: all of it
	Detail string // what is wrong, and what to do about it
}

func (e *Error) Error() string {
	where := "the session"
	if e.Format != "" {
		where = "the " + string(e.Format) + " session"
	}
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	return where + ": " + e.Detail
}

// Conversation is what is carried over.
type Conversation struct {
	ID       string    // of the session; another program's is a UUID, too
	Created  time.Time // may be zero
	CWD      string    // the directory that it was about
	Title    string    // "" where nobody has given one; not written
	Messages []message.Message
}

// Imported is a conversation that another agent has recorded.
type Imported struct {
	Conversation
	Format Format
	Notes  []string // what is kept, and is not part of the conversation

	state          // for whoever adds to the file
	sourced []bool // which messages are in the file; the others were made up
}

// Read reads a session file. Its format is found out where none is given. The error is an *Error,
// or r's.
func Read(r io.Reader, f Format) (*Imported, error) {
	lines, err := readLines(r, limits{MaxLine, MaxFile, MaxLines})
	if err != nil {
		return nil, err
	}
	return parse(lines, f)
}

func parse(lines [][]byte, f Format) (*Imported, error) {
	if f == "" {
		if f = detect(lines); f == "" {
			return nil, &Error{Detail: "neither a session of Claude Code nor one of Codex; " +
				"if it is one, its format says which (--format claude-code or --format codex)"}
		}
	}
	r := newReader(f, lines)
	var err error
	switch f {
	case ClaudeCode:
		err = r.readClaude()
	case Codex:
		err = r.readCodex()
	default:
		return nil, &Error{Detail: fmt.Sprintf("the format %q is not known: it is one of %v", f, Formats)}
	}
	if err != nil {
		return nil, err
	}
	return r.finish()
}
