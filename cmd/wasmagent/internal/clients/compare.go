package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// differs lists the members of want, which is e as a client has it, that an entry does not have so.
// What the entry has besides is its owner's, and so are the values of e's variables.
func (e *Entry) differs(have, want any) [][]string {
	wants, _ := want.(map[string]any)
	haves, ok := have.(map[string]any)
	if !ok {
		return [][]string{nil}
	}
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		mine, theirs := wants[name], haves[name]
		variables, isTable := mine.(map[string]any)
		set, hasTable := theirs.(map[string]any)
		if !isTable || !hasTable {
			if !reflect.DeepEqual(mine, theirs) {
				all = append(all, []string{name})
			}
			continue
		}
		for _, variable := range slices.Sorted(maps.Keys(variables)) {
			value, ok := set[variable].(string)
			if value != variables[variable] && !(ok && e.passes(variable)) {
				all = append(all, []string{name, variable})
			}
		}
	}
	return all
}

// passes tells whether a variable is one that the client passes on.
func (e *Entry) passes(variable string) bool {
	_, ours := e.Env[variable]
	return !ours && slices.Contains(e.Variables, variable)
}

// started tells whether an entry starts the same program for the same purpose. What is in such an
// entry besides was put there for it, and stays when the entry is replaced.
func (e *Entry) started(have map[string]any) bool {
	line := append(texts(have["command"]), texts(have["args"])...)
	return len(line) > 1 && program(line[0]) == program(e.Command) &&
		slices.Contains(line[1:], e.Args[0])
}

// keeping is e as it is to be where an entry that starts the same is there: flags that Args cannot have
// stay behind Args, and a line that has all of Args stays as it is.
func (e *Entry) keeping(have map[string]any) *Entry {
	if e.Flags == nil || !e.started(have) {
		return e
	}
	line := append(texts(have["command"]), texts(have["args"])...)[1:]
	ours, besides := e.split(line)
	now := *e
	wanted, rest := e.split(e.Args)
	lacks := slices.ContainsFunc(rest, func(w string) bool { return !slices.Contains(besides, w) })
	if slices.Equal(ours, wanted) && !lacks {
		now.Args = line
	} else {
		now.Args = append(slices.Clone(e.Args), besides...)
	}
	return &now
}

// split parts a command line into the flags that Args can have, with their values apart, and the
// rest. The verb is in neither.
func (e *Entry) split(line []string) (ours, besides []string) {
	verb := false
	for i := 0; i < len(line); i++ {
		word := line[i]
		name, value, joined := strings.Cut(word, "=")
		takes, known := e.Flags[name]
		switch {
		case word == e.Args[0] && !verb:
			verb = true
		case known && takes && joined:
			ours = append(ours, name, value)
		case known && takes && i+1 < len(line):
			i++
			ours = append(ours, name, line[i])
		case known:
			ours = append(ours, word)
		default:
			besides = append(besides, word)
		}
	}
	return ours, besides
}

// shown is an entry as it becomes, without the values of variables that are its owner's: they may be
// secrets.
func (e *Entry) shown(entry any) any {
	table, ok := entry.(map[string]any)
	if !ok {
		return entry
	}
	table = maps.Clone(table)
	for _, name := range []string{"env", "environment"} {
		set, _ := table[name].(map[string]any)
		if set == nil {
			continue
		}
		set = maps.Clone(set)
		for variable := range set {
			if _, ours := e.Env[variable]; !ours && !slices.Contains(e.Variables, variable) {
				set[variable] = "(kept)"
			}
		}
		table[name] = set
	}
	return table
}

// program is the name of a program's file, on whatever system that is.
func program(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
}

// texts are a text, or those of a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// merged is have with the members of want that differ.
func merged(have, want map[string]any, differs [][]string) map[string]any {
	result := maps.Clone(have)
	for _, path := range differs {
		if len(path) == 1 {
			result[path[0]] = want[path[0]]
			continue
		}
		table := maps.Clone(result[path[0]].(map[string]any))
		table[path[1]] = want[path[0]].(map[string]any)[path[1]]
		result[path[0]] = table
	}
	return result
}

// exists is the error that an entry is there and differs. What another program is started with may
// be secret, and is not told.
func exists(e *Entry, have, want any, differs [][]string) error {
	err := &ExistsError{Name: e.Name}
	own, _ := have.(map[string]any)
	wants, _ := want.(map[string]any)
	for _, path := range differs {
		if len(path) == 0 {
			path = []string{"form"}
		}
		text := strings.Join(path, ".")
		if len(path) == 1 && own[path[0]] != nil && e.started(own) {
			text += fmt.Sprintf(" (%s, would be %s)", oneLine(own[path[0]]), oneLine(wants[path[0]]))
		}
		err.Differs = append(err.Differs, text)
	}
	return err
}

func oneLine(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
