package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/wasmagent/wasmagent/internal/near"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// The sizes of files, in bytes.
const (
	MaxUserFile    = 256 << 10
	MaxProjectFile = 64 << 10
)

// maxValues is how many values a file may have.
const maxValues = 1000

// leaf is what a file says about one path.
type leaf struct {
	at   []string
	raw  any
	line int
}

// readUser reads the user's file, which nobody else may be able to change.
func readUser(file string) (string, error) { return tomlfile.ReadOwn(file, MaxUserFile) }

// readProject reads a project's file.
func readProject(file string) (string, error) { return tomlfile.ReadStranger(file, MaxProjectFile) }

// parseFile takes a file apart, in the order of its lines. Keys that there are not are problems.
func parseFile(file, content string) ([]leaf, *problems, error) {
	if line := tomlfile.TooDeep(content); line > 0 {
		return nil, nil, &Error{File: file, Line: line,
			Detail: fmt.Sprintf("more than %d brackets or dots within each other", tomlfile.MaxDepth)}
	}
	var top map[string]toml.Primitive
	md, err := toml.Decode(content, &top)
	if err != nil {
		e := &Error{File: file, Detail: strings.TrimPrefix(err.Error(), "toml: "), Err: err}
		if at := new(toml.ParseError); errors.As(err, at) {
			e.Line, e.Detail = at.Position.Line, at.Message
		}
		e.Detail = visible(e.Detail, maxDetail)
		return nil, nil, e
	}
	w := walker{md: &md, problems: problems{file: file}}
	w.table(nil, top)
	slices.SortStableFunc(w.leaves, func(a, b leaf) int { return a.line - b.line })
	return w.leaves, &w.problems, nil
}

type walker struct {
	md       *toml.MetaData
	leaves   []leaf
	problems problems
}

func (w *walker) table(at []string, table map[string]toml.Primitive) {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if w.problems.full() {
			return
		}
		w.value(append(slices.Clip(at), name), table[name])
	}
}

func (w *walker) value(at []string, p toml.Primitive) {
	raw, line := w.look(p)
	k, _ := find(at)
	switch {
	case isPolicy(at):
		w.leaves = append(w.leaves, leaf{at, nil, line})
	case k == nil && !isTable(at):
		w.problems.add(line, text(at), "there is no such key%s", meant(at))
	case k == nil:
		var table map[string]toml.Primitive
		if _, ok := raw.(map[string]any); !ok || w.md.PrimitiveDecode(p, &table) != nil {
			w.problems.add(line, text(at), "want a table, have %s", show(raw))
			return
		}
		w.table(at, table)
	case !isWord(at[len(at)-1], maxWord) || len(at) > 1 && !isWord(at[len(at)-2], maxWord):
		w.problems.add(line, text(at), "a name has 1 to %d printable characters", maxWord)
	case len(w.leaves) == maxValues:
		w.problems.add(line, text(at), "the file has more than %d values", maxValues)
	default:
		w.leaves = append(w.leaves, leaf{at, raw, line})
	}
}

// probe takes a value as it is, and gives an error so that the library tells where it stands: it
// tells so of no value that is right.
type probe struct{ raw any }

var errProbe = errors.New("looked at")

func (p *probe) UnmarshalTOML(raw any) error {
	p.raw = raw
	return errProbe
}

// look gives a value and its line. A table that is nowhere written has the line of its first value.
func (w *walker) look(p toml.Primitive) (raw any, line int) {
	var seen probe
	at := new(toml.ParseError)
	if errors.As(w.md.PrimitiveDecode(p, &seen), at) {
		line = at.Position.Line
	}
	var table map[string]toml.Primitive
	if _, ok := seen.raw.(map[string]any); ok && line == 0 && w.md.PrimitiveDecode(p, &table) == nil {
		for _, inner := range table {
			if _, n := w.look(inner); line == 0 || n < line {
				line = n
			}
		}
	}
	return seen.raw, line
}

// meant names the key that an unknown one looks like.
func meant(at []string) string {
	last := at[len(at)-1]
	best, least := "", 1+min(len(text(at)), longKey)/4
	for i := range keys {
		parts := strings.Split(keys[i].name, ".")
		for n := range parts {
			if parts[n] == "*" {
				continue
			}
			known := slices.Clone(parts[:n+1])
			for j := range min(len(at), len(known)) {
				if known[j] == "*" {
					known[j] = at[j]
				}
			}
			d := longKey
			if given := text(at); len(given) <= longKey {
				d = near.Distance(given, text(known))
			}
			if last == parts[n] && n > 0 {
				d = 1 // the right word in the wrong place
			}
			if d < least {
				best, least = text(known), d
			}
		}
	}
	if best == "" && strings.HasSuffix(last, "key") {
		best = "provider.key_env"
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", perhaps %s is meant", best)
}

// longKey is from how many bytes on nothing looks like a key.
const longKey = 100
