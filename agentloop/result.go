package agentloop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// MaxOutput is how many bytes of an output are recorded at most: with an OutputCap of -1 or more,
// and with a Reduction, for which OutputCap does not count. As JSON they may become six times as
// many, and still have to fit into a line of a session.
const MaxOutput = 4 << 20

// outputMax is how many bytes of an output are recorded, 0 for the default.
func (l *Loop) outputMax() int {
	if l.OutputCap < 0 || l.Reduction != nil {
		return MaxOutput
	}
	return min(l.OutputCap, MaxOutput)
}

// settle makes a call's result and records it. The error ends the run.
func (r *run) settle(ctx context.Context, c *call) error {
	l := r.loop
	if r.leaveOpen(c) {
		return c.err
	}
	result := r.result(c)
	err := c.fatal(ctx)
	if hook := l.Hooks.AfterTool; hook != nil && err == nil && c.err != errNotRun {
		if e := hook(ctx, c.Call, &result); e != nil {
			result.Text, result.Handle, result.Bytes = "(withheld: it could not be checked)", "", 0
			err = hookError(ctx, "hook after a tool", e)
		}
		result.CallID, result.Name = c.ID, c.Name
	}
	told := message.Message{Role: message.Tool, Result: &result, Meta: c.meta}
	if e := l.add(ctx, told); err == nil {
		err = e
	}
	r.failing.note(c, result.Code)
	r.emit(message.Event{Kind: message.ToolCompleted, Call: new(c.Call), Result: new(result)})
	return err
}

// fatal is the error that the run must end with because of a call, if there is one.
func (c *call) fatal(ctx context.Context) error {
	switch {
	case c.err == nil, c.err == errNotRun, FeedsModel(c.err):
		return nil
	case ctx.Err() != nil:
		return stopped(ctx)
	}
	return c.err
}

// result is what is recorded of a call, and what the model is told.
func (r *run) result(c *call) message.Result {
	l := r.loop
	res := message.Result{CallID: c.ID, Name: c.Name, Outcome: message.Error}
	switch {
	case c.err == nil:
		_ = l.repeats.Text(c.Name, nil)
		res.Outcome, res.Text = message.OK, text(c.out)
		e := l.outputs.Cut(res.Text)
		res.Text, res.Handle, res.Bytes = e.Text, e.Handle, e.Bytes
		return res
	case c.again && !c.started: // now it was not called, but what of the last time?
		res.Outcome, res.Text = message.Unknown, interrupted(c.Name)
	case FeedsModel(c.err):
		res.Text = l.modelText(c)
	case c.started && (c.tool.own || plugins.CauseOf(c.err) != "diverged"):
		res.Outcome, res.Text = message.Unknown, interrupted(c.Name)
	default:
		res.Text = fmt.Sprintf("tool %q was not run: the run ended before",
			abi.CleanText(c.Name, maxWord))
	}
	res.Code, res.Cause = Code(c.err), plugins.CauseOf(c.err)
	return res
}

func interrupted(tool string) string {
	return fmt.Sprintf("tool %q was interrupted: it may or may not have done its work",
		abi.CleanText(tool, maxWord))
}

// modelText is the text of an error that the model is told. The same failure of a tool again and
// again becomes a sentence with the count.
func (l *Loop) modelText(c *call) string {
	if v, own := variantOf(c.err); v.feeds {
		c.failure = abi.CleanText(own.Error(), plugins.MaxModelText)
		return c.failure
	}
	c.failure = plugins.ModelText(c.err)
	return l.repeats.Text(c.Name, c.err)
}

// text is a tool's output as a model reads it: the JSON value, or a string's own text; of content,
// the texts, and a line about each block that is none.
func text(out plugins.Output) string {
	if out.Content == nil {
		var s string
		if len(out.Value) > 0 && out.Value[0] == '"' && json.Unmarshal(out.Value, &s) == nil {
			return s
		}
		return string(out.Value)
	}
	parts := make([]string, len(out.Content))
	for i, b := range out.Content {
		if b.Type == "text" {
			parts[i] = strings.ToValidUTF8(b.Text, "\uFFFD")
			continue
		}
		parts[i] = fmt.Sprintf("[%s, %s, %q, %d bytes, which are not shown]",
			abi.CleanText(b.Type, maxWord), abi.CleanText(b.MIME, maxWord),
			abi.CleanText(b.Name, maxWord), len(b.Data))
	}
	return strings.Join(parts, "\n")
}

// maxWord is how many characters of a stranger's names are told.
const maxWord = 64
