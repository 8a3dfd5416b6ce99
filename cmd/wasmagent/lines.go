package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxTyped is how many bytes a line of stdin may have.
const maxTyped = 1 << 20

// lineReader reads stdin line by line, so that somebody who waits for a line can stop waiting.
type lineReader struct {
	lines chan typed
	done  chan struct{} // closed when the command ends
}

// typed is a line, or the error that there are no more, and when it came.
type typed struct {
	text string
	err  error
	at   time.Time
}

// typedLines gives the one reader of stdin.
func (a *app) typedLines() *lineReader {
	if a.typed != nil {
		return a.typed
	}
	a.typed = &lineReader{make(chan typed), make(chan struct{})}
	a.onEnd(func() { close(a.typed.done) })
	go a.typed.read(a.in)
	return a.typed
}

func (l *lineReader) read(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		next := readTyped(r)
		next.at = time.Now()
		select {
		case l.lines <- next:
		case <-l.done:
			return
		}
		if next.err != nil {
			close(l.lines)
			return
		}
	}
}

func readTyped(r *bufio.Reader) typed {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxTyped:
			return typed{err: fmt.Errorf("a line of stdin is longer than %s", bytesText(maxTyped))}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return typed{err: err}
		}
		return typed{text: strings.TrimRight(string(line), "\r\n")}
	}
}

// next waits for a line. At the end of stdin the error is io.EOF.
func (l *lineReader) next(ctx context.Context) (string, error) {
	line, err := l.wait(ctx)
	return line.text, err
}

func (l *lineReader) wait(ctx context.Context) (typed, error) {
	select {
	case line, ok := <-l.lines:
		if !ok {
			return typed{}, io.EOF
		}
		return line, line.err
	case <-ctx.Done():
		return typed{}, context.Cause(ctx)
	}
}

// after waits for a line that came after a time. Those before are forgotten.
func (l *lineReader) after(ctx context.Context, asked time.Time) (string, error) {
	for {
		line, err := l.wait(ctx)
		if err != nil || line.at.After(asked) {
			return line.text, err
		}
	}
}
