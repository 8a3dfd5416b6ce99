package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

func (a *app) chatCommand() *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a model that has the tools, line by line",
		Long: `Talk with a model that can call the tools of the plugin directories. A line is what you
say; the answer is shown as it comes, and each call as it runs.

Ctrl-C cancels what the model is at; at the prompt, a second one ends the chat, as Ctrl-D does.
Without a terminal each line of stdin is said in turn.

--session records the conversation, and --resume goes on with one. docs/agent.md is the guide.`,
		Example: `  wasmagent chat --provider anthropic --model claude-sonnet-4-5 --session trip
  wasmagent chat --resume trip`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), &flags) },
	}
	a.runFlags(cmd, &flags)
	return cmd
}

func (a *app) chat(ctx context.Context, flags *agentFlags) error {
	if a.form == "json" {
		return &usageError{text: "a chat has no form json", hint: "-o jsonl gives a line for each event"}
	}
	g, err := a.openAgent(ctx, flags, true)
	if err != nil {
		return err
	}
	c := &chat{agent: g, lines: a.typedLines(), person: a.canAsk()}
	defer a.signals.take(c.interrupted)()
	return c.finish(c.talk(ctx))
}

// chat is a conversation line by line.
type chat struct {
	*agent
	lines  *lineReader
	person bool  // somebody types at a terminal
	last   error // how the last turn ended

	mu     sync.Mutex
	inTurn bool // else it is at the prompt
	warned bool // the last thing that happened was an interrupt
}

// errCancelled is the cause of a turn that its user has ended.
var errCancelled = error(&endError{"cancelled by an interrupt", context.Canceled})

// talk takes turns with the user until there are no more lines, or an error after which there is no
// going on.
func (c *chat) talk(ctx context.Context) error {
	if c.person {
		c.heard.note("%s: Ctrl-C cancels a turn, Ctrl-D ends the chat", oneLine(c.name))
	}
	for {
		line, err := c.listen(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return c.leave()
		case err != nil:
			return err
		case strings.TrimSpace(line) == "":
			continue
		case !utf8.ValidString(line):
			return &usageError{text: "a line of stdin is not UTF-8"}
		}
		if err := c.turn(ctx, line); err != nil {
			return err
		}
	}
}

func (c *chat) listen(ctx context.Context) (string, error) {
	if c.person {
		c.heard.quiet(func() { fmt.Fprint(c.app.err, "> ") })
	}
	line, err := c.lines.next(ctx)
	c.mu.Lock()
	c.warned = false
	c.mu.Unlock()
	return line, err
}

// turn says one thing and tells what comes of it. The error ends the chat.
func (c *chat) turn(ctx context.Context, line string) error {
	c.set(true)
	o, err := c.converse(ctx, message.Message{Role: message.User, Text: line})
	c.set(false)
	if err = c.explain(err); err != nil && (ctx.Err() != nil || !passes(err)) {
		return c.printOutcome(o, err)
	}
	err = c.printOutcome(o, err)
	if _, told := errors.AsType[*reported](err); err != nil && !told {
		p := c.app.problemOf(err)
		p.print(c.app.err, c.app.paint(c.app.err))
	}
	c.last = err
	return nil
}

// passes tells whether a chat can go on after its turn ended with err.
func passes(err error) bool {
	if errors.Is(err, errCancelled) || isStopped(err) {
		return true
	}
	switch agentloop.Code(err) {
	case "http", "provider", "decode", "max_iterations", "context_limit_exceeded":
		return true
	}
	return false
}

// leave ends the chat. A person has seen how the last turn ended; a program has the exit code.
func (c *chat) leave() error {
	if c.person {
		c.heard.note("")
		return nil
	}
	if c.last != nil {
		return &reported{c.last}
	}
	return nil
}

func (c *chat) set(inTurn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inTurn, c.warned = inTurn, false
}

// interrupted is an interrupt: it cancels the turn that goes on. At the prompt the first one only
// says what a second one does, if somebody is there to read it. A turn that does not end is ended
// with the program.
func (c *chat) interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warned || !c.inTurn && !c.person {
		return false
	}
	if c.inTurn {
		c.warned = c.Interrupt(errCancelled) == nil // unless it begins or ends just now
		return true
	}
	c.warned = true
	fmt.Fprint(c.app.err, "\nCtrl-C again or Ctrl-D ends the chat\n> ")
	return true
}
