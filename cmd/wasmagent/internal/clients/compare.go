package clients

import (
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

// exists is the error that an entry is there and differs.
func exists(e *Entry, differs [][]string) error {
	err := &ExistsError{Name: e.Name}
	for _, path := range differs {
		if len(path) == 0 {
			path = []string{"form"}
		}
		err.Differs = append(err.Differs, strings.Join(path, "."))
	}
	return err
}
