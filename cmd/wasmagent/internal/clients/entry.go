package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func plain(e *Entry, env map[string]string) any {
	return stdioEntry{Command: e.Command, Args: e.Args, Env: env}
}

func typed(e *Entry, env map[string]string) any {
	return stdioEntry{Type: "stdio", Command: e.Command, Args: e.Args, Env: env}
}

func local(e *Entry, env map[string]string) any {
	return struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command"`
		Environment map[string]string `json:"environment,omitempty"`
	}{"local", append([]string{e.Command}, e.Args...), env}
}

// value is the entry as the client's JSON has it.
func (c *Client) value(e *Entry) any {
	env := map[string]string{}
	for _, name := range e.Variables {
		env[name] = ""
		if c.variable != "" {
			env[name] = fmt.Sprintf(c.variable, name)
		}
	}
	maps.Copy(env, e.Env)
	return c.entry(e, env)
}

// Snippet is a file of the client with this entry only.
func (c *Client) Snippet(e *Entry) string {
	if c.Format == "toml" {
		return tomlEntry(c.path[0], e)
	}
	return encode(under(c.value(e), append(slices.Clone(c.path), e.Name)...), "", "  ", "\n") + "\n"
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
	b.WriteString("args = " + tomlList(e.Args) + "\n")
	if len(e.Env) > 0 {
		b.WriteString("env = " + tomlTable(e.Env) + "\n")
	}
	if len(e.Variables) > 0 {
		b.WriteString("env_vars = " + tomlList(e.Variables) + "\n")
	}
	return b.String()
}

func tomlList(texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = tomlText(text)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func tomlTable(texts map[string]string) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		items = append(items, tomlText(name)+" = "+tomlText(texts[name]))
	}
	return "{ " + strings.Join(items, ", ") + " }"
}

// tomlText is a basic string, which but for one character is written as in JSON.
func tomlText(s string) string {
	return strings.ReplaceAll(encode(s, "", "", "\n"), "\x7f", `\u007f`)
}
