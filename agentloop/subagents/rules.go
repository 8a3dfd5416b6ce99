package subagents

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	DefaultMaxDepth      = 3        // of nesting; the top agent is at 0
	DefaultMaxConcurrent = 4        // subagents of a tree at a time
	MaxTask              = 64 << 10 // bytes of a task
)

// Policy says who answers what a subagent in the background asks for. "" is nobody: then there is
// no background.
type Policy string

const (
	AutoPolicy Policy = "auto_policy" // the rules: what they do not allow is denied
	Parent     Policy = "parent"      // whoever answers for its parent, while that is at work
)

// Request is what a model asks for: the arguments of a spawn.
type Request struct {
	Task       string `json:"task"`
	AgentType  string `json:"agent_type"` // "": as the one that asks
	Background bool   `json:"background"`
}

// Definition is a kind of agent. What it leaves out is as its parent's. The keys prompt, tools and
// model of capabilities.subagents.agents.NAME in a configuration are these fields.
type Definition struct {
	System string   // the system prompt, in place of the parent's
	Tools  []string // of the parent's tools, those with these names; a * at the end is any rest
	Model  string   // by name
}

// Rules decide whether a subagent may begin.
type Rules struct {
	MaxDepth    int // 0: none may
	Background  Policy
	Definitions map[string]Definition
}

// Check holds a request for a subagent at a depth against the rules, and gives what it is to be. It
// takes nothing. The error is, in this order, a *RequestError, a *DefinitionError, a *DepthError or
// ErrBackgroundPolicy.
func (r *Rules) Check(depth int, req *Request) (Definition, error) {
	if strings.TrimSpace(req.Task) == "" {
		return Definition{}, &RequestError{"the task is blank"}
	}
	if len(req.Task) > MaxTask {
		return Definition{}, &RequestError{fmt.Sprintf("the task has %d bytes, at most %d are allowed",
			len(req.Task), MaxTask)}
	}
	def, ok := r.Definitions[req.AgentType]
	switch {
	case req.AgentType != "" && !ok:
		return Definition{}, &DefinitionError{req.AgentType,
			slices.Sorted(maps.Keys(r.Definitions))}
	case depth > r.MaxDepth:
		return Definition{}, &DepthError{r.MaxDepth, depth}
	case req.Background && r.Background == "":
		return Definition{}, ErrBackgroundPolicy
	}
	return def, nil
}

// Offers tells whether an agent of this kind has a tool that its parent has.
func (d *Definition) Offers(tool string) bool {
	if d.Tools == nil {
		return true
	}
	for _, pattern := range d.Tools {
		begin, open := strings.CutSuffix(pattern, "*")
		if pattern == tool || open && strings.HasPrefix(tool, begin) {
			return true
		}
	}
	return false
}
