package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is a connection with a message on each line. The library's own reads a long line again for
// each piece of it, which takes minutes for some megabytes, and ends at the first line that is no
// message, which many servers print.
type lines struct {
	sieve *sieve
	in    io.ReadCloser
	out   io.WriteCloser

	reader *bufio.Reader
	mu     sync.Mutex // of writing
}

// Connect gives l itself: it is one connection.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	l.reader = bufio.NewReaderSize(l.in, 64<<10)
	return l, nil
}

// Read gives the next message. It ends with Close, not with ctx.
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	for {
		text, err := readLine(l.reader, l.sieve.max)
		var b []byte
		switch {
		case text.long:
			b = l.sieve.tooLong(text)
		case len(bytes.TrimSpace(text.text)) > 0:
			b = l.sieve.pass(text.text)
		}
		if b != nil {
			if m, bad := jsonrpc.DecodeMessage(b); bad == nil {
				return m, nil
			}
		}
		if len(text.text) > 0 && !text.long {
			l.sieve.noise(text.text)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(b, '\n'))
	return err
}

// Close ends both directions. Who comes second closes nothing.
func (l *lines) Close() error { return errors.Join(l.in.Close(), l.out.Close()) }

// SessionID is none: the pipes are the session.
func (l *lines) SessionID() string { return "" }
