package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// Nothing that a server sends reaches the protocol's library as it came. The sieve bounds every
// message before it is kept, drops what is no message instead of ending the session over it, and
// packs results of tools into a string: the library would read their numbers as float64, and refuse
// a whole result because of one block of a type that it does not know.

// rawKey is where a packed result lies, in its _meta.
const rawKey = "wasmagent/raw"

// Codes of errors that the sieve puts in the place of an answer that it does not let through. A
// server that sends them itself only says the same of itself.
const (
	codeTooLong   = -32091
	codeMalformed = -32092
	codeBroken    = -32093
)

// sieve lets a server's messages through.
type sieve struct {
	max   int               // bytes of a message
	log   func(text string) // what is dropped
	pings *rate.Limiter
	asks  atomic.Int64 // other requests so far
}

func newSieve(max int, log func(string)) *sieve {
	return &sieve{max: max, log: log, pings: rate.NewLimiter(PingsPerSecond, pingBurst)}
}

// noise logs what is no message. Of a long one more is given than is shown, so that nothing in it
// is cut before it is searched for secrets.
func (s *sieve) noise(text []byte) {
	s.log("not a message: " + string(text[:min(len(text), 16*MaxLineChars)]))
}

// mayAsk reports whether a request of the server's is answered at all. One that never reads the
// answers would make them pile up.
func (s *sieve) mayAsk(method json.RawMessage) bool {
	if string(method) == `"ping"` {
		return s.pings.Allow()
	}
	return s.asks.Add(1) <= MaxAsks
}

// pass gives the message to read in the place of b, or nil when b is none.
func (s *sieve) pass(b []byte) []byte {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil || m["method"] == nil && m["id"] == nil {
		return nil
	}
	if m["method"] != nil && m["id"] != nil && !s.mayAsk(m["method"]) {
		return nil
	}
	if m["method"] != nil || m["result"] == nil || m["error"] != nil {
		return compact(b)
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(m["result"], &result) != nil || result == nil {
		return errorMessage(m["id"], codeMalformed, "the result is no object")
	}
	if !isToolResult(result) {
		return compact(b)
	}
	return packed(m["id"], m["result"])
}

// isToolResult reports whether a result is that of a call of a tool.
func isToolResult(result map[string]json.RawMessage) bool {
	for _, key := range [...]string{"content", "structuredContent", "isError", "inputRequests"} {
		if result[key] != nil {
			return true
		}
	}
	return false
}

func packed(id, result json.RawMessage) []byte {
	text, err := json.Marshal(string(result))
	if err != nil {
		return nil // a string always has a form
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"_meta":{%q:%s}}}`,
		id, rawKey, text)
}

// errorMessage answers a call; without one, nothing.
func errorMessage(id json.RawMessage, code int, text string) []byte {
	if id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`,
		id, code, text)
}

// compact puts a message on one line, as both transports need it.
func compact(b []byte) []byte {
	if !bytes.ContainsAny(b, "\r\n") {
		return b
	}
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil
	}
	return out.Bytes()
}

// The number of a call's answer is at one of the answer's ends, wherever a library puts it.
var (
	idFirst = regexp.MustCompile(
		`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,18})\s*,`)
	idLast = regexp.MustCompile(`,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,18})` +
		`\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// tooLong gives an error in the place of a message that is past the limit, or nil when it cannot be
// told which call it answers: that one ends at its time limit.
func (s *sieve) tooLong(l line) []byte {
	for _, found := range [][][]byte{idFirst.FindSubmatch(l.text), idLast.FindSubmatch(l.tail)} {
		if found != nil {
			return errorMessage(found[1], codeTooLong, "the answer is too long")
		}
	}
	s.log(fmt.Sprintf("a message of more than %d bytes was dropped", s.max))
	return nil
}

// line is one line without its end, or the two ends of one that is too long.
type line struct {
	text, tail []byte
	long       bool
}

// readLine reads a line of at most max bytes, or reads past a longer one. Like ReadSlice, it gives
// what there is before an error.
func readLine(r *bufio.Reader, max int) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.long:
			l.tail = append(l.tail, part...)
			l.tail = l.tail[len(l.tail)-min(len(l.tail), sniffed):]
		case len(l.text)+len(bytes.TrimRight(part, "\r\n")) > max:
			all := append(l.text, part...)
			l.text = bytes.Clone(all[:min(len(all), sniffed)])
			l.tail = bytes.Clone(all[len(all)-min(len(all), sniffed):])
			l.long = true
		default:
			l.text = append(l.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = bytes.TrimRight(l.text, "\r\n")
			return l, err
		}
	}
}

// feed is a reader of what next gives, which sets done when there is no more.
type feed struct {
	next    func() ([]byte, error)
	pending []byte
	done    error
	closer  io.Closer
}

func (f *feed) Read(p []byte) (int, error) {
	for len(f.pending) == 0 {
		if f.done != nil {
			return 0, f.done
		}
		f.pending, f.done = f.next()
	}
	n := copy(p, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

func (f *feed) Close() error { return f.closer.Close() }
