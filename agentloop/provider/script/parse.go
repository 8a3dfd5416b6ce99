package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

type step struct {
	User   *matcher
	Result []matcher

	Say, Think string
	Calls      []call `toml:"call"`
	Finish     message.Finish
	Usage      *message.Usage

	Fail int
	Body string
	Hang bool
}

type call struct {
	Tool, Arguments string
	Recall          map[string]string // JSON pointers by the field of Arguments that they fill
}

type matcher struct {
	Equals   any
	Contains string
	Matches  string
	Path     *string
	Tool     string
	Outcome  message.Outcome
	Code     string
	Cause    string

	equals  []byte // JSON
	pattern *regexp.Regexp
}

var (
	finishes = []message.Finish{"", message.FinishStop, message.FinishCalls, message.FinishLength,
		message.FinishRefusal, message.FinishPause, message.FinishOther}
	outcomes = []message.Outcome{"", message.OK, message.Error, message.Unknown}
)

// Parse reads a script. file is its name in errors and messages.
func Parse(file string, text []byte) (*Model, error) {
	if len(text) > MaxFile {
		return nil, &Error{file, 0, fmt.Sprintf("it has more than %d KiB", MaxFile>>10)}
	}
	var script struct {
		Steps []step `toml:"step"`
	}
	meta, err := toml.Decode(string(text), &script)
	if err != nil {
		return nil, &Error{file, 0, err.Error()}
	}
	for _, key := range meta.Undecoded() {
		if len(key) < 3 || key[2] != "equals" { // below which there may be anything
			return nil, &Error{file, 0, fmt.Sprintf("the key %s is not known", key)}
		}
	}
	if len(script.Steps) == 0 {
		return nil, &Error{file, 0, "it has no steps"}
	}
	for i := range script.Steps {
		if err := script.Steps[i].check(); err != nil {
			return nil, &Error{file, i + 1, err.Error()}
		}
	}
	return &Model{file: file, steps: script.Steps}, nil
}

// check finds what a step cannot mean, and makes its matchers ready.
func (s *step) check() error {
	does := 0
	for _, d := range []bool{s.Say != "" || len(s.Calls) > 0 || s.Think != "" || s.Finish != "",
		s.Fail != 0, s.Hang} {
		if d {
			does++
		}
	}
	switch {
	case does == 0:
		return fmt.Errorf("it neither says anything nor calls, fails or hangs")
	case does > 1:
		return fmt.Errorf("it can only do one of: say and call, fail, hang")
	case s.Fail != 0 && (s.Fail < 300 || s.Fail > 599):
		return fmt.Errorf("fail = %d is no status of an error", s.Fail)
	case s.Body != "" && s.Fail == 0:
		return fmt.Errorf("body is only for a step that fails")
	case !slices.Contains(finishes, s.Finish):
		return fmt.Errorf("finish = %q is not one of %q", s.Finish, finishes[1:])
	}
	for i, c := range s.Calls {
		if err := c.check(); err != nil {
			return fmt.Errorf("call %d %w", i+1, err)
		}
	}
	if s.User != nil {
		if s.User.Tool != "" || s.User.Outcome != "" || s.User.Code != "" || s.User.Cause != "" {
			return fmt.Errorf("user: tool, outcome, code and cause are of results")
		}
		if err := s.User.check(); err != nil {
			return fmt.Errorf("user: %w", err)
		}
	}
	for i := range s.Result {
		if err := s.Result[i].check(); err != nil {
			return fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *call) check() error {
	if c.Tool == "" {
		return errors.New("has no tool")
	}
	if _, err := c.fields(); len(c.Recall) > 0 && err != nil {
		return fmt.Errorf("recalls something, and its arguments are no JSON object")
	}
	for name, pointer := range c.Recall {
		if !strings.HasPrefix(pointer, "/") {
			return fmt.Errorf("recalls %s = %q, which is not a JSON pointer, such as /id", name, pointer)
		}
	}
	return nil
}

func (m *matcher) check() (err error) {
	if !slices.Contains(outcomes, m.Outcome) {
		return fmt.Errorf("outcome = %q is not one of %q", m.Outcome, outcomes[1:])
	}
	if m.Path != nil && *m.Path != "" && (*m.Path)[0] != '/' {
		return fmt.Errorf("path = %q is not a JSON pointer, such as /rows/0/name", *m.Path)
	}
	if _, isText := m.Equals.(string); m.Equals != nil && !isText && m.Path == nil {
		return fmt.Errorf(`equals is no text: it needs a path ("" is the whole value)`)
	}
	if m.Equals != nil {
		if m.equals, err = json.Marshal(m.Equals); err != nil {
			return fmt.Errorf("equals: %w", err)
		}
	}
	if m.Matches != "" {
		if m.pattern, err = regexp.Compile(m.Matches); err != nil {
			return fmt.Errorf("matches: %w", err)
		}
	}
	return nil
}
