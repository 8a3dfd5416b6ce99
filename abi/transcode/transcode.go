// Package transcode turns JSON into msgpack and back in one pass, and guards both directions.
package transcode

import "errors"

// Limits of what is scanned and carried.
const (
	MaxDepth      = 64        // arrays and maps inside one another
	MaxNodes      = 1_000_000 // values of arguments and results
	MaxSmallNodes = 10_000    // values of manifests, failures and host-call payloads
)

// Scan checks that b is exactly one well-formed msgpack value of at most maxNodes values. It returns a
// *SyntaxError.
func Scan(b []byte, maxNodes int) error { return errors.ErrUnsupported }

// AppendJSON appends the JSON form of b, one msgpack value, which it scans as it goes. It returns a
// *SyntaxError for bytes that are not msgpack and a *NoJSONError for msgpack that has no JSON form.
func AppendJSON(dst, b []byte) ([]byte, error) { return dst, errors.ErrUnsupported }

// AppendMsgpack appends the msgpack form of the JSON text b. It returns a *CarriageError for what is not
// JSON or cannot be carried without loss.
func AppendMsgpack(dst, b []byte) ([]byte, error) { return dst, errors.ErrUnsupported }

// SyntaxError is bytes that are not one well-formed msgpack value.
type SyntaxError struct {
	Offset int
	Detail string
}

func (e *SyntaxError) Error() string { return "" }

// NoJSONError is a msgpack value that has no JSON form, at Path such as $.rows[3].price.
type NoJSONError struct{ Path, Detail string }

func (e *NoJSONError) Error() string { return "" }

// CarriageError is arguments that cannot be carried to a guest.
type CarriageError struct {
	Offset int    // byte of the JSON text
	Path   string // such as $.rows[3].price
	Detail string
}

func (e *CarriageError) Error() string { return "" }
