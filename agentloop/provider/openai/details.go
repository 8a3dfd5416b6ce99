package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// details are the parts of reasoning that a server wants back whole, and streams in pieces. Pieces
// of one part follow each other and have the same index and type.
type details []detail

type detail struct {
	index  json.Number
	kind   string
	fields map[string]any
	texts  map[string]*strings.Builder // those of the fields that grow
}

// growing names the fields of which a piece has a piece; a piece has the others whole.
var growing = []string{"text", "summary", "data"}

func (d *details) add(raw json.RawMessage) error {
	var piece map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&piece); err != nil {
		return wire.Broken("one of its reasoning_details is not an object (%w)", err)
	}
	index, indexed := piece["index"].(json.Number)
	kind, _ := piece["type"].(string)
	last := len(*d) - 1
	if last < 0 || !indexed || (*d)[last].index != index || (*d)[last].kind != kind {
		if len(*d) == provider.MaxParts {
			return wire.Broken("it has more than %d reasoning_details", provider.MaxParts)
		}
		*d = append(*d, detail{index, kind, map[string]any{}, map[string]*strings.Builder{}})
		last++
	}
	(*d)[last].extend(piece)
	return nil
}

func (d *detail) extend(piece map[string]any) {
	for name, value := range piece {
		if text, ok := value.(string); ok && slices.Contains(growing, name) {
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			d.texts[name].WriteString(text)
		} else if value != nil || d.fields[name] == nil {
			d.fields[name] = value
		}
	}
}

func (d details) list() []json.RawMessage {
	var list []json.RawMessage
	for _, part := range d {
		for name, text := range part.texts {
			part.fields[name] = text.String()
		}
		raw, _ := json.Marshal(part.fields) // they came out of JSON
		list = append(list, raw)
	}
	return list
}
