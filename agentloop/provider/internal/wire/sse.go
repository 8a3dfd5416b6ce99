package wire

import (
	"bufio"
	"bytes"
	"io"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// Event is one server-sent event. Data is valid until the next one is read.
type Event struct {
	Name string // "" where it has none
	Data []byte
}

type eventReader struct {
	r     *bufio.Reader
	line  []byte // where one is longer than the reader's buffer
	data  []byte
	ended bool
}

var byteOrderMark = []byte("\uFEFF")

func newEventReader(r io.Reader) *eventReader {
	buffered := bufio.NewReaderSize(r, 16<<10)
	if start, _ := buffered.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) {
		_, _ = buffered.Discard(len(byteOrderMark)) // what has been peeked at can be discarded
	}
	return &eventReader{r: buffered}
}

// next is the next event that has data, or io.EOF. The last one may lack the empty line that ends
// it, since some servers leave that out: a stream that was cut is found by what it says.
func (e *eventReader) next() (Event, error) {
	var event Event
	e.data = e.data[:0]
	some := false
	for !e.ended {
		line, err := e.readLine()
		if err == io.EOF {
			e.ended = true
		} else if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if some {
				break
			}
			event.Name = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			event.Name = string(value)
		case "data":
			if some {
				e.data = append(e.data, '\n')
			}
			if len(e.data)+len(value) > provider.MaxEvent {
				return Event{}, Broken("one of its events has more than %d MiB", provider.MaxEvent>>20)
			}
			e.data = append(e.data, value...)
			some = true
		} // all others, and comments, are not for us
	}
	if !some {
		return Event{}, io.EOF
	}
	event.Data = e.data
	return event, nil
}

// readLine reads a line without its end. With io.EOF comes the last one, if it has no end.
func (e *eventReader) readLine() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		e.line = append(e.line[:0], line...)
		for err == bufio.ErrBufferFull {
			if len(e.line) > maxLine {
				return nil, Broken("one of its lines has more than %d MiB", provider.MaxEvent>>20)
			}
			line, err = e.r.ReadSlice('\n')
			e.line = append(e.line, line...)
		}
		line = e.line
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}

// maxLine leaves room for a field's name, so that it is MaxEvent that decides what is too much.
const maxLine = provider.MaxEvent + len("data: \r\n")
