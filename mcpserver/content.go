package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// maxWord is how many characters of a block's type, MIME type and name are told.
const maxWord = 128

// content is what the model sees of an output: at most excerpt.DefaultMax bytes of text.
func content(s *session, out plugins.Output) []mcp.Content {
	if out.Content == nil {
		return []mcp.Content{&mcp.TextContent{Text: s.outputs.Cut(valueText(out.Value)).Text}}
	}
	blocks, left := out.Content, 0
	if len(blocks) > MaxBlocks {
		blocks, left = blocks[:MaxBlocks], len(blocks)-MaxBlocks
	}
	long := tooLong(blocks)
	shown := make([]mcp.Content, 0, len(blocks)+2)
	if long {
		shown = append(shown, &mcp.TextContent{Text: s.outputs.Cut(allText(blocks)).Text})
	}
	for i := range blocks {
		if b := &blocks[i]; !long || !isText(b) {
			shown = append(shown, block(b))
		}
	}
	if left > 0 {
		more := fmt.Sprintf("[%d more blocks are left out]", left)
		shown = append(shown, &mcp.TextContent{Text: more})
	}
	return shown
}

// valueText is a JSON value as a model reads it: a string as its own text.
func valueText(value json.RawMessage) string {
	var s string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil {
		return s
	}
	return valid(string(value))
}

// isText reports whether a block is text that a model reads: one of type text, or a file of text.
func isText(b *abi.Block) bool { return b.Type == "text" || b.Type == "file" && b.Text != "" }

// tooLong reports whether the texts of all blocks are together too long for a model.
func tooLong(blocks []abi.Block) bool {
	size := 0
	for i := range blocks {
		if isText(&blocks[i]) {
			size += len(blocks[i].Text)
		}
	}
	return size > excerpt.DefaultMax
}

// allText joins the texts of all blocks into one, to be cut as a whole.
func allText(blocks []abi.Block) string {
	var parts []string
	for i := range blocks {
		if b := &blocks[i]; b.Type == "text" {
			parts = append(parts, valid(b.Text))
		} else if isText(b) {
			parts = append(parts, fmt.Sprintf("[file %q]\n%s", word(b.Name), valid(b.Text)))
		}
	}
	return strings.Join(parts, "\n")
}

// block is one block as the protocol has it. Of a type that the protocol does not have, only a line
// is told.
func block(b *abi.Block) mcp.Content {
	switch b.Type {
	case "text":
		return &mcp.TextContent{Text: valid(b.Text)}
	case "image":
		return &mcp.ImageContent{Data: b.Data, MIMEType: mime(b)}
	case "audio":
		return &mcp.AudioContent{Data: b.Data, MIMEType: mime(b)}
	case "file":
		file := &mcp.ResourceContents{MIMEType: mime(b)}
		file.URI = "wasmagent://result/" + url.PathEscape(word(b.Name))
		if b.Text != "" {
			file.Text = valid(b.Text)
		} else {
			file.Blob = append([]byte{}, b.Data...) // present also when it is empty
		}
		return &mcp.EmbeddedResource{Resource: file}
	}
	return &mcp.TextContent{Text: fmt.Sprintf("[%s, %q, %d bytes, which are not shown]", word(b.Type),
		word(b.Name), len(b.Data))}
}

func mime(b *abi.Block) string {
	if m := word(b.MIME); m != "" {
		return m
	}
	if b.Type == "file" && b.Text != "" {
		return "text/plain"
	}
	return "application/octet-stream"
}

func word(s string) string { return abi.CleanText(s, maxWord) }

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
