package tomlfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Error is a mistake in the text of a file.
type Error struct {
	Line   int // 0: the file as a whole
	Detail string
	Err    error // the library's; may be nil
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Detail) }

func (e *Error) Unwrap() error { return e.Err }

// Lines are the lines of a document's keys and tables, by their paths: names joined by dots, those
// that need it in quotes, and the elements of a list of tables counted from 0, as in
// plugins.fetch.http[1].host. Keys of inline tables are not among them.
type Lines map[string]int

// Parse takes a document apart. Its errors are *Error.
func Parse(content string) (map[string]any, Lines, error) {
	if line := TooDeep(content); line > 0 {
		return nil, nil, &Error{Line: line,
			Detail: fmt.Sprintf("more than %d brackets or dots within each other", MaxDepth)}
	}
	var top map[string]any
	if _, err := toml.Decode(content, &top); err != nil {
		e := &Error{Detail: strings.TrimPrefix(err.Error(), "toml: "), Err: err}
		if at := new(toml.ParseError); errors.As(err, at) {
			e.Line, e.Detail = at.Position.Line, at.Message
		}
		return nil, nil, e
	}
	return top, linesOf(content), nil
}

// Of gives the line of a path, or of what it lies in.
func (l Lines) Of(path string) int {
	for path != "" {
		if line := l[path]; line > 0 {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// Join adds a name to a path.
func Join(path, name string) string {
	name = toml.Key{name}.String()
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index adds the number of an element to the path of a list of tables.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// linesOf reads a document that the library has read without complaint.
func linesOf(content string) Lines {
	s := scanner{content: content, line: 1, lines: Lines{}, lists: map[string]int{}}
	for table := ""; s.next(); {
		if s.content[s.at] == '[' {
			table = s.header()
			continue
		}
		path := table
		line := s.line
		for _, name := range s.key("=") {
			path = Join(path, name)
			s.note(path, line)
		}
		s.value()
	}
	return s.lines
}

type scanner struct {
	content string
	at      int
	line    int
	lines   Lines
	lists   map[string]int // how many elements a list of tables has so far, by its path
}

// next goes to the next key or table.
func (s *scanner) next() bool {
	for s.at < len(s.content) {
		switch s.content[s.at] {
		case '\n':
			s.line++
			s.at++
		case ' ', '\t', '\r':
			s.at++
		case '#':
			s.at += index(s.content[s.at:], "\n")
		default:
			return true
		}
	}
	return false
}

// header takes the head of a table, and gives the path of what is below it.
func (s *scanner) header() (path string) {
	list := strings.HasPrefix(s.content[s.at:], "[[")
	s.at++
	if list {
		s.at++
	}
	names := s.key("]")
	for i, name := range names {
		path = Join(path, name)
		if list && i == len(names)-1 {
			s.lists[path]++
		}
		if n := s.lists[path]; n > 0 {
			s.note(path, s.line)
			path = Index(path, n-1)
		}
		s.note(path, s.line)
	}
	s.at += index(s.content[s.at:], "\n")
	return path
}

func (s *scanner) note(path string, line int) {
	if _, ok := s.lines[path]; !ok {
		s.lines[path] = line
	}
}

// key takes the names up to an end, and the end.
func (s *scanner) key(end string) []string {
	from := s.at
	for s.at < len(s.content) && s.content[s.at] != end[0] {
		if c := s.content[s.at]; c == '"' || c == '\'' {
			s.at += max(1, skipString(s.content[s.at:]))
			continue
		}
		s.at++
	}
	text := s.content[from:min(s.at, len(s.content))]
	s.at++
	var one map[string]any
	md, err := toml.Decode(text+" = 0", &one)
	if err != nil || len(md.Keys()) == 0 {
		return nil
	}
	keys := md.Keys()
	return keys[len(keys)-1]
}

// value passes over a value, to the end of its line.
func (s *scanner) value() {
	depth := 0
	for s.at < len(s.content) {
		switch c := s.content[s.at]; {
		case c == '"' || c == '\'':
			n := max(1, skipString(s.content[s.at:]))
			s.line += strings.Count(s.content[s.at:s.at+n], "\n")
			s.at += n
			continue
		case c == '#':
			s.at += index(s.content[s.at:], "\n")
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '\n' && depth == 0:
			return
		case c == '\n':
			s.line++
		}
		s.at++
	}
}
