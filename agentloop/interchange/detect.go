package interchange

import "encoding/json"

// detect finds out whose file it is: the first line that only one of them would write decides.
func detect(lines [][]byte) Format {
	for _, line := range lines {
		var l struct {
			Type      string          `json:"type"`
			Payload   json.RawMessage `json:"payload"`
			SessionID json.RawMessage `json:"sessionId"`
			UUID      json.RawMessage `json:"uuid"`
			Leaf      json.RawMessage `json:"leafUuid"`
			Message   json.RawMessage `json:"messageId"`

			ID        json.RawMessage `json:"id"`
			Timestamp json.RawMessage `json:"timestamp"`
			Role      string          `json:"role"`
		}
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		switch {
		case l.Type != "" && l.Payload != nil:
			return Codex
		case l.UUID != nil || l.SessionID != nil || l.Leaf != nil || l.Message != nil:
			return ClaudeCode
		case l.Type == "" && l.ID != nil && l.Timestamp != nil, l.Type == "message" && l.Role != "":
			return Codex // before its lines had payloads
		}
	}
	return ""
}
