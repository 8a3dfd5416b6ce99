package subagents

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// Lineage says where a subagent comes from.
type Lineage struct {
	ID         string    `json:"id"`
	Run        string    `json:"run,omitempty"`     // its calls are recorded under
	Session    string    `json:"session,omitempty"` // its parent's run, which is a session's ID
	Parent     string    `json:"parent,omitempty"`  // the parent's ID; "": the top agent
	Call       string    `json:"call"`              // the ID of the call that began it
	Depth      int       `json:"depth"`             // from 1
	AgentType  string    `json:"agent_type,omitempty"`
	Task       string    `json:"task"`
	Background bool      `json:"background,omitempty"`
	Time       time.Time `json:"time"`
	Model      string    `json:"model,omitempty"`
}

// ChildID is the ID of the agent that is begun by the call at this position, from 1, of an agent's
// conversation. The top agent's ID is "".
func ChildID(parent string, position int) string {
	if parent == "" {
		return "s" + strconv.Itoa(position)
	}
	return parent + "." + strconv.Itoa(position)
}

// MaxRunID is how many bytes the name of a run may have.
const MaxRunID = 128

// RunID names the run of an agent, for a tree whose top agent's run is top; both "" where nothing
// is recorded. What would be too long is named by a digest.
func RunID(top, id string) string {
	if top == "" {
		return ""
	}
	run := top + "." + id
	if len(run) > MaxRunID {
		sum := sha256.Sum256([]byte(run))
		return "sub-" + hex.EncodeToString(sum[:])
	}
	return run
}
