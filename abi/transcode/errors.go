package transcode

import "strconv"

// SyntaxError is bytes that are not one well-formed msgpack value, or one beyond the limits.
type SyntaxError struct {
	Offset int // the byte where the value that is wrong begins
	Detail string
}

func (e *SyntaxError) Error() string {
	return "byte " + strconv.Itoa(e.Offset) + " of the msgpack: " + e.Detail
}

// NoJSONError is a well-formed msgpack value that has no JSON form.
type NoJSONError struct {
	Path   string // the value, such as $.rows[3].price; for a key, the map that has it
	Detail string
}

func (e *NoJSONError) Error() string { return e.Path + ": " + e.Detail }

// CarriageError is arguments that cannot be carried to a guest: text that is not JSON, or JSON that
// would lose something on the way.
type CarriageError struct {
	Offset  int    // the byte of the JSON text
	Pointer string // the value, such as /rows/3/price, with long keys cut; "" is the whole
	Detail  string
}

func (e *CarriageError) Error() string {
	text := "at byte " + strconv.Itoa(e.Offset)
	if e.Pointer != "" {
		text += ", " + e.Pointer
	}
	return text + ": " + e.Detail
}
