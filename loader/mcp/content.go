package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/plugins"
)

// answer is a result as the server sent it.
type answer struct {
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	Asks       json.RawMessage `json:"inputRequests"`
	Type       string          `json:"resultType"`
}

// content is one block as the protocol has it.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"`
	MIME     string `json:"mimeType"`
	Name     string `json:"name"`
	URI      string `json:"uri"`
	Resource *struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType"`
		Text *string `json:"text"`
		Blob []byte  `json:"blob"`
	} `json:"resource"`
}

// readAnswer reads a result without secrets; what is none is a *plugins.MalformedError.
func readAnswer(raw string, scrub func(string) string) (*answer, error) {
	var a answer
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return nil, malformed("bad_envelope", "the result cannot be read: "+scrub(err.Error()))
	}
	if a.Asks != nil || a.Type == "input_required" {
		return nil, malformed("contract", "it asks for input, which its client does not offer")
	}
	if string(a.Structured) == "null" {
		a.Structured = nil
	}
	if len(a.Content) > MaxBlocks {
		return nil, malformed("bad_envelope", fmt.Sprintf("%d blocks of content, at most %d",
			len(a.Content), MaxBlocks))
	}
	a.scrub(scrub)
	return &a, nil
}

func malformed(name, detail string) error {
	return &plugins.MalformedError{Name: name, Detail: detail, Offset: -1}
}

// output is the result of a good call. Structured content is the value where the tool describes
// one, or where there is nothing else: what a model reads are the blocks.
func (a *answer) output(described bool) (plugins.Output, error) {
	if a.Structured != nil && (described || len(a.Content) == 0) {
		if _, err := transcode.AppendMsgpack(nil, a.Structured); err != nil {
			return plugins.Output{}, malformed("bad_envelope", "structured content: "+err.Error())
		}
		return plugins.Output{Value: a.Structured}, nil
	}
	if len(a.Content) == 0 {
		return plugins.Output{Value: json.RawMessage("null")}, nil // a tool that gives nothing
	}
	blocks := make([]abi.Block, len(a.Content))
	for i := range a.Content {
		blocks[i] = a.Content[i].block()
	}
	return plugins.Output{Content: blocks}, nil
}

// block keeps a block as it is. One that a result cannot have, such as a link, becomes a line that
// says what it was.
func (c *content) block() abi.Block {
	switch {
	case c.Type == "text":
		return abi.Block{Type: abi.BlockText, Text: c.Text}
	case c.Type == "image":
		return abi.Block{Type: abi.BlockImage, Data: c.data(), MIME: word(c.MIME)}
	case c.Type == "audio":
		return abi.Block{Type: abi.BlockAudio, Data: c.data(), MIME: word(c.MIME)}
	case c.Type == "resource" && c.Resource != nil:
		r := c.Resource
		b := abi.Block{Type: abi.BlockFile, MIME: word(r.MIME), Name: word(r.URI)}
		if r.Text != nil {
			b.Text = *r.Text
		} else {
			b.Data = append([]byte{}, r.Blob...)
		}
		return b
	case c.Type == "resource_link":
		return note("[a link to %q: %s]", word(c.Name), word(c.URI))
	}
	return note("[a block of type %q, which is not shown]", word(c.Type))
}

func (c *content) data() []byte { return append([]byte{}, c.Data...) }

func note(format string, args ...any) abi.Block {
	return abi.Block{Type: abi.BlockText, Text: fmt.Sprintf(format, args...)}
}

// failure is what a call with isError says: its texts, and its structured content if it is small.
func (a *answer) failure(report func(string) string) *abi.Failure {
	var texts []string
	for _, c := range a.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	f := &abi.Failure{Message: report(strings.Join(texts, "\n"))}
	if f.Message == "" {
		f.Message = "it failed and does not say why"
	}
	if n := len(a.Structured); n > 0 && n <= maxDetails {
		if raw, err := transcode.AppendMsgpack(nil, a.Structured); err == nil {
			f.Details = raw
		}
	}
	return f
}

func word(s string) string { return abi.CleanText(s, maxWord) }
