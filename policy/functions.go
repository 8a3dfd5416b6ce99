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

// functionRule makes a tool of a function that a plugin exports without describing it.
type functionRule struct {
	Export       string    `toml:"export"`
	Description  prose     `toml:"description"`
	InputSchema  schemaDoc `toml:"input_schema"`
	OutputSchema schemaDoc `toml:"output_schema"`
	Takes        string    `toml:"takes"`
}

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

// checkFunctions complains of tools that no function could be.
func (s *section) checkFunctions(d *decoder) {
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
	}
}

func (f *functionRule) tool(name string) loader.Function {
	return loader.Function{
		Export: f.Export, Text: f.Takes == "text",
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
