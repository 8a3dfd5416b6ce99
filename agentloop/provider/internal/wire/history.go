package wire

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// maxName is how many characters the APIs allow a tool's name.
const maxName = 64

// Name makes what a model called a tool a name that the APIs take back. Those of tools that exist
// stay as they are.
func Name(s string) string {
	s = Plain(s)
	return s[:min(len(s), maxName)]
}

// Plain replaces what is no letter, digit, dash or underscore. It is never empty.
func Plain(s string) string {
	if s == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// IDs keeps the ids of calls apart: there are servers that give none, or the same ones again with
// each answer.
type IDs map[string]bool

// NewIDs knows the ids of these messages.
func NewIDs(list []message.Message) IDs {
	ids := IDs{}
	for i := range list {
		for _, call := range list[i].Calls {
			ids[call.ID] = true
		}
	}
	return ids
}

// Take is id, or one that is made up where it is missing or was used before.
func (ids IDs) Take(id string) string {
	if id == "" || ids[id] {
		id = "call_" + rand.Text()
	}
	ids[id] = true
	return id
}

// Arguments are a call's arguments as the APIs take them back: a JSON object. What a model wrote
// that is none is shown to it inside of one.
func Arguments(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return text
	}
	wrapped, _ := json.Marshal(map[string]string{"not_an_object": text}) // a string has a JSON form
	return string(wrapped)
}

// Schema is a tool's schema, or that of an object about which nothing is said.
func Schema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}
