package session

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

func TestImport(t *testing.T) {
	dir, err := OpenDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	user := message.Message{Role: message.User, Text: "Hello!"}
	result := message.Message{Role: message.Tool,
		Result: &message.Result{CallID: "a", Outcome: message.OK}}

	s, err := dir.Import("one", "codex", Meta{Title: strings.Repeat("x", MaxMeta)},
		[]message.Message{user, {Role: message.Assistant, Model: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Messages()); n != 2 || s.Header().Source != "codex" {
		t.Errorf("%d messages, %+v", n, s.Header())
	}
	if err := errors.Join(s.Append(t.Context(), user), s.Close()); err != nil {
		t.Fatal(err)
	}
	list, err := dir.List()
	if err != nil || list[0].Err != nil || list[0].Meta.Model != "m" ||
		len([]rune(list[0].Meta.Title)) != titleLength || list[0].Meta.Counts.Messages != 3 {
		t.Errorf("%v %+v", err, list)
	}

	for name, tt := range map[string]struct {
		name, source string
		list         []message.Message
		want         string
	}{
		"there":    {"one", "codex", []message.Message{user}, fs.ErrExist.Error()},
		"ours":     {"two", sourceOwn, []message.Message{user}, "not imported from"},
		"a source": {"two", "word", []message.Message{user}, "not imported from"},
		"a result": {"two", "codex", []message.Message{user, result}, "line 3: a result of call"},
		"a name":   {"No", "codex", nil, "is no name"},
		"a line": {"two", "codex", []message.Message{{Role: message.User,
			Text: strings.Repeat("x", MaxLine)}}, "line 2: the line would have more than"},
	} {
		_, err := dir.Import(tt.name, tt.source, Meta{}, tt.list)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := dir.Read("two"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was left: %v", err)
	}
}
