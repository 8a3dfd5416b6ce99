package transcode

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf8"
)

// A frame is one array or map that is open.
type frame struct {
	isMap  bool
	id     uint32 // of a map with many keys, among them; else 0
	begun  int    // elements, or keys of a map, so far
	left   int    // reading msgpack: values still to come, two for each pair
	header int    // writing msgpack: where the header lies
	first  int    // where this map's keys begin in the few
	key    span   // the last key; none while the next one is read
}

// A span is where bytes lie in a buffer.
type span struct{ start, end int }

// A nest is the arrays and maps that are open, outermost first, and the keys they have had.
type nest struct {
	depth int
	max   int
	open  [MaxDepth + 1]frame
	few   []span // keys of the open maps, of each no more than maxFew
	many  keySet // keys of maps that have more
}

// maxFew is how many keys are compared one by one: so few are done before a hash would be.
const maxFew = 8

// Nests are some kilobytes and their key sets grow, so they are used again.
var nests = sync.Pool{New: func() any { return &nest{many: newKeySet()} }}

func newNest(maxDepth int) *nest {
	n := nests.Get().(*nest)
	n.depth, n.max = 0, maxDepth
	n.few = n.few[:0]
	n.many.begin()
	return n
}

func (n *nest) release() {
	if n.many.small() {
		nests.Put(n)
	}
}

// push opens an array or map and returns its frame, or nil where nothing may nest deeper.
func (n *nest) push(isMap bool) *frame {
	if n.depth == n.max {
		return nil
	}
	f := &n.open[n.depth]
	n.depth++
	*f = frame{isMap: isMap, first: len(n.few)}
	return f
}

// pop closes the innermost array or map.
func (n *nest) pop() {
	n.depth--
	n.few = n.few[:n.open[n.depth].first]
}

func (n *nest) top() *frame { return &n.open[n.depth-1] }

func (n *nest) inMap() bool { return n.depth > 0 && n.top().isMap }

// addKey gives the innermost map the key that lies in buf at key, and reports whether it is new
// there.
func (n *nest) addKey(buf []byte, key span) bool {
	f := n.top()
	f.begun++
	f.key = key
	switch {
	case f.id != 0:
		return n.many.add(f.id, buf, key)
	case f.begun > maxFew:
		f.id = n.many.newMap()
		for _, k := range n.few[f.first:] {
			n.many.add(f.id, buf, k)
		}
		return n.many.add(f.id, buf, key)
	}
	text := buf[key.start:key.end]
	for _, k := range n.few[f.first:] {
		if k.end-k.start == len(text) && bytes.Equal(buf[k.start:k.end], text) {
			return false
		}
	}
	n.few = append(n.few, key)
	return true
}

// duplicate says that the last key was not new.
func (n *nest) duplicate(buf []byte) string {
	k := n.top().key
	return "the key " + quoteKey(buf[k.start:k.end]) + " comes twice in a map"
}

const maxPathKey = 32 // characters of one key in a path

// path names the value that is being read, as in $.rows[3].price. Keys lie in buf.
func (n *nest) path(buf []byte) string {
	p := []byte{'$'}
	for i := range n.depth {
		f := &n.open[i]
		switch {
		case f.isMap && f.key != span{}:
			p = appendPathKey(p, buf[f.key.start:f.key.end])
		case !f.isMap && f.begun > 0:
			p = append(p, '[')
			p = strconv.AppendInt(p, int64(f.begun-1), 10)
			p = append(p, ']')
		}
	}
	return string(p)
}

// pointer is path as a JSON pointer.
func (n *nest) pointer(buf []byte) string {
	var p []byte
	for i := range n.depth {
		f := &n.open[i]
		switch {
		case f.isMap && f.key != span{}:
			p = appendToken(append(p, '/'), buf[f.key.start:f.key.end])
		case !f.isMap && f.begun > 0:
			p = strconv.AppendInt(append(p, '/'), int64(f.begun-1), 10)
		}
	}
	return string(p)
}

// appendToken appends a key as a JSON pointer has it, cut to maxPathKey characters.
func appendToken(p, key []byte) []byte {
	chars := 0
	for _, r := range string(key) {
		if chars++; chars > maxPathKey {
			return append(p, "…"...)
		}
		switch r {
		case '~':
			p = append(p, "~0"...)
		case '/':
			p = append(p, "~1"...)
		default:
			p = utf8.AppendRune(p, r)
		}
	}
	return p
}

// noKey makes path and pointer name the innermost map itself, not the value under its last key.
func (n *nest) noKey() { n.top().key = span{} }

// appendPathKey appends a key as .name where it is a plain word, else as ["name"].
func appendPathKey(p, key []byte) []byte {
	if isWord(key) && len(key) <= maxPathKey {
		return append(append(p, '.'), key...)
	}
	return append(append(append(p, '['), quoteKey(key)...), ']')
}

// quoteKey quotes and cuts a key, which is a stranger's text, for an error.
func quoteKey(key []byte) string {
	end := 0
	for range maxPathKey {
		_, size := utf8.DecodeRune(key[end:])
		end += size
	}
	q := strconv.QuoteToASCII(string(key[:end]))
	if end < len(key) {
		q += "…"
	}
	return q
}

func isWord(b []byte) bool {
	for i, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(b) > 0
}
