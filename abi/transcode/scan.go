package transcode

// Scan checks that b is exactly one well-formed msgpack value without duplicate keys, and says
// where it is not with a *SyntaxError. The outermost value is taken for an envelope: maxNodes
// values, and arrays and maps MaxDepth deep, may lie inside it.
//
// What it lets pass, any decoder can be given. It need not have a JSON form: keys of other kinds
// than strings, strings that are not UTF-8, extensions and floats that are not finite are
// well-formed. Only keys that are strings are compared and, unlike others, not counted as values.
func Scan(b []byte, maxNodes int) error { return scan(b, maxNodes+1, MaxDepth+1) }

func scan(b []byte, maxNodes, maxDepth int) error {
	r := reader{nest: newNest(maxDepth), in: b, maxNodes: maxNodes}
	defer r.release()
	for {
		isKey := r.inMap() && r.top().left%2 == 0
		if r.depth > 0 {
			r.top().left--
		}
		k, err := r.token()
		switch {
		case err != nil:
			return err
		case !isKey || k != kindString:
			err = r.count(k)
		case !r.addKey(b, r.body):
			err = r.fail("%s", r.duplicate(b))
		}
		if err != nil {
			return err
		}
		for r.depth > 0 && r.top().left == 0 {
			r.pop()
		}
		if r.depth == 0 {
			return r.end()
		}
	}
}
