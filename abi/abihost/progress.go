package abihost

import "github.com/wasmagent/wasmagent/abi"

// ParseProgress reads the payload of the host call progress. The numbers are finite and not below
// 0; the message is cleaned and cut at abi.MaxTextChars. It returns a *transcode.SyntaxError for
// bytes that are not msgpack and a *FieldError for the rest.
func ParseProgress(b []byte) (abi.Progress, error) {
	root, err := decode(b)
	if err != nil {
		return abi.Progress{}, err
	}
	d := &decoder{}
	f := d.object("", root)
	p := abi.Progress{
		Done:    f.number("done", required),
		Total:   f.number("total", optional),
		Message: f.text("message", optional),
	}
	if d.err != nil {
		return abi.Progress{}, d.err
	}
	return p, nil
}
