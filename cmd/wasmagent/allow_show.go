package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// showReview shows what is to be allowed. In text form the facts come first and the plugin's own
// words last, each in quotes.
func (a *app) showReview(j *allowJSON) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	c := a.paint(a.out)
	t := newTable(a.out)
	t.row("plugin", "%s", j.Plugin)
	t.row("file", "%s", j.Path)
	t.row("digest", "%s", j.Digest)
	t.row("size", "%s", bytesText(j.Size))
	t.row("imports", "%s", textOr(strings.Join(j.Imports, ", "), "nothing"))
	if err := t.Flush(); err != nil {
		return err
	}
	a.showList(c.bold("it would be granted"), j.Grants)
	var changes []string
	for _, s := range j.Changes {
		changes = append(changes, s.text())
	}
	if len(changes) > 0 {
		a.showList(c.bold("changed since it was allowed"), changes)
	}
	if j.Adds != "" {
		lines := strings.Split(strings.Trim(j.Adds, "\n"), "\n")
		a.showList(c.bold("written behind "+a.policyFile()), lines)
	}
	if len(j.Warnings) > 0 {
		a.showList(c.yellow("note"), j.Warnings)
	}
	quoted := make([]string, len(j.Asks))
	for i, ask := range j.Asks {
		quoted[i] = strconv.Quote(ask)
	}
	a.showList(c.bold("it asks for, in its own words"), quoted)
	return nil
}

func (a *app) showList(title string, lines []string) {
	fmt.Fprintf(a.out, "%s\n", title)
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	for _, l := range lines {
		fmt.Fprintf(a.out, "  %s\n", oneLine(l))
	}
}

func (s *sinceJSON) text() string {
	switch {
	case s.What == "policy": // of two digests nobody learns anything
		return "policy: what its section says of values, limits or tools, which is not shown here"
	case s.Was == "":
		return s.What + ": new: " + s.Now
	case s.Now == "":
		return s.What + ": no more: " + s.Was
	}
	return s.What + ": " + s.Was + ", now " + s.Now
}

// notAgreedError is an operator who said no, or who was not there.
type notAgreedError struct{ text, hint string }

func (e *notAgreedError) Error() string { return e.text }

// agree asks the operator, who must sit at a terminal, unless --yes has answered.
func (a *app) agree(plugin string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || a.form != "text" {
		return &notAgreedError{
			text: fmt.Sprintf("plugin %q is not allowed: nobody was asked", plugin),
			hint: "on a terminal this command asks; --yes answers for a script",
		}
	}
	return ask(a.err, in, plugin)
}

// ask puts the one question. All but yes is no.
func ask(w io.Writer, in io.Reader, plugin string) error {
	fmt.Fprintf(w, "Allow %s? [y/N] ", oneLine(plugin))
	answer, err := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return &notAgreedError{text: fmt.Sprintf("plugin %q is not allowed: the answer was no", plugin)}
	}
	return nil
}

// showAllowed loads the plugin as it is allowed now, and shows what it offers.
func (a *app) showAllowed(ctx context.Context, pl *loader.Plugin, j *allowJSON) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	now, err := a.openPolicy()
	if err != nil {
		return err
	}
	a.policy = now
	a.closeAtEnd("policy", now.Close)
	c, err := a.openFile(ctx, pl.Path)
	if err != nil {
		return err
	}
	if err := c.plugins[0].Err; err != nil {
		return err
	}
	var tools []string
	for _, t := range c.plugins[0].Tools {
		tools = append(tools, fmt.Sprintf("%s (%s)", t.Spec().Name, t.Spec().Effect))
	}
	fmt.Fprintf(a.err, "allowed: %s offers %s\n", oneLine(pl.Name),
		textOr(strings.Join(tools, ", "), "no tools"))
	fmt.Fprintln(a.err, `a "wasmagent mcp" or "chat" that runs takes it in when it is started again`)
	return nil
}

// hostImports lists what a plugin imports from this program, and from whom else. The file must still
// be the one that is about to be allowed.
func hostImports(pl *loader.Plugin) ([]string, error) {
	wasm, err := readPlugin(pl.Path)
	if err != nil {
		return nil, err
	}
	if found := fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)); found != pl.Digest {
		return nil, &loader.ChangedError{Listed: pl.Digest, Found: found}
	}
	facts, err := host.Inspect(wasm)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, im := range facts.Imports {
		name := im.Module + "." + im.Name
		if im.Module == "wasi_snapshot_preview1" {
			name = im.Module // all of it is always there, and says nothing
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
