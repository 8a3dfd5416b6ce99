package excerpt

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Name is the name of the tool that reads on.
const Name = "read_more"

// Tool gives read_more {handle, offset}: the text from that byte on, as much of it as an excerpt
// may have, and a last line that tells where the rest begins.
func (s *Store) Tool() plugins.Tool { return reader{s} }

type reader struct{ store *Store }

var spec = abi.ToolSpec{
	Name: Name,
	Description: "Reads on in an earlier tool output that was too long to be shown whole. " +
		"The place where it was cut names the handle and the offset to begin at.",
	InputSchema: `{"type":"object","additionalProperties":false,"required":["handle"],` +
		`"properties":{` +
		`"handle":{"type":"string","description":"of the output"},` +
		`"offset":{"type":"integer","minimum":0,"description":"the byte to begin at"}}}`,
	Effect: abi.EffectRead,
}

func (reader) Spec() abi.ToolSpec { return spec }

func (r reader) Invoke(_ context.Context, call plugins.Call) (plugins.Output, error) {
	var in struct {
		Handle string
		Offset uint64
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return plugins.Output{}, &plugins.ToolError{Kind: plugins.ErrInvalidInput, Err: err}
	}
	text, ok := r.store.text(in.Handle)
	switch {
	case !ok:
		return plugins.Output{}, never("no output is kept under the handle %q; "+
			"call the tool that gave it again", in.Handle)
	case in.Offset >= uint64(len(text)):
		return plugins.Output{}, never("the output ends at byte %d", len(text))
	}
	from := floor(text, int(in.Offset))
	to := len(text)
	if room := r.store.max() - markerRoom; to-from > room {
		to = floor(text, from+room)
	}
	where := fmt.Sprintf("[bytes %d to %d of %d: the end]", from, to, len(text))
	if to < len(text) {
		where = fmt.Sprintf("[bytes %d to %d of %d: the rest begins at offset %d]", from, to,
			len(text), to)
	}
	return plugins.Output{Content: []abi.Block{
		{Type: "text", Text: text[from:to]}, {Type: "text", Text: where},
	}}, nil
}

// never is a failure that trying again cannot help.
func never(format string, args ...any) error {
	return &abi.Failure{Message: fmt.Sprintf(format, args...), Permanent: true}
}
