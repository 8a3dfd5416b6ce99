package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// functionRule makes a tool of a function that a plugin exports without describing it, or of a
// command.
type functionRule struct {
	Export       string     `toml:"export"`
	Description  prose      `toml:"description"`
	InputSchema  schemaDoc  `toml:"input_schema"`
	OutputSchema schemaDoc  `toml:"output_schema"`
	Takes        string     `toml:"takes"`
	Args         []argument `toml:"args"`
	Stdin        string     `toml:"stdin"`
}

// Kinds of plugins that some keys depend on.
const (
	kindOwn     = "wasmagent"
	kindCommand = "command"
)

// engineSDK is the engine that keeps less than others.
const engineSDK = "extism-sdk"

// maxProse is how long a description or a schema may be, in bytes.
const maxProse = 64 << 10

// prose is a text that may have lines.
type prose string

func (p *prose) decode(d *decoder, at string, raw any) {
	text, ok := raw.(string)
	if !ok || text == "" || len(text) > maxProse {
		d.add(at, "want a text of 1 to %d bytes, have %s", maxProse, show(raw))
		return
	}
	*p = prose(text)
}

// argument is one of a command's, as loader.ParseArgument reads it.
type argument string

func (a *argument) decode(d *decoder, at string, raw any) {
	text, ok := raw.(string)
	if !ok || len(text) > maxProse {
		d.add(at, "want a text of at most %d bytes, have %s", maxProse, show(raw))
		return
	}
	if _, err := loader.ParseArgument(text); err != nil {
		d.add(at, "%v", err)
	}
	*a = argument(text)
}

// schemaDoc is a JSON Schema: its text, or the same as a table.
type schemaDoc string

func (s *schemaDoc) decode(d *decoder, at string, raw any) {
	text, ok := raw.(string)
	if !ok {
		b, err := json.Marshal(raw)
		if _, table := raw.(map[string]any); !table || err != nil {
			d.add(at, "want a JSON Schema as a text or a table, have %s", show(raw))
			return
		}
		text = string(b)
	}
	if text = strings.TrimSpace(text); text == "" || len(text) > maxProse {
		d.add(at, "want a JSON Schema of 1 to %d bytes", maxProse)
		return
	}
	*s = schemaDoc(text)
}

// checkKind complains of a contract that nobody knows. Without a list of those that are known it is
// the loader that does, when it opens the plugin.
func (s *section) checkKind(d *decoder) {
	known := append([]string{kindOwn}, d.kinds...)
	if s.Kind != "" && d.kinds != nil && !slices.Contains(known, s.Kind) {
		d.add(s.at+".kind", "want one of %s, have %s", strings.Join(known, ", "), show(s.Kind))
	}
	if s.Engine != "" && (s.Kind == kindOwn || s.Kind == kindCommand) {
		d.add(s.at+".engine", "a plugin of the kind %s has no choice of engines", s.Kind)
	}
	if s.Kind != kindOwn {
		return
	}
	if len(s.Functions) > 0 {
		d.add(s.at+".functions", "a plugin of the kind wasmagent describes its tools itself")
	}
}

// checkFunctions complains of tools that no function could be.
func (s *section) checkFunctions(d *decoder) {
	s.checkKind(d)
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		at, f := tomlfile.Join(s.at+".functions", name), s.Functions[name]
		switch f.Takes {
		case "", "json", "text":
		default:
			d.add(at+".takes", "want json or text, have %s", show(f.Takes))
		}
		if err := plugins.CheckSpec(f.tool(name).Tool); err != nil {
			d.add(at, "%v", err)
		}
		f.checkCommand(d, at, s.Kind)
	}
}

// checkCommand complains of what no command could be given.
func (f *functionRule) checkCommand(d *decoder, at, kind string) {
	takes := f.Args != nil || f.Stdin != ""
	switch {
	case takes && kind != "" && kind != kindCommand:
		d.add(at, "args and stdin are a command's, and the kind is %s", show(kind))
	case f.Export != "" && (takes || kind == kindCommand):
		d.add(at+".export", "a command has no functions to choose from: leave it out")
	case f.Stdin != "" && f.Takes != "":
		d.add(at+".takes", "stdin says already what the command reads")
	}
	have := f.properties()
	if have == nil {
		return
	}
	for i, arg := range f.Args {
		parts, _ := loader.ParseArgument(string(arg)) // which decode has read
		for _, p := range parts {
			if p.Property != "" && !slices.Contains(have, p.Property) {
				d.add(tomlfile.Index(at+".args", i), "input_schema has no property %s%s",
					show(p.Property), meant(p.Property, have))
			}
		}
	}
	if f.Stdin != "" && !slices.Contains(have, f.Stdin) {
		d.add(at+".stdin", "input_schema has no property %s%s", show(f.Stdin), meant(f.Stdin, have))
	}
}

// properties are the names that the input schema has; nil: it does not name any.
func (f *functionRule) properties() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal([]byte(f.InputSchema), &schema) != nil || len(schema.Properties) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

func (f *functionRule) tool(name string) loader.Function {
	var args []string
	if f.Args != nil {
		args = make([]string, len(f.Args))
	}
	for i, arg := range f.Args {
		args[i] = string(arg)
	}
	return loader.Function{
		Export: f.Export, Text: f.Takes == "text", Args: args, Stdin: f.Stdin,
		Tool: abi.ToolSpec{
			Name: name, Description: abi.CleanText(string(f.Description), maxProse),
			InputSchema: string(f.InputSchema), OutputSchema: string(f.OutputSchema),
		},
	}
}

// functions are the tools that the section makes of functions, by name.
func (s *section) functions() (list []loader.Function) {
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		list = append(list, s.Functions[name].tool(name))
	}
	return list
}
