package agentloop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/plugins"
)

// Reduction has the model shown a view of a long conversation in which what is long or old has given
// way to stubs: package reduce tells how. History, and what the store has, stay whole, and outputs
// are not cut. What would not fit into the context is reduced further before it is refused. Each new
// stub is a warning. Once there is one, the model has the tools expand_reduction and sidecar_search.
type Reduction struct {
	Policy reduce.Policy

	// Save is given the log when it has changed, before the model sees the view. Its error is a
	// warning: the record is what counts. Nil: the log is not kept.
	Save func(ctx context.Context, log reduce.Log) error
}

// ReductionError is a reversible reduction that cannot be undone as it was recorded. A model is
// told of it when it asked for that by a tool.
type ReductionError = reduce.Error

// The names of the tools that a model has for what was reduced.
const (
	expandName = "expand_reduction"
	searchName = "sidecar_search"
)

// Reductions gives the log of what the model is shown now.
func (l *Loop) Reductions() reduce.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reductions
}

// RestoreReductions makes an earlier log this loop's, after Restore. A log that cannot be undone with
// the history is a *ReductionError and is not taken: what the model is shown is reduced anew then.
func (l *Loop) RestoreReductions(log reduce.Log) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer l.running.Store(false)
	if faults := reduce.Verify(l.history, log); len(faults) > 0 {
		return faults[0]
	}
	l.setReductions(log)
	return nil
}

func (l *Loop) setReductions(log reduce.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reductions = log
}

// shown is the request of what the model is shown: the history, or a view of it that fits.
func (r *run) shown(ctx context.Context) message.Request {
	l := r.loop
	if l.Reduction == nil {
		return r.request(l.history)
	}
	log := l.reductions
	view, next := reduce.Project(l.history, l.Reduction.Policy, log)
	l.setReductions(next) // and so the request has the tools for it
	if req := r.request(view); l.guard(&req) == nil {
		r.adopt(ctx, log, next)
		return req
	}
	l.reducing = true // the tools for it take room, too
	view, fitted, ok := reduce.Fit(l.history, l.Reduction.Policy, log,
		func(view []message.Message) reduce.Room { return l.room(r.request(view)) })
	l.reducing = false
	if ok {
		next = fitted
		l.setReductions(next)
	}
	r.adopt(ctx, log, next)
	return r.request(view)
}

// room tells how a request and the context's limit go together, by the guard's own rule. With a
// third more it is roomy.
func (l *Loop) room(req message.Request) reduce.Room {
	projected := tokens.Projected(req.Messages, req.Tools)
	switch {
	case !tokens.Fits(projected, l.ContextLimit):
		return reduce.TooLong
	case !tokens.Fits(projected+projected/3, l.ContextLimit):
		return reduce.Fits
	}
	return reduce.Roomy
}

// adopt tells of what is new in the log, and has it saved.
func (r *run) adopt(ctx context.Context, before, now reduce.Log) {
	if slices.Equal(before, now) {
		return
	}
	if save := r.loop.Reduction.Save; save != nil {
		if err := save(context.WithoutCancel(ctx), now); err != nil {
			r.warn(fmt.Sprintf("what was reduced is not recorded: %v", err))
		}
	}
	for _, n := range now {
		if _, ok := before.Find(n.ID); !ok {
			r.warn(fmt.Sprintf("message %d is reduced for the model: %s", n.Pointer.Message+1,
				n.Placeholder))
		}
	}
}

// reductionTools are those of use while something is reduced.
func (l *Loop) reductionTools() []plugins.Tool {
	if l.Reduction == nil || !l.reducing && len(l.reductions) == 0 {
		return nil
	}
	return []plugins.Tool{expandTool{l}, searchTool{l}}
}

// recorded is the history and the log as they are now.
func (l *Loop) recorded() ([]message.Message, reduce.Log) { return l.History(), l.Reductions() }

type expandTool struct{ loop *Loop }

var expandSpec = abi.ToolSpec{
	Name: expandName,
	Description: "Shows what stands behind a line of the form [reduced KIND ID: …], by its ID, in " +
		"full. What is long comes in pages: the last line tells the offset of the next one.",
	InputSchema: `{"type":"object","additionalProperties":false,"required":["id"],"properties":{` +
		`"id":{"type":"string","description":"such as r0001-5e1f"},` +
		`"offset":{"type":"integer","minimum":0,"description":"the byte to begin at"}}}`,
	Effect: abi.EffectRead,
}

func (expandTool) Spec() abi.ToolSpec { return expandSpec }

func (t expandTool) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	var in struct {
		ID     string
		Offset uint64
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return plugins.Output{}, NewInvalidArguments(expandName, err.Error())
	}
	list, log := t.loop.recorded()
	text, err := reduce.InvertOne(list, log, in.ID)
	if err != nil {
		return plugins.Output{}, lastingError{err}
	}
	if in.Offset > 0 && in.Offset >= uint64(len(text)) {
		return plugins.Output{}, lastingError{fmt.Errorf("%s ends at byte %d", in.ID, len(text))}
	}
	page, next := reduce.Page(text, int(in.Offset))
	where := fmt.Sprintf("[bytes %d to %d of %d: the end]", next-len(page), next, len(text))
	if next < len(text) {
		where = fmt.Sprintf("[bytes %d to %d of %d: the rest begins at offset %d]", next-len(page), next,
			len(text), next)
	}
	return plugins.Output{Content: []abi.Block{{Type: "text", Text: page},
		{Type: "text", Text: where}}}, nil
}

type searchTool struct{ loop *Loop }

var searchSpec = abi.ToolSpec{
	Name: searchName,
	Description: "Finds a text in all that stands behind lines of the form [reduced KIND ID: …]. Each " +
		"place has the ID and the offset to read on at with " + expandName + ".",
	InputSchema: `{"type":"object","additionalProperties":false,"required":["text"],"properties":{` +
		`"text":{"type":"string","minLength":1,"maxLength":256,"description":"to find as it is; ` +
		`large and small letters are the same"}}}`,
	Effect: abi.EffectRead,
}

func (searchTool) Spec() abi.ToolSpec { return searchSpec }

func (t searchTool) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return plugins.Output{}, NewInvalidArguments(searchName, err.Error())
	}
	list, log := t.loop.recorded()
	var out struct {
		Places []reduce.Hit `json:"places"`
		More   bool         `json:"more,omitempty"`
	}
	out.Places, out.More = reduce.Search(list, log, in.Text)
	if out.Places == nil {
		out.Places = []reduce.Hit{}
	}
	value, err := json.Marshal(out)
	return plugins.Output{Value: value}, err
}

// lastingError is a tool's failure that trying again cannot help, with its cause.
type lastingError struct{ err error }

func (e lastingError) Error() string { return e.err.Error() }

func (e lastingError) Unwrap() []error {
	return []error{e.err, &abi.Failure{Message: e.err.Error(), Permanent: true}}
}
