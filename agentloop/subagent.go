package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// Names of the tools by which a model has subagents.
const (
	SpawnSubagent  = "spawn_subagent"
	SubagentStatus = "subagent_status"
)

// MetaSubagent is the key in message.Message.Meta of a subagents.Lineage: on the result of the call
// that began the subagent, and on the first message of the subagent's own conversation.
const MetaSubagent = "subagent"

// Subagents lets the model begin agents, each with a task and a conversation of its own, by the
// tools SpawnSubagent and SubagentStatus. Nil and zero fields are the documented defaults. Nothing
// of it may be changed while a subagent runs.
//
// With a Background policy the loop's Model, Tools, Hooks and Approval are used by several
// goroutines at once, and the loop needs a Close.
type Subagents struct {
	MaxDepth      int // of nesting; 0: subagents.DefaultMaxDepth; -1: none may begin
	MaxConcurrent int // at a time, in the whole tree; 0: subagents.DefaultMaxConcurrent
	Background    subagents.Policy
	Agents        map[string]subagents.Definition // by agent type

	// Model gives the models that Agents name. Nil: they may name none.
	Model func(name string) (NamedModel, error)

	// Record gives where a subagent's conversation is kept, and what is there already: then the
	// subagent goes on with that. Nil: it is not kept.
	Record func(ctx context.Context, of subagents.Lineage) (*Record, error)
}

// NamedModel is a model of its own, with what the loop has to know of it.
type NamedModel struct {
	Model        Model
	ContextLimit int // as Loop.ContextLimit
	Prices       Prices
}

// Record is the record of a subagent's conversation.
type Record struct {
	Store   Store
	History []message.Message // what the Store has, as Loop.Restore takes it
	Close   func() error      // when the subagent has ended; nil: nothing to do

	// Where the loop has a Reduction: the log of what the subagent's model was shown less of the
	// History, and what is given that log when it has changed, as Reduction.Save is.
	Reductions reduce.Log
	Save       func(ctx context.Context, log reduce.Log) error
}

func (s *Subagents) rules() subagents.Rules {
	depth := s.MaxDepth
	if depth == 0 {
		depth = subagents.DefaultMaxDepth
	}
	return subagents.Rules{MaxDepth: max(depth, 0), Background: s.Background, Definitions: s.Agents}
}

func (s *Subagents) maxConcurrent() int {
	if s.MaxConcurrent == 0 {
		return subagents.DefaultMaxConcurrent
	}
	return s.MaxConcurrent
}

func (s *Subagents) check() error {
	if s == nil {
		return nil
	}
	switch {
	case s.MaxDepth < -1:
		return fmt.Errorf("Subagents.MaxDepth is %d; want -1 for none, 0 for the default, or more",
			s.MaxDepth)
	case s.MaxConcurrent < 0:
		return fmt.Errorf("Subagents.MaxConcurrent is %d; want 0 for the default, or more",
			s.MaxConcurrent)
	}
	switch s.Background {
	case "", subagents.AutoPolicy, subagents.Parent:
	default:
		return fmt.Errorf("there is no background policy %q; want %s or %s", s.Background,
			subagents.AutoPolicy, subagents.Parent)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		if model := s.Agents[name].Model; model != "" && s.Model == nil {
			return fmt.Errorf("the agent type %s is to have the model %s, and there is no "+
				"Subagents.Model to give it", name, model)
		}
	}
	return nil
}

// subagentTools are the tools of the model's for subagents. They are the same ones as long as they
// say the same.
func (l *Loop) subagentTools() []plugins.Tool {
	t := &l.tree
	if l.Subagents == nil || t.offers != nil && !t.offers(SpawnSubagent) {
		return nil
	}
	if spec := l.Subagents.spawnSpec(); t.spawn == nil || t.spawn.Spec() != spec {
		t.spawn = ownTool(spec, l.spawn)
	}
	if t.status == nil {
		t.status = ownTool(statusSpec, l.subagentStatus)
	}
	return []plugins.Tool{t.spawn, t.status}
}

// spawnSpec describes the tool. What a subagent does may be anything, so its effect is write: it is
// never tried again by itself.
func (s *Subagents) spawnSpec() abi.ToolSpec {
	kind := map[string]any{"type": "string",
		"description": "there are none to choose from; leave it out"}
	if len(s.Agents) > 0 {
		kind["description"] = "what kind of subagent: " +
			strings.Join(slices.Sorted(maps.Keys(s.Agents)), ", ") + "; left out, it is as you are"
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"task"},
		"properties": map[string]any{
			"task": map[string]any{"type": "string",
				"description": "what it has to do, with all it needs to know; it sees nothing else"},
			"agent_type": kind,
			"background": map[string]any{"type": "boolean",
				"description": "let it work while you go on, and ask " + SubagentStatus + " for its answer"},
		}})
	if err != nil {
		panic(err) // there are only strings in it
	}
	return abi.ToolSpec{Name: SpawnSubagent, InputSchema: string(schema), Effect: abi.EffectWrite,
		Description: "Has another agent work on a task, with a conversation of its own, and gives its " +
			"answer; of one in the background, its id."}
}

