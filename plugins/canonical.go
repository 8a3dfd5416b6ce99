package plugins

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
)

// hashOf is the SHA-256 of arguments, the same for the same values whatever the order of their
// fields and the way their numbers were written; 1, 1.0 and "1" differ, as they do for the tool.
func hashOf(v abi.Raw) [sha256.Size]byte {
	return sha256.Sum256(appendCanonical(make([]byte, 0, len(v)), v))
}

// appendCanonical appends v with the fields of every object sorted. The coding itself is already
// the shortest one.
func appendCanonical(dst []byte, v abi.Raw) []byte {
	r := abi.NewReader(v)
	switch r.Kind() {
	case abi.KindArray:
		n, _ := r.Array()
		dst = abi.AppendArrayHeader(dst, n)
		for range n {
			item, err := r.Raw()
			if err != nil {
				return dst // not reached: the bytes are the transcoder's own
			}
			dst = appendCanonical(dst, item)
		}
		return dst
	case abi.KindMap:
		return appendSorted(dst, r)
	}
	return append(dst, v...)
}

func appendSorted(dst []byte, r *abi.Reader) []byte {
	type field struct{ name, value abi.Raw }
	n, _ := r.Map()
	var few [12]field
	fields := few[:0]
	for range n {
		name, err := r.Raw()
		if err != nil {
			return dst // not reached, as above
		}
		value, err := r.Raw()
		if err != nil {
			return dst
		}
		fields = append(fields, field{name, value})
	}
	slices.SortFunc(fields, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	dst = abi.AppendMapHeader(dst, n)
	for _, f := range fields {
		dst = appendCanonical(append(dst, f.name...), f.value)
	}
	return dst
}
