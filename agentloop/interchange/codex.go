package interchange

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// codexLine is a line of Codex's. Its first versions had no payload: the line was one.
type codexLine struct {
	Type    string          `json:"type"`
	Time    stamp           `json:"timestamp"`
	Ordinal *int64          `json:"ordinal"`
	Payload json.RawMessage `json:"payload"`
	Own     patch           `json:"wasmagent"`
}

// codexItem is a payload: an item of the Responses API, or one of Codex's own.
type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   codexContent    `json:"content"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
	CallID    string          `json:"call_id"`
	Output    codexOutput     `json:"output"`
	Summary   codexContent    `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	From      struct {
		Content []struct {
			Provenance struct {
				Type string `json:"type"`
			} `json:"provenance"`
		} `json:"content_item_metadata"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

type codexContent []struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image string `json:"image_url"`
}

func (c *codexContent) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*c = make(codexContent, 1)
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	type plain codexContent
	return json.Unmarshal(b, (*plain)(c))
}

func (c codexContent) shown() (texts []string) {
	for i := range c {
		text := c[i].Text
		if image := c[i].Image; image != "" {
			head, data, _ := strings.Cut(image, ",")
			mime, _, _ := strings.Cut(strings.TrimPrefix(head, "data:"), ";")
			if data == "" {
				mime = "" // an address
			}
			text = picture("image", mime, len(data)*3/4)
		}
		texts = append(texts, text)
	}
	return texts
}

// codexOutput is the output of a call: a text, content, or an object with the text.
type codexOutput struct {
	text    string
	outcome message.Outcome
}

func (o *codexOutput) UnmarshalJSON(b []byte) error {
	o.outcome = message.OK
	if bytes.HasPrefix(b, []byte("{")) {
		var whole struct {
			Content codexContent `json:"content"`
			Success *bool        `json:"success"`
		}
		if err := json.Unmarshal(b, &whole); err != nil {
			return err
		}
		if whole.Success != nil && !*whole.Success {
			o.outcome = message.Error
		}
		o.text = strings.Join(whole.Content.shown(), "\n")
		return nil
	}
	var c codexContent
	if err := json.Unmarshal(b, &c); err != nil {
		return err
	}
	o.text = strings.Join(c.shown(), "\n")
	return nil
}

// harness tells of an item that the program put before the model, and no person said.
func (i *codexItem) harness() bool {
	if i.Role != string(message.User) && i.Role != string(message.Assistant) {
		return true // developer, system
	}
	for _, c := range i.From.Content {
		if c.Provenance.Type != "harness" {
			return false
		}
	}
	if len(i.From.Content) > 0 {
		return true
	}
	text := strings.TrimSpace(paragraphs(i.Content.shown()))
	for _, start := range []string{"<environment_context>", "<user_instructions>",
		"# AGENTS.md instructions for "} {
		if i.Role == string(message.User) && strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// sealed is what is kept of an item of reasoning.
type sealed struct {
	Item json.RawMessage `json:"item"`
}

const openAI = "openai"
