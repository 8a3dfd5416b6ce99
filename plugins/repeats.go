package plugins

import (
	"errors"
	"fmt"
	"sync"
)

// maxRepeats is how many tools a Repeats remembers; when there are more it starts anew.
const maxRepeats = 1024

// Repeats collapses the same failure of the same tool, repeated without a success between, into
// one sentence with the count. The zero value is ready; it is safe for concurrent use.
type Repeats struct {
	mu    sync.Mutex
	tools map[string]*streak
}

type streak struct {
	text  string
	count int
}

// Text is ModelText the first time, and a sentence with the count when the tool's last call failed
// with the very same text. A nil err is a success: it gives "" and ends the row.
func (r *Repeats) Text(tool string, err error) string {
	text := ModelText(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.tools, tool)
		return ""
	}
	last := r.tools[tool]
	if last == nil || last.text != text {
		if r.tools == nil || len(r.tools) >= maxRepeats {
			r.tools = map[string]*streak{}
		}
		r.tools[tool] = &streak{text, 1}
		return text
	}
	last.count++
	return fmt.Sprintf("tool %q failed in the same way again (%s), %d times in a row without a "+
		"success: do something else", clip(tool, maxName), className(err), last.count)
}

// className is the short stable word for what an error is.
func className(err error) string {
	if kind, ok := errors.AsType[Kind](err); ok {
		return kind.Error()
	}
	return FaultOf(err).String()
}
