package policy

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// Adoption is a first section for a plugin of another contract than this project's own.
type Adoption struct {
	Kind      string
	Functions []AdoptedFunction
	DryRun    bool // nothing is written
}

// AdoptedFunction is a tool that is made of a function.
type AdoptedFunction struct {
	Tool, Export string // Export is "" for a command
}

// SectionError is a file that says something of a plugin already.
type SectionError struct {
	File, Section string
	Line          int
}

func (e *SectionError) Error() string {
	return fmt.Sprintf("%s:%d: there is a section [%s] already, and nothing is changed in it: add "+
		"what is missing by hand", e.File, e.Line, e.Section)
}

// Adopt writes a plugin's first section behind the operator's file, every byte of which stays, and
// gives the section. It grants nothing. What only a person can say, a tool's description and what it
// takes, stands in it as comments. The error is a *SectionError where the file has a section of that
// plugin, and an *EditError where it cannot be added to.
func (p *Policy) Adopt(plugin string, a *Adoption) (text string, err error) {
	before, lines, err := tomlfile.Parse(p.content)
	if err != nil {
		return "", err
	}
	section := tomlfile.Join("plugins", plugin)
	if tableAt(before, "plugins", plugin) != nil {
		return "", &SectionError{p.file, section, lines.Of(section)}
	}
	text, table := a.section(section)
	added := text
	if p.content != "" {
		added = "\n" + added
		if !strings.HasSuffix(p.content, "\n") {
			added = "\n" + added
		}
	}
	after, _, err := tomlfile.Parse(p.content + added)
	want := merged(before, map[string]any{"plugins": map[string]any{plugin: table}})
	if err != nil || !reflect.DeepEqual(plain(after), want) {
		return "", &EditError{File: p.file, Section: "[" + section + "]", Text: text,
			Detail: "it would not say what it has to"}
	}
	if _, _, err := parse(p.file, p.content+added, p.opts.Kinds); err != nil {
		return "", p.unwritten(err)
	}
	if a.DryRun {
		return text, nil
	}
	return text, p.append(added)
}

// Hints for the person who fills in what is missing. Nothing of a plugin's is in them.
const (
	hintFunction = `# description = "What it does, and when to call it."
# input_schema = '{"type": "object", "properties": {"text": {"type": "string"}}}'
# takes = "text"  # the one string among the arguments, instead of all of them as JSON
`
	hintCommand = `# description = "What it does, and when to call it."
# args = ["-n", "{count}"]  # each with properties of the input in it, and no shell
# stdin = "text"  # the property that it reads, instead of the whole input as JSON
`
)

// section writes the section, and gives what it says.
func (a *Adoption) section(name string) (text string, table map[string]any) {
	w := &writer{} // its errors are of values that have no form, which texts are not
	w.table("["+name+"]", map[string]any{"kind": a.Kind})
	table = map[string]any{"kind": a.Kind}
	functions := map[string]any{}
	for _, f := range a.Functions {
		keys, hint := map[string]any{}, hintCommand
		if f.Export != "" {
			keys["export"], hint = f.Export, hintFunction
		}
		w.table("["+tomlfile.Join(name+".functions", f.Tool)+"]", keys)
		w.text.WriteString(hint)
		functions[f.Tool] = keys
	}
	if len(functions) > 0 {
		table["functions"] = functions
	}
	return w.text.String(), table
}
