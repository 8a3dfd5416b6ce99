package interchange

import (
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/internal/misfit"
)

// claudeReader reads a file of Claude Code's.
type claudeReader struct {
	*reader
	list []claudeLine
	tree
}

func (r *reader) readClaude() error {
	c := &claudeReader{reader: r, list: make([]claudeLine, len(r.lines))}
	for n := range r.lines {
		if err := c.readLine(n); err != nil {
			return err
		}
	}
	c.plant()
	leaf := c.newest()
	if leaf < 0 {
		return nil
	}
	branch, err := c.branch(leaf)
	if err != nil {
		return err
	}
	for n := range c.list {
		if err := c.takeResults(n); err != nil {
			return err
		}
	}
	for i := 0; i < len(branch); {
		i += c.take(branch[i:])
	}
	r.account = c.account
	l := &c.list[leaf]
	r.out.ID, r.out.CWD, r.out.parent, r.out.sidechain = l.Session, l.CWD, l.UUID, c.side
	return nil
}

// talk tells of the lines in which somebody speaks, also with the result of a call.
func (l *claudeLine) talk() bool {
	return l.UUID != "" && (l.Type == "user" || l.Type == "assistant") && !l.Failed && !l.Shown
}

// readLine takes line n. One that is no JSON is kept like all that is not known.
func (c *claudeReader) readLine(n int) error {
	l := &c.list[n]
	err := json.Unmarshal(c.lines[n], l)
	c.seen(n, l.Time.Time, err)
	switch {
	case l.Type == claudeSystem && l.Own != nil && len(c.parts) == 0:
		c.parts = append(c.parts, &part{lines: []int{n}, patch: l.Own})
	case !l.talk():
		c.readTitle(n)
		return nil
	}
	if err == nil && l.Message != nil {
		err = json.Unmarshal(l.Message, &l.said)
		l.Message = nil
	}
	if err != nil {
		return c.unknown(n, err)
	}
	return nil
}

func (c *claudeReader) unknown(n int, err error) error {
	return c.fail(n, "a message of an unknown shape: %s; take it out of a copy of the file, with the "+
		"lines that follow from it", misfit.Text(err))
}

// readTitle takes a title: the last one counts, and a person's before a model's.
func (c *claudeReader) readTitle(n int) {
	var t struct {
		Summary string `json:"summary"`
		AI      string `json:"aiTitle"`
		Custom  string `json:"customTitle"`
	}
	if json.Unmarshal(c.lines[n], &t) != nil {
		return
	}
	switch {
	case t.Custom != "":
		c.out.Title, c.titled = t.Custom, true
	case t.AI+t.Summary != "" && !c.titled:
		c.out.Title = t.AI + t.Summary
	}
}

// takeResults puts the results of line n where calls look for them: those of the branch first.
func (c *claudeReader) takeResults(n int) error {
	l := &c.list[n]
	if l.Type != "user" || !l.talk() || l.Sidechain != c.side {
		return nil
	}
	for i := range l.said.Content {
		b := &l.said.Content[i]
		if b.Type != "tool_result" {
			continue
		}
		outcome := message.OK
		if b.IsError {
			outcome = message.Error
		}
		text, err := b.output()
		if err != nil {
			return c.unknown(n, err)
		}
		res := c.answer(n, b.CallID, text, outcome, l.Own)
		res.Time, res.aside = l.Time.Time, !c.chosen[n]
		if list := c.results[b.CallID]; !res.aside && list[0].aside {
			list[0], list[len(list)-1] = res, list[0]
		}
	}
	return nil
}

// take takes the message that a branch goes on with, and tells how many of its lines that were.
func (c *claudeReader) take(branch []int) int {
	n := branch[0]
	switch l := &c.list[n]; {
	case !l.talk():
		return 1
	case l.Type == "assistant":
		p := &part{patch: l.Own, Message: message.Message{Role: message.Assistant, Time: l.Time.Time}}
		used := 1
		for used < len(branch) && c.continues(branch[used]) {
			used++
		}
		p.lines = c.response(branch[:used])
		c.spoken(p)
		c.parts = append(c.parts, p)
		return used
	default:
		c.heard(n)
		return 1
	}
}

// heard takes a line of the user's, as far as it is no result.
func (c *claudeReader) heard(n int) {
	l := &c.list[n]
	var texts []string
	results := 0
	for i := range l.said.Content {
		if b := &l.said.Content[i]; b.Type == "tool_result" {
			results++
		} else {
			texts = append(texts, b.shown())
		}
	}
	if results > 0 && len(texts) == 0 {
		return
	}
	p := &part{lines: []int{n}, Message: message.Message{Role: message.User, Time: l.Time.Time,
		Text: paragraphs(texts)}}
	if results == 0 {
		p.patch = l.Own
	}
	c.parts = append(c.parts, p)
}

// spoken takes what a model said, in one line or several.
func (c *claudeReader) spoken(p *part) {
	var blocks []claudeBlock
	for _, n := range p.lines {
		said := &c.list[n].said
		blocks = append(blocks, said.Content...)
		p.Model, p.Finish, p.Usage = said.Model, claudeFinish(said.Stop), said.Usage.normal()
	}
	var texts []string
	for i := range blocks {
		if blocks[i].Type == "text" {
			texts = append(texts, blocks[i].Text)
		}
	}
	p.Text = paragraphs(texts)
	at, textCounts := 0, strings.TrimSpace(p.Text) != ""
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Type == "text" && !textCounts:
			continue
		case b.Type == "text":
			textCounts = false
		case b.Type == "tool_use":
			p.Calls = append(p.Calls, message.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		default:
			p.Reasoning = append(p.Reasoning, message.Reasoning{Text: b.Thinking, Provider: anthropic,
				Opaque: encode(signed{at, b.raw})})
		}
		at++
	}
}
