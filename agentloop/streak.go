package agentloop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxFailures is how many turns in a row may make the same calls and see them fail in the same way.
const maxFailures = 3

// streak counts turns in a row whose calls all failed, each as in the turn before. Turns count and
// not calls: the model has not seen the first failure of a turn when it makes the turn's next call.
type streak struct {
	failures  []string // of this turn
	tools     []string
	succeeded bool

	last  []string // the failures of the turn before
	count int
}

// note looks at how a call of this turn ended.
func (s *streak) note(c *call, code string) {
	if c.failure == "" {
		s.succeeded = true
		return
	}
	what := strings.Join([]string{c.Name, canonical(c.Arguments), code, c.failure}, "\n")
	if !slices.Contains(s.failures, what) {
		s.failures, s.tools = append(s.failures, what), append(s.tools, c.Name)
	}
}

// end ends the turn, and says so when it is enough.
func (s *streak) end() (why string) {
	slices.Sort(s.failures)
	switch {
	case s.succeeded:
		s.last, s.count = nil, 0
	case slices.Equal(s.failures, s.last):
		s.count++
	default:
		s.last, s.count = s.failures, 1
	}
	if s.count >= maxFailures {
		why = fmt.Sprintf("the same call of %s failed in the same way %d times in a row",
			strings.Join(s.tools, ", "), s.count)
	}
	s.failures, s.tools, s.succeeded = nil, nil, false
	return why
}

// canonical is the same for the same arguments, however they are written.
func canonical(arguments string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return arguments
	}
	text, err := json.Marshal(v)
	if err != nil {
		return arguments
	}
	return string(text)
}
