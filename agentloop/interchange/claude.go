package interchange

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// claudeLine is what matters of a line of Claude Code's. The lines of a conversation are a tree.
type claudeLine struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parentUuid"`
	Logical   string          `json:"logicalParentUuid"` // behind a compaction
	Leaf      string          `json:"leafUuid"`          // of a pointer
	Sidechain bool            `json:"isSidechain"`       // a subagent's
	Failed    bool            `json:"isApiErrorMessage"` // shown, and never sent to a model
	Shown     bool            `json:"isVisibleInTranscriptOnly"`
	Time      stamp           `json:"timestamp"`
	Session   string          `json:"sessionId"`
	CWD       string          `json:"cwd"`
	Message   json.RawMessage `json:"message"`
	Own       patch           `json:"wasmagent"`

	said claudeMessage
}

// claudeMessage is one of the Messages API.
type claudeMessage struct {
	ID      string        `json:"id"`
	Role    message.Role  `json:"role"`
	Model   string        `json:"model"`
	Content claudeContent `json:"content"`
	Stop    string        `json:"stop_reason"`
	Usage   claudeUsage   `json:"usage"`
}

type claudeUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *claudeUsage) normal() *message.Usage {
	n := message.Usage{Input: u.Input + u.Created + u.Cached, Output: u.Output, Cached: u.Cached,
		Reasoning: u.Details.Thinking}
	if n == (message.Usage{}) {
		return nil
	}
	return &n
}

// thought tells of a block that a provider wants to have back as it was. Text and calls stand in
// the message themselves.
func thought(kind string) bool {
	switch kind {
	case "text", "tool_use", "tool_result":
		return false
	}
	return true
}

// claudeContent is a list of blocks; a text alone is one of them. What a tool of the model's own
// gave is neither.
type claudeContent []claudeBlock

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"` // of a tool_result
	IsError  bool            `json:"is_error"`
	Source   struct {
		MIME string `json:"media_type"`
		Data string `json:"data"`
	} `json:"source"`

	raw json.RawMessage // of thinking
}

func (c *claudeContent) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*c = claudeContent{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*c = make(claudeContent, len(list))
	for i, raw := range list {
		b := &(*c)[i]
		if err := json.Unmarshal(raw, b); err != nil {
			return err
		}
		if thought(b.Type) {
			b.raw = raw
		}
	}
	return nil
}

// shown is the text of a block that a person or a tool gave.
func (b *claudeBlock) shown() string {
	if b.Type == "text" {
		return b.Text
	}
	return picture(b.Type, b.Source.MIME, len(b.Source.Data)*3/4)
}

// output is the text of a result.
func (b *claudeBlock) output() (string, error) {
	if b.Content == nil {
		return "", nil
	}
	var c claudeContent
	err := json.Unmarshal(b.Content, &c)
	texts := make([]string, len(c))
	for i := range c {
		texts[i] = c[i].shown()
	}
	return strings.Join(texts, "\n"), err
}

var claudeStops = map[string]message.Finish{
	"end_turn":   message.FinishStop,
	"tool_use":   message.FinishCalls,
	"max_tokens": message.FinishLength,
	"refusal":    message.FinishRefusal,
	"pause_turn": message.FinishPause,
}

func claudeFinish(reason string) message.Finish {
	if f, ok := claudeStops[reason]; ok || reason == "" {
		return f
	}
	return message.FinishOther
}

// signed is what a provider of the kind anthropic keeps of thinking: the block, and how many blocks
// were before it, with the texts as one.
type signed struct {
	At    int             `json:"at"`
	Block json.RawMessage `json:"block"`
}

const anthropic = "anthropic"
