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
	Told      bool   // the plugin's file tells its kind, so that a section that is there need not
	Engine    string // "": the kind's own choice
	Functions []AdoptedFunction
	DryRun    bool // nothing is written
}

// AdoptedFunction is a tool that is made of a function.
type AdoptedFunction struct {
	Tool, Export string // Export is "" for a command
}

// SectionError is a file that makes tools of a plugin's functions already.
type SectionError struct {
	File, Section string
	Line          int
	Text          string // what would have been written
}

func (e *SectionError) Error() string {
	return fmt.Sprintf("%s:%d: the section [%s] has functions already, and nothing is changed in it: "+
		"add by hand what is missing of\n%s", e.File, e.Line, e.Section, e.Text)
}

// Adopt writes a plugin's first section behind the operator's file, every byte of which stays, and
// gives what it wrote. A section that has no functions yet gets those. It grants nothing. What only
// a person can say, a tool's description and what it takes, stands in it as comments. The error is a
// *SectionError where the file has functions of that plugin, and an *EditError where it cannot be
// added to.
func (p *Policy) Adopt(plugin string, a *Adoption) (text string, err error) {
	before, lines, err := tomlfile.Parse(p.content)
	if err != nil {
		return "", err
	}
	section := tomlfile.Join("plugins", plugin)
	have := tableAt(before, "plugins", plugin)
	text, table := a.section(section, have)
	if have["functions"] != nil {
		return "", &SectionError{p.file, section, lines.Of(section), text}
	}
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
# What it takes: an object of these properties, which the function gets as JSON.
# input_schema = '{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}'
# takes = "text"  # it gets the one string among them instead; without input_schema that is "input"
`
	hintCommand = `# description = "What it does, and when to call it."
# What it takes: without this, every property that is mentioned below is a string, and required.
# input_schema = '{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}'
# args = ["--count={count}"]  # each with properties in it, and no shell; left out where one is missing
# stdin = "text"  # the property that it reads, instead of the whole input as JSON
`
)

// section writes what the file has not of the section, and gives what that says.
func (a *Adoption) section(name string, have map[string]any) (text string, table map[string]any) {
	w := &writer{} // its errors are of values that have no form, which texts are not
	table = map[string]any{}
	if have["kind"] != a.Kind && (have == nil || !a.Told) {
		table["kind"] = a.Kind
	}
	if a.Engine != "" && have["engine"] != a.Engine {
		table["engine"] = a.Engine
	}
	if len(table) > 0 {
		w.table("["+name+"]", table)
	}
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
