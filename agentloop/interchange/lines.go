package interchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// limits are MaxLine, MaxFile and MaxLines; tests have smaller ones.
type limits struct {
	line, file int64
	lines      int
}

// readLines reads a whole file, and gives its lines without their newlines.
func readLines(r io.Reader, max limits) ([][]byte, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var lines [][]byte
	size := int64(0)
	for {
		line, more, err := readLine(in, max.line)
		n := len(lines) + 1
		if err == errLong {
			return nil, &Error{Line: n, Detail: fmt.Sprintf("more than %d bytes; a picture in it? "+
				"take the line out of a copy", max.line)}
		} else if err != nil {
			return nil, err
		}
		if !more && len(line) == 0 {
			return lines, nil
		}
		size += int64(len(line)) + 1
		switch {
		case size-1 > max.file, more && size > max.file:
			return nil, &Error{Detail: fmt.Sprintf("more than %d bytes", max.file)}
		case n > max.lines:
			return nil, &Error{Detail: fmt.Sprintf("more than %d lines", max.lines)}
		case !utf8.Valid(line):
			return nil, &Error{Line: n, Detail: "not UTF-8: is the file damaged?"}
		case depth(line) > MaxDepth:
			return nil, &Error{Line: n,
				Detail: fmt.Sprintf("more than %d objects and lists inside each other", MaxDepth)}
		}
		lines = append(lines, line)
		if !more {
			return lines, nil
		}
	}
}

var errLong = fmt.Errorf("the line is too long")

// readLine reads up to a newline, which it leaves out, or the end. More tells of a newline.
func readLine(in *bufio.Reader, max int64) (line []byte, more bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		more = err == nil
		line = append(line, piece...)
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case int64(len(line)) > max:
			return nil, false, errLong
		case err == nil || err == io.EOF:
			return line, more, nil
		case err != bufio.ErrBufferFull:
			return nil, false, err
		}
	}
}

// depth is how deep the brackets of a line go, as far as it is JSON.
func depth(line []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// kept is what a message's Meta says of the file that it was read from.
type kept struct {
	Lines []keptLine `json:"lines"`
}

// keptLine is a line of that file. One that is an object without needless space stands there as it
// is; any other is a string.
type keptLine struct {
	N    int             `json:"n"` // from 1
	Line json.RawMessage `json:"line"`
}

// keep gives the form of a keptLine.
func keep(n int, line []byte) object {
	var tight bytes.Buffer
	if bytes.HasPrefix(line, []byte("{")) && json.Compact(&tight, line) == nil &&
		bytes.Equal(tight.Bytes(), line) {
		return object{{"n", n}, {"line", compact(line)}}
	}
	return object{{"n", n}, {"line", string(line)}}
}

func (k *keptLine) text() []byte {
	var s string
	if json.Unmarshal(k.Line, &s) == nil {
		return []byte(s)
	}
	return k.Line
}