// statusSpec describes the tool. It forgets what it has told, so it must not be tried again either.
var statusSpec = abi.ToolSpec{
	Name: SubagentStatus,
	Description: "Tells what became of a subagent in the background: running, completed with its " +
		"output, or failed with an error. An end is told once.",
	InputSchema: object(`"id":{"type":"string","description":"as `+SpawnSubagent+` gave it"}`, `"id"`),
	Effect:      abi.EffectWrite,
}

type subagentID struct {
	ID string `json:"id"`
}

// spawn carries out SpawnSubagent. What is not allowed is refused before anything is taken.
func (l *Loop) spawn(ctx context.Context, req subagents.Request) (plugins.Output, error) {
	rules := l.Subagents.rules()
	def, err := rules.Check(l.tree.depth+1, &req)
	if wrong, ok := err.(*subagents.RequestError); ok {
		return plugins.Output{}, NewInvalidArguments(SpawnSubagent, wrong.Detail)
	}
	if err != nil {
		return plugins.Output{}, asItIs(err)
	}
	gauge := &l.tree.family.gauge
	if err := gauge.Acquire(l.Subagents.maxConcurrent()); err != nil {
		return plugins.Output{}, asItIs(err)
	}
	held := true
	defer func() {
		if held {
			gauge.Release()
		}
	}()
	child, err := l.newChild(ctx, &req, &def)
	if err != nil {
		return plugins.Output{}, plugins.HostFault(err)
	}
	held = false // work gives it back
	child.tell(message.Event{Kind: message.AgentStarted, Text: req.Task})
	if req.Background {
		return l.spawnBackground(ctx, child)
	}
	answer, err := child.work(ctx, func(string, error) { gauge.Release() })
	if err != nil {
		return plugins.Output{}, child.asToolError(ctx, err)
	}
	return report(answer)
}

// spawnBackground has a subagent work on when the run ends, until Close.
func (l *Loop) spawnBackground(ctx context.Context, child *child) (plugins.Output, error) {
	id := child.lineage.ID
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := func(answer string, err error) {
		stop()
		l.tree.family.gauge.Release()
		status := subagents.Status{ID: id, State: subagents.Completed, Output: answer}
		if err != nil {
			status.State, status.Output, status.Err = subagents.Failed, "", child.named(err)
			status.Error = abi.CleanText(err.Error(), plugins.MaxModelText)
			status.Fatal = !failedAtTask(err) && !errors.Is(err, context.Canceled)
			status.Open = child.keepOpen(err)
		}
		l.tree.table.End(status)
	}
	l.tree.table.Go(id, stop, func() { _, _ = child.work(ctx, ended) })
	return report(subagents.Status{ID: id, State: subagents.Running})
}

// RunningSubagents lists the IDs of the subagents that the loop has in the background and that have
// not ended. It may be called at any time.
func (l *Loop) RunningSubagents() []string { return l.tree.table.Running() }

// closeSubagents ends the subagents in the background. Its error is of those that a person has to
// look at and that nobody was told of.
func (l *Loop) closeSubagents() error {
	var all []error
	for _, s := range l.tree.table.Close() {
		switch {
		case errors.Is(s.Err, context.Canceled):
			all = append(all, l.findInAgent(context.Background(), s.ID)) // it was cut off
		case s.Fatal:
			all = append(all, s.Err)
		}
	}
	return errors.Join(all...)
}

// subagentStatus carries out SubagentStatus.
func (l *Loop) subagentStatus(ctx context.Context, in subagentID) (plugins.Output, error) {
	status, err := l.tree.table.Take(in.ID)
	if err != nil && l.takeLost(in.ID) {
		return report(subagents.Status{ID: in.ID, State: subagents.Failed,
			Error: "its process ended before it did: it may or may not have done some of its task"})
	}
	if err != nil {
		return plugins.Output{}, asItIs(err)
	}
	if status.Told {
		return l.goOnWith(ctx, status.ID)
	}
	if status.Err != nil && !failedAtTask(status.Err) {
		return plugins.Output{}, plugins.HostFault(status.Err)
	}
	return report(status)
}
