package abihost

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// cleanSchema cleans the titles and descriptions of a JSON Schema, which people and models read
// like those of tools, and leaves every other byte of it alone: names, patterns and values are for
// machines. Text that is not JSON comes back as it is; who compiles it says so.
func cleanSchema(text string) string {
	if isClean(text) || !json.Valid([]byte(text)) {
		return text
	}
	c := cleaner{d: json.NewDecoder(strings.NewReader(text)), text: text}
	c.value(place{})
	c.out.WriteString(text[c.copied:])
	return c.out.String()
}

// isClean reports that no string in text can need cleaning, as is so for most schemas of one line:
// it is short printable ASCII without escapes, and no space touches another or a quote.
func isClean(text string) bool {
	before := byte('"')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == '\\' || before == ' ' && (c == ' ' || c == '"') ||
			before == '"' && c == ' ' {
			return false
		}
		before = c
	}
	return len(text) <= abi.MaxTextChars
}

// A place is where in a schema a value lies.
type place struct {
	names bool // in an object whose keys are names of schemas, not keywords
	data  bool // in a value that arguments are compared with or filled from
	prose bool // under title or description
}

// under is the place of the value under a key of an object at p.
func (p place) under(key string) place {
	switch {
	case p.data:
		return p
	case p.names:
		return place{}
	}
	switch key {
	case "title", "description":
		return place{prose: true}
	case "const", "default", "enum", "examples":
		return place{data: true}
	case "$defs", "definitions", "dependentSchemas", "patternProperties", "properties":
		return place{names: true}
	}
	return place{}
}

type cleaner struct {
	d      *json.Decoder
	text   string
	copied int // bytes of text that are in out, or replaced there
	out    bytes.Buffer
}

// value copies the next value, which lies at p. The text is valid, so that tokens cannot fail and
// values nest no deeper than json.Valid lets them.
func (c *cleaner) value(p place) {
	before := int(c.d.InputOffset())
	tok, _ := c.d.Token()
	switch tok := tok.(type) {
	case json.Delim:
		for c.d.More() {
			inner := p
			if tok == '{' {
				key, _ := c.d.Token()
				inner = p.under(key.(string))
			}
			c.value(inner)
		}
		c.d.Token()
	case string:
		clean := abi.CleanText(tok, abi.MaxTextChars)
		if p.prose && clean != tok {
			start := before + strings.IndexByte(c.text[before:], '"')
			c.out.WriteString(c.text[c.copied:start])
			e := json.NewEncoder(&c.out)
			e.SetEscapeHTML(false)
			e.Encode(clean)
			c.out.Truncate(c.out.Len() - 1) // the encoder's line break
			c.copied = int(c.d.InputOffset())
		}
	}
}
