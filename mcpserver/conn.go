package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errTooLong ends a client that sends a longer line than may be: what comes after it is anything.
var errTooLong = fmt.Errorf("a message of more than %d bytes", MaxMessage)

// lines is a transport of one message a line. When the client has closed its end, what it asked for
// is still carried out and answered, for FinishTime at most. A client that asks on and on and reads
// no answers is itself not read any more.
type lines struct {
	in  io.ReadCloser
	out io.Writer
}

// Connect begins to read.
func (l lines) Connect(context.Context) (mcp.Connection, error) {
	c := &conn{lines: l, incoming: make(chan line), closed: make(chan struct{}),
		asked: map[jsonrpc.ID]bool{}, idle: make(chan struct{})}
	go c.readAll(bufio.NewReaderSize(l.in, 64<<10))
	return c, nil
}

type line struct {
	text []byte
	err  error
}

type conn struct {
	lines
	incoming chan line // of the reader, which Read may have to leave behind
	closed   chan struct{}
	close    sync.Once
	closeErr error

	writing sync.Mutex

	mu       sync.Mutex
	asked    map[jsonrpc.ID]bool // requests without an answer, and whether finish waits for it
	last     bool                // the client has closed its end
	idle     chan struct{}       // closed when, after that, there is nothing to wait for
	finished bool                // idle is closed
}

func (c *conn) SessionID() string { return "" }

// Close closes in, which is the reader's end if it can be closed.
func (c *conn) Close() error {
	c.close.Do(func() {
		c.closeErr = c.in.Close()
		close(c.closed)
	})
	return c.closeErr
}

func (c *conn) readAll(r *bufio.Reader) {
	for {
		text, err := readLine(r)
		select {
		case c.incoming <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line of MaxMessage bytes at most. The last one may have no end.
func readLine(r *bufio.Reader) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(bytes.TrimSuffix(part, []byte("\n"))) > MaxMessage {
			return nil, errTooLong
		}
		text = append(text, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(text) > 0:
			return text, nil
		}
		return text, err
	}
}

// Read gives the next message. What is none is answered here.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case next := <-c.incoming:
			if next.err == io.EOF {
				c.finish()
			}
			if next.err != nil {
				return nil, next.err
			}
			text := bytes.TrimSpace(next.text)
			switch {
			case len(text) == 0:
				continue
			case !json.Valid(text):
				c.write([]byte(parseError))
				continue
			case text[0] == '[':
				c.write([]byte(noBatch))
				continue
			}
			message, err := jsonrpc.DecodeMessage(text)
			if err != nil {
				c.write([]byte(noRequest))
				continue
			}
			if !c.ask(message) {
				continue
			}
			return message, nil
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// ask notes that a request wants an answer, and gives one itself if too many do. A stream of
// changes has none before its end.
func (c *conn) ask(message jsonrpc.Message) (goOn bool) {
	req, ok := message.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return true
	}
	refused := c.take(req)
	if refused == nil {
		return true
	}
	if text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: req.ID, Error: refused}); err == nil {
		c.write(text)
	}
	return false
}

// take counts a request, or says why it is not taken.
func (c *conn) take(req *jsonrpc.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.asked[req.ID]; used {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "an earlier request of this id has no answer yet"}
	}
	if len(c.asked) == MaxRequests {
		return &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf(
			"%d requests have no answer yet, as many as may be; try again later", MaxRequests)}
	}
	c.asked[req.ID] = req.Method != methodListen
	return nil
}

// answered notes that a request has its answer, or with all that there will be no more answers.
func (c *conn) answered(id jsonrpc.ID, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
	if all {
		clear(c.asked)
	}
	c.rest()
}

// rest tells finish when there is nothing left to do. The lock is held.
func (c *conn) rest() {
	if !c.last || c.finished {
		return
	}
	for _, waits := range c.asked {
		if waits {
			return
		}
	}
	c.finished = true
	close(c.idle)
}

// finish waits until all requests have their answers.
func (c *conn) finish() {
	c.mu.Lock()
	c.last = true
	c.rest()
	c.mu.Unlock()
	late := time.NewTimer(FinishTime)
	defer late.Stop()
	select {
	case <-c.idle:
	case <-late.C:
	case <-c.closed:
	}
}

func (c *conn) Write(ctx context.Context, message jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if answer, ok := message.(*jsonrpc.Response); ok {
		message = tooEarly(answer)
	}
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if err := c.write(text); err != nil {
		c.answered(jsonrpc.ID{}, true)
		return err
	}
	if answer, ok := message.(*jsonrpc.Response); ok {
		c.answered(answer.ID, false)
	}
	return nil
}

// tooEarly gives an answer to a request before initialize the code of one that is not valid. The
// protocol's library answers it with none.
func tooEarly(answer *jsonrpc.Response) *jsonrpc.Response {
	if answer.Error == nil || !strings.HasSuffix(answer.Error.Error(), "session initialization") {
		return answer
	}
	if _, coded := errors.AsType[*jsonrpc.Error](answer.Error); coded {
		return answer
	}
	early := *answer
	early.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: answer.Error.Error() + ": send initialize first"}
	return &early
}

func (c *conn) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}
