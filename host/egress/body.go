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
	// codedFactor is how many times the limit of a decoded body may come over the wire: a coding can
	// also make a body longer, without end.
	codedFactor = 2
)

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// codingError is a body in a coding that was not asked for. It cannot be searched for secrets.
type codingError struct{ coding string }

func (e *codingError) Error() string { return "the answer is coded as " + e.coding + ", not as gzip" }

// readBody decodes and scrubs a body, up to limit bytes. An error means that the body is not whole
// for another reason than the limit.
func readBody(resp *http.Response, limit int64, s *scrubber) ([]byte, bool, error) {
	if resp.Body == http.NoBody {
		return nil, false, nil
	}
	raw := &io.LimitedReader{R: resp.Body, N: limit*codedFactor + 1}
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
		st.write(buf[:n])
	}
	if raw.N <= 0 && err != nil {
		truncated, err = true, nil
	}
	if err != nil && err != io.EOF {
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
