package host

import "github.com/wasmagent/wasmagent/abi"

// scrubReply takes secrets out of all texts and bytes of a reply. They lie in it as they are, so a
// reply that can be told to have none at all is not taken apart.
func scrubReply(reply []byte, scrub func(string) string) []byte {
	whole := string(reply)
	clean := scrub(whole)
	if clean == whole {
		return reply
	}
	r := abi.NewReader(reply)
	out, err := appendScrubbed(make([]byte, 0, len(reply)), r, scrub)
	if err == nil {
		err = r.End()
	}
	if err != nil { // nothing can be made of it anyway
		return []byte(clean)
	}
	return out
}

// appendScrubbed copies the next value, whose nesting the reader bounds.
func appendScrubbed(dst []byte, r *abi.Reader, scrub func(string) string) ([]byte, error) {
	var n int
	var err error
	switch r.Kind() {
	case abi.KindString:
		var s string
		s, err = r.Str()
		return abi.AppendString(dst, scrub(s)), err
	case abi.KindBin:
		var b []byte
		b, err = r.Bin()
		return abi.AppendBin(dst, []byte(scrub(string(b)))), err
	case abi.KindArray:
		n, err = r.Array()
		dst = abi.AppendArrayHeader(dst, n)
	case abi.KindMap:
		n, err = r.Map()
		dst = abi.AppendMapHeader(dst, n)
		n *= 2
	default:
		raw, err := r.Raw()
		return append(dst, raw...), err
	}
	for range n {
		if err == nil {
			dst, err = appendScrubbed(dst, r, scrub)
		}
	}
	return dst, err
}
