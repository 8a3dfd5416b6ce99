package agentloop

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/plugins"
)

// The names of the tools that a model has for what was reduced.
const (
	expandName = "expand_reduction"
	searchName = "sidecar_search"
)

// reductionTools are those of use while something is reduced. They are made once.
func (l *Loop) reductionTools() []plugins.Tool {
	if l.Reduction == nil || !l.reducing && len(l.reductions) == 0 {
		return nil
	}
	if l.forReduced == nil {
		l.forReduced = []plugins.Tool{ownTool(expandSpec, l.expand), ownTool(searchSpec, l.search)}
	}
	return l.forReduced
}

// recorded is the history and the log as they are now.
func (l *Loop) recorded() ([]message.Message, reduce.Log) { return l.History(), l.Reductions() }

var expandSpec = abi.ToolSpec{
	Name: expandName,
	Description: "Shows what stands behind a line of the form [reduced KIND ID: …], by its ID, in " +
		"full. What is long comes in pages: the last line tells the offset of the next one.",
	InputSchema: object(`"id":{"type":"string","description":"such as r0001-5e1f"},`+
		`"offset":{"type":"integer","minimum":0,"description":"the byte to begin at"}`, `"id"`),
	Effect: abi.EffectRead,
}

type expandInput struct {
	ID     string `json:"id"`
	Offset uint64 `json:"offset"`
}

func (l *Loop) expand(_ context.Context, in expandInput) (plugins.Output, error) {
	list, log := l.recorded()
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

var searchSpec = abi.ToolSpec{
	Name: searchName,
	Description: "Finds a text in all that stands behind lines of the form [reduced KIND ID: …]. " +
		"Each place has the ID and the offset to read on at with " + expandName + ".",
	InputSchema: object(`"text":{"type":"string","minLength":1,"maxLength":256,`+
		`"description":"to find as it is; large and small letters are the same"}`, `"text"`),
	Effect: abi.EffectRead,
}

type searchInput struct {
	Text string `json:"text"`
}

func (l *Loop) search(_ context.Context, in searchInput) (plugins.Output, error) {
	list, log := l.recorded()
	var out struct {
		Places []reduce.Hit `json:"places"`
		More   bool         `json:"more,omitempty"`
	}
	out.Places, out.More = reduce.Search(list, log, in.Text)
	if out.Places == nil {
		out.Places = []reduce.Hit{}
	}
	return report(out)
}

// lastingError is a tool's failure that trying again cannot help, with its cause.
type lastingError struct{ err error }

func (e lastingError) Error() string { return e.err.Error() }

func (e lastingError) Unwrap() []error {
	return []error{e.err, &abi.Failure{Message: e.err.Error(), Permanent: true}}
}
