package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// callJSON is a call that gave a result: a value or content blocks.
type callJSON struct {
	Tool    string          `json:"tool"`
	Value   json.RawMessage `json:"value,omitempty"`
	Content []blockJSON     `json:"content,omitempty"`
	Key     string          `json:"key,omitempty"`
	// Place is where the call is recorded, From the call that its result is copied from.
	Place    string   `json:"place,omitempty"`
	Copied   bool     `json:"copied,omitempty"`
	From     string   `json:"from,omitempty"`
	Attempts int      `json:"attempts,omitempty"` // when there was more than one
	Notes    []string `json:"notes,omitempty"`
}

type blockJSON struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"` // base64
	MIME string `json:"mime,omitempty"`
	Name string `json:"name,omitempty"`
}

func (a *app) printResult(tool string, r plugins.Result) error {
	if a.form == "text" {
		return a.printResultText(r)
	}
	out := callJSON{
		Tool: tool, Value: r.Value, Content: blocksJSON(r.Content), Key: r.Key,
		Place: a.record.at(), Copied: r.Copied, Notes: r.Notes,
	}
	if r.Copied {
		out.From = r.Place.String()
	}
	if r.Attempts > 1 {
		out.Attempts = r.Attempts
	}
	return writeJSON(a.out, a.form, out)
}

// unrecorded is the error of a ledger that could not take down what a call gave.
type unrecorded struct {
	error
	given plugins.Output
}

func (e *unrecorded) Unwrap() error { return e.error }

// tellUnrecorded tells what a call gave that nobody will find in the ledger. In JSON it is part of
// the error.
func (a *app) tellUnrecorded(r plugins.Result, err error) error {
	if a.form == "text" {
		err = errors.Join(err, a.printResultText(r))
	}
	return &unrecorded{err, r.Output}
}

func blocksJSON(blocks []abi.Block) []blockJSON {
	var list []blockJSON
	for _, b := range blocks {
		list = append(list, blockJSON(b))
	}
	return list
}

// printResultText writes a text as it is and any other value as indented JSON; of a block that is
// no text it says what it is.
func (a *app) printResultText(r plugins.Result) error {
	for _, note := range r.Notes {
		fmt.Fprintf(a.err, "note: %s\n", visible(note))
	}
	if r.Copied {
		fmt.Fprintf(a.err, "copied from %s: the tool was not run\n", visible(r.Place.String()))
	}
	var errs []error
	for _, b := range r.Content {
		errs = append(errs, printLine(a.out, blockText(b)))
	}
	if r.Content == nil {
		var text string
		if json.Unmarshal(r.Value, &text) != nil {
			text = indentJSON(r.Value)
		}
		errs = append(errs, printLine(a.out, text))
	}
	return errors.Join(errs...)
}

func blockText(b abi.Block) string {
	if b.Data == nil { // a text, or a file that is one
		return b.Text
	}
	text := b.Type
	if b.Name != "" {
		text += " " + lineBreaks.Replace(b.Name)
	}
	if b.MIME != "" {
		text += ", " + lineBreaks.Replace(b.MIME)
	}
	return fmt.Sprintf("[%s, %s]", text, bytesText(int64(len(b.Data))))
}

// printLine writes text that a guest wrote, ended by exactly one line break.
func printLine(w io.Writer, text string) error {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	_, err := io.WriteString(w, visible(text)+"\n")
	return err
}
