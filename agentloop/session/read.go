package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/internal/misfit"
)

// Transcript is what a session's file says.
type Transcript struct {
	Header   Header
	Messages []message.Message // in an order and with results that message.Check passes
	Warnings []string          // what was left out or put right

	view  history
	lines int    // whole ones, with the header
	size  int64  // bytes of the whole lines
	ended bool   // the last of them has its newline
	torn  []byte // what comes after them
}

// limits are MaxLine and MaxFile; tests have smaller ones.
type limits struct{ line, file int64 }

// Read reads a session's file. What is wrong with it is an *InvalidError; other errors are r's.
func Read(r io.Reader) (*Transcript, error) { return read(r, limits{MaxLine, MaxFile}) }

func read(r io.Reader, max limits) (*Transcript, error) {
	t := &Transcript{}
	for in := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := readLine(in, max.line)
		if err == nil && t.size+int64(len(line)) > max.file {
			return nil, &InvalidError{Detail: tooBig(max.file)}
		}
		if err == nil && len(line) > 0 {
			err = t.take(line)
		}
		if err != nil {
			if broken := new(lineError); errors.As(err, &broken) {
				return nil, &InvalidError{Line: t.lines + 1, Detail: broken.Error()}
			}
			return nil, err
		}
		if !bytes.HasSuffix(line, newline) {
			break
		}
	}
	if t.lines == 0 {
		return nil, &InvalidError{Detail: emptyFile}
	}
	t.Messages = t.view.messages()
	for _, c := range t.view.missing() {
		t.warn("call %q of %s has no result: it counts as unknown", c.ID, c.Name)
	}
	return t, nil
}

const emptyFile = "the file is empty"

func tooBig(max int64) string { return fmt.Sprintf("the file has more than %d bytes", max) }

var newline = []byte("\n")

// lineError is what is wrong with the line that is being read.
type lineError struct{ detail string }

func (e *lineError) Error() string { return e.detail }

func badLine(format string, args ...any) error {
	return &lineError{fmt.Sprintf(format, args...)}
}

// readLine reads up to a newline, which it gives back too, or the end of the file.
func readLine(in *bufio.Reader, max int64) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if int64(len(line)+len(piece)) > max {
			return nil, badLine("the line has more than %d bytes", max)
		}
		line = append(line, piece...)
		switch {
		case err == nil || err == io.EOF:
			return line, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// take takes the next line. A line that has no newline and is no JSON was not written whole. One
// that is JSON was: no object is the beginning of another.
func (t *Transcript) take(line []byte) error {
	t.ended = bytes.HasSuffix(line, newline)
	if !t.ended && t.lines > 0 && !json.Valid(line) {
		t.ended, t.torn = true, line
		t.warn("line %d was not written whole: its %d bytes are left out", t.lines+1, len(line))
		return nil
	}
	if !utf8.Valid(line) {
		return badLine("not UTF-8")
	}
	var err error
	if t.lines == 0 {
		err = t.takeHeader(line)
	} else {
		err = t.takeMessage(line)
	}
	if err != nil {
		return err
	}
	t.lines++
	t.size += int64(len(line))
	return nil
}

func (t *Transcript) takeHeader(line []byte) error {
	if len(line) > MaxHeader {
		return badLine("no header: the line has more than %d bytes", MaxHeader)
	}
	h := &t.Header
	if err := json.Unmarshal(line, h); err != nil {
		return badLine("no header: %s", misfit.Text(err))
	}
	switch {
	case h.Format != formatName:
		return badLine("no header: the format is %q, not %q", h.Format, formatName)
	case h.Version != formatVersion:
		return badLine("the unknown version %d: this program reads version %d", h.Version, formatVersion)
	case !slices.Contains(sources, h.Source):
		return badLine("the unknown source %q", h.Source)
	case h.ID == "":
		return badLine("a header without an ID")
	}
	return nil
}

func (t *Transcript) takeMessage(line []byte) error {
	e := entry{offset: t.size, size: int64(len(line))}
	if err := json.Unmarshal(line, &e.Message); err != nil {
		return badLine("no message: %s", misfit.Text(err))
	}
	if err := t.view.add(e); err != nil {
		return badLine("%s", err)
	}
	return nil
}

func (t *Transcript) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}
