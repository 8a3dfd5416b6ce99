package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
)

// maxReplyNodes is how many values a reply may have.
const maxReplyNodes = 1_000_000

// ending is how a call ended.
type ending struct {
	reply []byte
	fuel  int64
	cause string // of the error, when the plugin is to blame; empty: there is a reply
	err   error
}

func (e *ending) like(other *ending) bool {
	return e.cause == other.cause && bytes.Equal(e.reply, other.reply)
}

func (e *ending) String() string {
	if e.err != nil {
		return line(e.err)
	}
	const most = 80
	if len(e.reply) > most {
		return fmt.Sprintf("%q…", e.reply[:most])
	}
	return fmt.Sprintf("%q", e.reply)
}

// line is what an error says in one line: the fact, and the first that the guest said of it.
func line(err error) string {
	fact, stderr, _ := strings.Cut(err.Error(), "\nstderr:\n\t")
	if first, _, _ := strings.Cut(stderr, "\n"); first != "" {
		fact += "; stderr: " + first
	}
	return fact
}

// quiet is an observer that keeps a plugin's log lines out of the engine's.
var quiet = &host.Observer{Log: func(abi.Level, string) {}}

// call gives the error only when it is not the plugin's.
func (c *checker) call(ctx context.Context, m *host.Module, req abi.Request) (*ending, error) {
	reply, stats, err := m.Call(ctx, req, quiet, nil)
	if err == nil {
		return &ending{reply: reply, fuel: stats.Fuel}, nil
	}
	named, ok := errors.AsType[interface {
		error
		CauseName() string
	}](err)
	if !ok {
		return nil, err
	}
	return &ending{fuel: stats.Fuel, cause: named.CauseName(), err: err}, nil
}

// tool calls a tool: alone, again, with grease, and for a caller who gives up.
func (c *checker) tool(t abi.ToolSpec, plain, greased *host.Module) error {
	req := abi.Request{Tool: t.Name, CallID: "check", Attempt: 1, Input: abi.AppendMapHeader(nil, 0)}
	if c.opts.Input != nil {
		req.Input = c.opts.Input(t)
	}
	first, err := c.call(c.ctx, plain, req)
	if err != nil {
		return err
	}
	where := "tool " + t.Name
	if !c.fair(where, first) {
		return nil
	}
	if err := c.fresh(where, first, plain, req); err != nil {
		return err
	}
	again, err := c.call(c.ctx, greased, req)
	if err != nil {
		return err
	}
	if !again.like(first) {
		c.report.add(Error, where, "a request with keys that it does not know, which it must ignore, "+
			"ended with %v; without them, with %v", again, first)
	}
	return c.cancelled(where, first, plain, req)
}

// fair judges the first call, and says whether there is sense in others.
func (c *checker) fair(where string, e *ending) bool {
	switch e.cause {
	case "":
	case "contract", "no_reply":
		c.report.add(Error, where, "a call breaks the contract: %v", e)
		return false
	case "limit.time":
		c.report.add(Warning, where, "a call did not end: %v", e)
		return false
	default: // it may be right about arguments that no schema would let pass
		c.report.add(Warning, where, "a call did not reply: %v", e)
		return true
	}
	err := transcode.Scan(e.reply, maxReplyNodes)
	if err == nil {
		_, err = abi.ParseReply(e.reply)
	}
	if err != nil {
		c.report.add(Error, where, "its reply cannot be read: %v", err)
	}
	return err == nil
}

// fresh repeats a call, which must end just as it did when nobody had called before.
func (c *checker) fresh(where string, first *ending, m *host.Module, req abi.Request) error {
	const times = 3
	for range times {
		next, err := c.call(c.ctx, m, req)
		if err != nil {
			return err
		}
		if !next.like(first) || next.fuel != first.fuel {
			c.report.add(Error, where, "equal calls differ: one ended with %v after %d units of fuel, "+
				"another with %v after %d", first, first.fuel, next, next.fuel)
			return nil
		}
	}
	return nil
}

// cancelled gives a call up as soon as it runs. It may still reply; otherwise it must end as its
// caller wants, and leave nothing behind.
func (c *checker) cancelled(where string, first *ending, m *host.Module, req abi.Request) error {
	ended, err := c.call(&givingUp{Context: c.ctx, done: make(chan struct{})}, m, req)
	switch {
	case c.ctx.Err() != nil:
		return err
	case err != nil && !errors.Is(err, errGivenUp):
		return err
	case err == nil && ended.cause != "" && ended.cause != first.cause:
		c.report.add(Error, where, "a cancelled call ended with %v", ended)
	}
	return c.fresh(where, first, m, req)
}

var errGivenUp = errors.New("given up to see what happens")

// givingUp is a context that is cancelled once it was asked: by the time that a guest runs.
type givingUp struct {
	context.Context
	once sync.Once
	mu   sync.Mutex
	over bool
	done chan struct{}
}

func (g *givingUp) Done() <-chan struct{} { return g.done }

func (g *givingUp) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		g.once.Do(func() { close(g.done) })
		return errGivenUp
	}
	g.over = true
	return nil
}
