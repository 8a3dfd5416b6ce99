package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// expect tells what of a conversation is not as the step wants it; "" is nothing.
func (s *step) expect(list []message.Message) string {
	var user *message.Message
	var results []*message.Result
	for i := range list {
		switch m := &list[i]; {
		case m.Role == message.User:
			user = m
		case m.Role == message.Assistant:
			results = nil
		case m.Result != nil:
			results = append(results, m.Result)
		}
	}
	if s.User != nil {
		if user == nil {
			return "the user has said nothing"
		}
		if detail := s.User.match(user.Text); detail != "" {
			return "what the user said " + detail
		}
	}
	if len(s.Result) > len(results) {
		return fmt.Sprintf("there are %d results, and %d are expected", len(results), len(s.Result))
	}
	for i := range s.Result {
		if detail := s.Result[i].matchResult(results[i]); detail != "" {
			return fmt.Sprintf("result %d %s", i+1, detail)
		}
	}
	return ""
}

func (m *matcher) matchResult(r *message.Result) string {
	for _, f := range []struct{ name, have, want string }{
		{"tool", r.Name, m.Tool},
		{"outcome", string(r.Outcome), string(m.Outcome)},
		{"code", r.Code, m.Code},
		{"cause", r.Cause, m.Cause},
	} {
		if f.want != "" && f.have != f.want {
			return fmt.Sprintf("has the %s %q, not %q; it is %s", f.name, f.have, f.want, short(r.Text))
		}
	}
	return m.match(r.Text)
}

// match tells what a text is not.
func (m *matcher) match(text string) string {
	if m.Path != nil {
		return m.matchPath(text)
	}
	if want, ok := m.Equals.(string); ok && text != want {
		return fmt.Sprintf("is %s, not %s", short(text), short(want))
	}
	return m.matchText(text)
}

func (m *matcher) matchText(text string) string {
	switch {
	case !strings.Contains(text, m.Contains):
		return fmt.Sprintf("is %s, which does not contain %q", short(text), m.Contains)
	case m.pattern != nil && !m.pattern.MatchString(text):
		return fmt.Sprintf("is %s, which does not match %q", short(text), m.Matches)
	}
	return ""
}

func (m *matcher) matchPath(text string) string {
	var whole any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return fmt.Sprintf("is %s, which is no JSON", short(text))
	}
	value, ok := at(whole, *m.Path)
	if !ok {
		return fmt.Sprintf("is %s, which has nothing at %q", short(text), *m.Path)
	}
	have := compact(value)
	if m.equals != nil {
		var want any
		_ = json.Unmarshal(m.equals, &want) // it was made of a value
		if !reflect.DeepEqual(value, want) {
			return fmt.Sprintf("has %s at %q, not %s", short(have), *m.Path, short(string(m.equals)))
		}
	}
	if s, isText := value.(string); isText {
		have = s
	}
	if detail := m.matchText(have); detail != "" {
		return fmt.Sprintf("has at %q what %s", *m.Path, detail)
	}
	return ""
}

// at is the value that a JSON pointer leads to.
func at(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func compact(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // it came out of JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// maxShown is how many characters of a text are shown in an error.
const maxShown = 200

func short(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return fmt.Sprintf("%q … [%d characters more]", string(r[:maxShown]), len(r)-maxShown)
	}
	return fmt.Sprintf("%q", text)
}
