package egress

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	chunk = 32 << 10 // bytes read at once
	// codedSlack is how many bytes may come over the wire that decode to nothing, and codedFactor
	// how many for each byte of the body. A coding can also make a body longer without end, and
	// that takes far more time to decode than to send.
	codedSlack  = 64 << 10
	codedFactor = 2
)

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// codingError is a body in a coding that was not asked for. It cannot be searched for secrets.
type codingError struct{ coding string }

func (e *codingError) Error() string {
	return "the answer is coded as " + e.coding + ", not as gzip"
}

var errBloated = errors.New("its coding makes it longer than it is")

// meter reads what is coded until left is used up.
type meter struct {
	r    io.Reader
	left int64 // bytes
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left < 0 {
		return 0, errBloated
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left+1)]) // one more, to see whether there is more
	m.left -= int64(n)
	return n, err
}

// readBody decodes and scrubs a body, up to limit bytes. An error means that the body is not whole
// for another reason than the limit.
func readBody(resp *http.Response, limit int64, s *scrubber) ([]byte, bool, error) {
	if resp.Body == http.NoBody {
		return nil, false, nil
	}
	raw := &meter{resp.Body, codedSlack}
	body, err := decoder(resp.Header.Values("Content-Encoding"), raw)
	if err != nil {
		return nil, false, err
	}
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	st, left, truncated := stream{s: s}, limit, false
	if s == nil && resp.ContentLength > 0 {
		st.out = make([]byte, 0, min(resp.ContentLength, limit))
	}
	for err == nil && !truncated {
		var n int
		n, err = body.Read(buf[:])
		truncated = int64(n) > left
		n = int(min(int64(n), left))
		left -= int64(n)
		raw.left += codedFactor * int64(n)
		st.write(buf[:n])
	}
	if err != nil && err != io.EOF && !truncated {
		return nil, false, err
	}
	out := st.finish(!truncated)
	if int64(len(out)) > limit { // what replaces a secret may be longer
		out, truncated = out[:limit], true
	}
	return out, truncated, nil
}

// decoder undoes the coding that the client asked for.
func decoder(codings []string, raw io.Reader) (io.Reader, error) {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(codings, ",")))
	switch coding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		r := bufio.NewReader(raw)
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return r, nil // empty, whatever its coding
		}
		return gzip.NewReader(r)
	}
	return nil, &codingError{coding}
}
