package reduce

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Item is a message of a view.
type Item struct {
	Message message.Message
	From    int      // the index of the recorded message that it stands for
	To      int      // after the last one that it stands for
	Records []Record // of its stubs; none: it is as recorded
}

// View shows a record as a log says. The error is the first one of Verify.
func View(list []message.Message, log Log) ([]Item, error) {
	if faults := Verify(list, log); len(faults) > 0 {
		return nil, faults[0]
	}
	return render(list, log), nil
}

// render makes the view of a log whose pointers lead somewhere.
func render(list []message.Message, log Log) []Item {
	items := make([]Item, 0, len(list))
	for i := 0; i < len(list); {
		item := Item{Message: list[i], From: i, To: i + 1}
		n := 0
		for n < len(log) && log[n].Pointer.Message == i {
			n++
		}
		for _, r := range log[:n] {
			r.apply(&item)
		}
		item.Records = log[:n:n]
		log = log[n:]
		items = append(items, item)
		i = item.To
	}
	return items
}

// apply puts the stub into a message.
func (r *Record) apply(item *Item) {
	m := &item.Message
	switch r.Kind {
	case Turns:
		item.To = r.end()
		*m = message.Message{Role: message.User, Text: r.Placeholder}
	case Input:
		m.Calls = slices.Clone(m.Calls)
		call := &m.Calls[r.Pointer.Call]
		call.Arguments = r.arguments(call.Arguments)
	default:
		result := *m.Result
		result.Text = r.text(result.Text)
		m.Result = &result
	}
}

// text is a reduced result.
func (r *Record) text(original string) string {
	if r.Pointer.Span.From == 0 {
		return r.Placeholder
	}
	return original[:r.Pointer.Span.From] + "\n" + r.Placeholder
}

// arguments is the object that stands for reduced ones.
func (r *Record) arguments(original string) string {
	object := map[string]string{reducedKey: r.Placeholder}
	if from := r.Pointer.Span.From; from > 0 {
		object[beginsKey] = original[:from]
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(object) // strings have a JSON form
	return strings.TrimSuffix(b.String(), "\n")
}

func messages(items []Item) []message.Message {
	list := make([]message.Message, len(items))
	for i := range items {
		list[i] = items[i].Message
	}
	return list
}

// stubsIn lists what looks like a stub in a message of a view.
func stubsIn(m *message.Message) (all []Stub) {
	lines := []string{m.Text}
	if m.Result != nil {
		lines = append(lines, lastLine(m.Result.Text))
	}
	for _, c := range m.Calls {
		lines = append(lines, stubOf(c.Arguments))
	}
	for _, line := range lines {
		if s, ok := Parse(line); ok {
			all = append(all, s)
		}
	}
	return all
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// stubOf is the stub in arguments that stand for others, or "".
func stubOf(arguments string) string {
	var object map[string]string
	if json.Unmarshal([]byte(arguments), &object) != nil {
		return ""
	}
	return object[reducedKey]
}
