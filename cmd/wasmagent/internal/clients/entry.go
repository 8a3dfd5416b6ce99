package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// stdioEntry is the common form of an entry.
type stdioEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

func plain(e *Entry) any { return stdioEntry{Command: e.Command, Args: e.Args, Env: e.Env} }

func typed(e *Entry) any {
	return stdioEntry{Type: "stdio", Command: e.Command, Args: e.Args, Env: e.Env}
}

func local(e *Entry) any {
	return struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Environment map[string]string `json:"environment,omitempty"`
	}{"local", append([]string{e.Command}, e.Args...), e.Env}
}

// Snippet is a file of the client with this entry only.
func (c *Client) Snippet(e *Entry) string {
	if c.Format == "toml" {
		return tomlEntry(c.path[0], e)
	}
	return encode(under(c.entry(e), append(slices.Clone(c.path), e.Name)...), "", "  ", "\n") + "\n"
}

// under puts a value into objects, each the only member of the one around it.
func under(value any, path ...string) any {
	for _, name := range slices.Backward(path) {
		value = map[string]any{name: value}
	}
	return value
}

// encode gives a value's JSON. Lines after the first begin with indent.
func encode(value any, indent, unit, newline string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, unit)
	if err := enc.Encode(value); err != nil {
		panic(err) // strings always have a form
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", newline)
}

// tomlEntry is an entry as a table of TOML.
func tomlEntry(section string, e *Entry) string {
	var b strings.Builder
	b.WriteString("[" + section + "." + e.Name + "]\n")
	b.WriteString("command = " + tomlText(e.Command) + "\n")
	args := make([]string, len(e.Args))
	for i, arg := range e.Args {
		args[i] = tomlText(arg)
	}
	b.WriteString("args = [" + strings.Join(args, ", ") + "]\n")
	if len(e.Env) == 0 {
		return b.String()
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		env = append(env, tomlText(name)+" = "+tomlText(e.Env[name]))
	}
	b.WriteString("env = { " + strings.Join(env, ", ") + " }\n")
	return b.String()
}

// tomlText is a basic string, which but for one character is written as in JSON.
func tomlText(s string) string {
	return strings.ReplaceAll(encode(s, "", "", "\n"), "\x7f", `\u007f`)
}
