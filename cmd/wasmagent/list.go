package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// pluginJSON is a plugin as list and inspect give it, or an MCP server.
type pluginJSON struct {
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	Kind    string     `json:"kind,omitempty"`   // "server", a plugin's other contract; "" is our own
	Source  string     `json:"source,omitempty"` // a server's command or URL
	Path    string     `json:"path"`             // of a server FILE:LINE of the policy
	Digest  string     `json:"digest,omitempty"`
	Size    int64      `json:"size"`
	Tools   []toolJSON `json:"tools"`
	// Withheld tells which tools are not offered, and why.
	Withheld []string `json:"withheld,omitempty"`
	Excluded []string `json:"excluded,omitempty"` // by the operator
	Error    *problem `json:"error,omitempty"`
}

type toolJSON struct {
	Name         string          `json:"name"`
	Own          string          `json:"own_name,omitempty"` // its server's name for it, when not Name
	Description  string          `json:"description,omitempty"`
	Effect       string          `json:"effect"`
	Declared     string          `json:"declared_effect,omitempty"` // when it is not Effect
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	why string // Effect is not Declared
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools of the plugin directories",
		Long: `List every plugin of the plugin directories with its tools. A plugin that offers none
is listed with the reason; it never hides the others. Listing runs nothing of a plugin
that was stamped by "wasmagent build" or listed before. MCP servers of the policy are
started, to ask for their tools.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.openAll(cmd.Context(), "")
			if err != nil {
				return err
			}
			return a.printList(c)
		},
	}
}

func (a *app) printList(c *catalog) error {
	if a.form == "text" {
		return a.printListText(c)
	}
	list := make([]pluginJSON, 0, len(c.plugins))
	for i := range c.plugins {
		list = append(list, a.pluginJSON(c, i))
	}
	if a.form == "json" {
		return writeJSON(a.out, a.form, map[string]any{"plugins": list})
	}
	for _, p := range list {
		if err := writeJSON(a.out, a.form, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) pluginJSON(c *catalog, i int) pluginJSON {
	p := c.plugins[i]
	j := pluginJSON{
		Name: p.Name, Version: p.Manifest.Version, Path: p.Path, Digest: p.Digest, Size: p.Size,
		Kind: p.Kind, Tools: []toolJSON{},
	}
	for _, t := range p.Manifest.Tools {
		if name := p.Prefix + t.Name; c.offers(i, name) {
			tool := newToolJSON(c.tools[name], t.Effect)
			tool.Own = serversName(c.tools[name])
			j.Tools = append(j.Tools, tool)
		}
	}
	if s, ok := c.servers[i]; ok {
		j.Kind, j.Source = c.noun(i), s.Place()
	}
	j.Excluded = p.Excluded
	for _, err := range p.Withheld {
		j.Withheld = append(j.Withheld, err.Error())
	}
	if p.Err != nil {
		problem := a.problemOf(p.Err)
		j.Error = &problem
	}
	return j
}

// newToolJSON makes the form of a tool whose author declared an effect.
func newToolJSON(tool plugins.Tool, declared abi.Effect) toolJSON {
	j := newSpecJSON(tool.Spec())
	if j.Effect == declared.String() {
		return j
	}
	j.Declared = declared.String()
	switch {
	case overPolicy(plugins.Rule{}, tool).Effect != nil:
		j.why = "the policy says so"
	case j.Effect == abi.EffectRead.String():
		j.why = "linked to nothing that can change anything"
	default:
		j.why = "granted what can change something"
	}
	return j
}

func newSpecJSON(t abi.ToolSpec) toolJSON {
	return toolJSON{
		Name: t.Name, Description: t.Description, Effect: t.Effect.String(),
		InputSchema: schemaJSON(t.InputSchema), OutputSchema: schemaJSON(t.OutputSchema),
	}
}

// schemaJSON gives a schema's text as JSON. A text that is no JSON is given as a string.
func schemaJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always has a form
	return quoted
}

// maxSummary is how many characters of a description list shows.
const maxSummary = 72

// printListText writes one table of all tools, then what is not offered and why.
func (a *app) printListText(c *catalog) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	rows := 0
	for i := range c.plugins {
		for _, name := range c.offered(i) {
			if rows == 0 {
				fmt.Fprintln(w, "TOOL\tPLUGIN\tEFFECT\tDESCRIPTION")
			}
			rows++
			t := c.tools[name].Spec()
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n",
				t.Name, visible(c.plugins[i].Name), t.Effect, visible(summary(t.Description)))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case len(c.plugins) == 0:
		fmt.Fprintf(a.err, "no plugins in %s\n", c.origin)
	case rows == 0:
		fmt.Fprintf(a.err, "no tools in %s\n", c.origin)
	}
	a.tellWithheld(c)
	a.tellExcluded(c)
	return nil
}

// tellExcluded says what the operator does not want to be offered.
func (a *app) tellExcluded(c *catalog) {
	paint := a.paint(a.err)
	for _, p := range c.plugins {
		for _, name := range p.Excluded {
			fmt.Fprintf(a.err, "%s tool %q of plugin %q: the policy excludes it\n",
				paint.yellow("not offered:"), name, p.Name)
		}
	}
}

// tellWithheld says what is not offered, and why.
func (a *app) tellWithheld(c *catalog) {
	paint := a.paint(a.err)
	told := map[string]bool{} // a name that several plugins claim is a reason of each
	hint := ""
	for _, p := range c.plugins {
		for _, err := range reasons(p) {
			if unnamed(err) && hint == "" {
				hint = a.adoptHint(err)
			}
			if denied, ok := errors.AsType[*loader.NotAllowedError](err); ok {
				err = a.here(denied)
			}
			if text := err.Error(); !told[text] {
				told[text] = true
				fmt.Fprintf(a.err, "%s %s\n", paint.yellow("not offered:"), visible(text))
			}
		}
	}
	if hint != "" {
		fmt.Fprintf(a.err, "%s %s\n", paint.dim("hint:"), oneLine(hint))
	}
}

// reasons tells why p or some of its tools are not offered.
func reasons(p loader.Plugin) []error {
	if p.Err != nil {
		return []error{p.Err}
	}
	return p.Withheld
}

// summary cuts a description to its first sentence.
func summary(text string) string {
	if head, _, ok := strings.Cut(text, ". "); ok {
		text = head + "."
	}
	return cut(text, maxSummary)
}
