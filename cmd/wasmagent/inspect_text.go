package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// moduleImports is what is imported from one module.
type moduleImports struct {
	module string
	names  []string
}

// importsByModule gathers the imports by their modules, in the order of their first mention.
func (j *inspectJSON) importsByModule() []moduleImports {
	var list []moduleImports
	for _, im := range j.Imports {
		i := slices.IndexFunc(list, func(m moduleImports) bool { return m.module == im.Module })
		if i < 0 {
			i = len(list)
			list = append(list, moduleImports{module: im.Module})
		}
		if !slices.Contains(list[i].names, im.Name) { // one may be imported twice
			list[i].names = append(list[i].names, im.Name)
		}
	}
	return list
}

// print writes the plugin for people.
func (j *inspectJSON) print(w io.Writer, c palette) error {
	t := newTable(w)
	t.row("plugin", "%s", j.title())
	t.row("file", "%s", j.Path)
	t.row("digest", "%s", j.Digest)
	t.row("size", "%s", bytesText(j.Size))
	t.row("kind", "%s", j.kindText())
	if j.Engine != "" {
		t.row("engine", "%s, as its policy says", j.Engine)
	}
	for _, m := range j.Memory {
		t.row("memory", "%s", m.text())
	}
	t.row("calls", "%s", j.roadText())
	if j.Kind == "" && len(j.Wants) == 0 {
		t.row("manifest", "%s", stampedText(j.Stamped))
	}
	if len(j.Functions) > 0 {
		t.row("functions", "%s", strings.Join(j.Functions, ", "))
	}
	t.row("asks for", "%s", textOr(strings.Join(j.Needs, "; "), "nothing"))
	if err := t.Flush(); err != nil {
		return err
	}
	if j.Error != nil {
		fmt.Fprintf(w, "\n%s %s\n", c.red("not offered:"), visible(j.Error.Message))
		if j.Error.Hint != "" && j.Kind != "" {
			fmt.Fprintf(w, "%s %s\n", c.dim("hint:"), oneLine(j.Error.Hint))
		}
	}
	for _, text := range j.Withheld {
		fmt.Fprintf(w, "\n%s %s\n", c.yellow("not offered:"), visible(text))
	}
	for _, tool := range j.Tools {
		fmt.Fprintln(w)
		tool.print(w, c)
	}
	if err := printLinks(w, c, "imports", j.Imports); err != nil {
		return err
	}
	return printLinks(w, c, "exports", j.Exports)
}

// kindText says which contract the file is written to and why, or what each would want.
func (j *inspectJSON) kindText() string {
	if len(j.Wants) == 0 {
		return textOr(j.Kind, ownKind) + ": " + j.KindWhy
	}
	text := "none that is known"
	for _, w := range j.Wants {
		text += fmt.Sprintf("; %s %s", w.Kind, w.Wants)
	}
	return text
}

// title is the plugin's name, its version, and what it calls itself.
func (j *inspectJSON) title() string {
	text := j.Name
	if j.Version != "" {
		text += " " + j.Version
	}
	if j.Own != "" {
		text += fmt.Sprintf(" (it calls itself %q; hosts go by the file's name)", j.Own)
	}
	return text
}

func (m memoryJSON) text() string {
	limit := "no maximum of its own"
	if m.Max > 0 {
		limit = "at most " + bytesText(int64(m.Max))
	}
	return bytesText(int64(m.Min)) + " at first, " + limit
}

// roadText says how a call gets a fresh state.
func (j *inspectJSON) roadText() string {
	if len(j.Blockers) == 0 {
		return "each restored from a snapshot"
	}
	return "each in a new instance, which takes longer, since it " + strings.Join(j.Blockers, ", ")
}

func stampedText(stamped bool) string {
	if stamped {
		return "stamped"
	}
	return `not stamped: listing it for the first time runs it ("wasmagent build FILE" stamps it)`
}

func textOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (t *toolJSON) print(w io.Writer, c palette) {
	fmt.Fprintf(w, "%s  %s\n", c.bold("tool "+t.Name), t.effectText())
	if t.Own != "" {
		fmt.Fprintf(w, "  the server's own name: %s\n", visible(t.Own))
	}
	if t.Description != "" {
		fmt.Fprintf(w, "  says: %s\n", visible(t.Description))
	}
	printSchema(w, "input", t.InputSchema)
	printSchema(w, "output", t.OutputSchema)
}

// effectText is the tool's effect, and why it is not the one that its author declared.
func (t *toolJSON) effectText() string {
	if t.Declared == "" {
		return t.Effect
	}
	return fmt.Sprintf("%s: %s; declared %s", t.Effect, t.why, t.Declared)
}

func printSchema(w io.Writer, name string, raw json.RawMessage) {
	if raw != nil {
		text := strings.ReplaceAll(indentJSON(raw), "\n", "\n  ")
		fmt.Fprintf(w, "  %s: %s\n", name, visible(text))
	}
}

// lineBreaks shows what would end a line or a column: a name must not pass for a line of ours.
var lineBreaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// printLinks writes imports or exports, one a line.
func printLinks(w io.Writer, c palette, title string, links []linkJSON) error {
	fmt.Fprintf(w, "\n%s\n", c.bold(title))
	if len(links) == 0 {
		fmt.Fprintln(w, "  none")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range links {
		name := lineBreaks.Replace(strings.TrimPrefix(l.Module+"."+l.Name, "."))
		cells := []string{name, l.Kind, l.Type}
		line := strings.TrimRight(strings.Join(cells, "\t"), "\t")
		fmt.Fprintf(t, "  %s\n", visible(line))
	}
	return t.Flush()
}
