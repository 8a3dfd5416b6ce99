package extism

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/plugins"
)

// Limits of a result.
const (
	maxContent = 1024     // blocks
	maxMessage = 4096     // characters of what a plugin says about a failure; more is cut
	maxDetails = 16 << 10 // bytes of structured content that a failure carries
	maxWord    = 256      // characters of a name, a type or a link
)

// result is a plugin's answer to a call, in the words of MCP.
type result struct {
	blocks     []abi.Block
	structured json.RawMessage // an object; nil: there is none
	failed     bool
}

// readResult makes an output of a plugin's answer. described says that the tool has an output
// schema. What is no result is a *plugins.MalformedError, a failure of the tool an *abi.Failure.
func readResult(answer []byte, described bool) (plugins.Output, error) {
	r, err := parseResult(answer)
	if err != nil {
		return plugins.Output{}, malformed(err)
	}
	if r.failed {
		return plugins.Output{}, r.failure()
	}
	return r.output(described), nil
}

func malformed(err error) error {
	m := &plugins.MalformedError{Name: "bad_envelope", Detail: err.Error(), Offset: -1}
	if e, ok := errors.AsType[*transcode.CarriageError](err); ok {
		m.Detail, m.Offset = e.Detail, e.Offset
		if e.Pointer != "" {
			m.Detail = e.Pointer + ": " + e.Detail
		}
	}
	return &plugins.ToolError{Kind: plugins.ErrMalformedResult, Err: m}
}

func parseResult(answer []byte) (*result, error) {
	var d document
	root, err := d.parse(answer)
	if err != nil {
		return nil, err
	}
	r := &result{failed: root.flag("isError")}
	if o, ok := root.object("structuredContent"); ok && d.err == nil {
		r.structured = root.raw(o.at)
	}
	content, ok := root.items("content")
	switch {
	case !ok && r.structured == nil:
		d.fail("content", "is missing")
	case len(content) > maxContent:
		d.fail("content", "has %d blocks, more than %d", len(content), maxContent)
		content = nil
	}
	for i, raw := range content {
		r.blocks = append(r.blocks, readBlock(d.object(at("content", i), raw)))
	}
	return r, d.err
}

// readBlock keeps a block as it is. One that a result cannot have, such as a link, becomes a line
// that says what it was.
func readBlock(o object) abi.Block {
	typ, ok := o.text("type")
	if !ok {
		o.d.fail(o.path("type"), "is missing")
	}
	switch typ {
	case "text":
		text, ok := o.text("text")
		if !ok {
			o.d.fail(o.path("text"), "is missing")
		}
		return abi.Block{Type: abi.BlockText, Text: text}
	case "image":
		return abi.Block{Type: abi.BlockImage, Data: o.data("data"), MIME: clean(o.word("mimeType"))}
	case "audio":
		return abi.Block{Type: abi.BlockAudio, Data: o.data("data"), MIME: clean(o.word("mimeType"))}
	case "resource":
		if inner, ok := o.object("resource"); ok {
			return readFile(inner, "blob")
		}
		return readFile(o, "data") // the first version has no object around it
	case "resource_link":
		return note("[a link to %q: %s]", clean(o.word("name")), clean(o.word("uri")))
	}
	return note("[a block of type %q, which is not shown]", clean(typ))
}

// readFile reads a resource, which has a text or bytes.
func readFile(o object, data string) abi.Block {
	b := abi.Block{Type: abi.BlockFile, MIME: clean(o.word("mimeType")), Name: clean(o.word("uri"))}
	var ok bool
	if b.Text, ok = o.text("text"); !ok {
		b.Data = o.data(data)
	}
	return b
}

// data are the bytes that a block must have.
func (o object) data(key string) []byte {
	b, ok := o.bytes(key)
	if !ok {
		o.d.fail(o.path(key), "is missing")
	}
	return b
}

func clean(s string) string { return abi.CleanText(s, maxWord) }

func note(format string, args ...any) abi.Block {
	return abi.Block{Type: abi.BlockText, Text: fmt.Sprintf(format, args...)}
}

// output is what a good call gave. Structured content is the value where the tool describes one, or
// where there is nothing else. Beside blocks it is one more of them, unless one says the same.
func (r *result) output(described bool) plugins.Output {
	switch {
	case r.structured != nil && (described || len(r.blocks) == 0):
		return plugins.Output{Value: r.structured}
	case len(r.blocks) == 0:
		return plugins.Output{Value: json.RawMessage("null")} // a tool that gives nothing
	case r.structured != nil && !r.says(r.structured):
		r.blocks = append(r.blocks, abi.Block{Type: abi.BlockText, Text: compact(r.structured)})
	}
	return plugins.Output{Content: r.blocks}
}

// says tells whether a block's text is a value, spaces aside.
func (r *result) says(value json.RawMessage) bool {
	want := []byte(compact(value))
	var b bytes.Buffer
	for _, block := range r.blocks {
		b.Reset()
		if json.Compact(&b, []byte(block.Text)) == nil && bytes.Equal(b.Bytes(), want) {
			return true
		}
	}
	return false
}

// failure is what a call with isError says: its texts, and its structured content if it is small.
func (r *result) failure() *abi.Failure {
	var text strings.Builder
	for _, b := range r.blocks {
		if b.Type == abi.BlockText && text.Len() < maxMessage*4 {
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(b.Text)
		}
	}
	f := &abi.Failure{Message: abi.CutText(text.String(), maxMessage)}
	if f.Message == "" {
		f.Message = "it failed and does not say why"
	}
	if n := len(r.structured); n > 0 && n <= maxDetails {
		if raw, err := transcode.AppendMsgpack(nil, r.structured); err == nil {
			f.Details = raw
		}
	}
	return f
}
