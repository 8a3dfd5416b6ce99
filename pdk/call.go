package pdk

import (
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/guest"
)

// Call is one call of a tool, as its handler sees it. It must not be used after the handler
// returned.
type Call struct {
	ID      string // the caller's name for the call
	Key     string // the idempotency key; "" when the call is not keyed
	Attempt int    // from 1

	host  guest.Host
	left  int64 // milliseconds that were left at the start; 0 without a deadline
	start int64 // the host's monotonic clock then
}

func newCall(h guest.Host, q *abi.Request) *Call {
	c := &Call{ID: q.CallID, Key: q.IdempotencyKey, Attempt: q.Attempt, host: h, left: q.DeadlineMS}
	if c.left != 0 {
		c.start = h.Monotonic()
	}
	return c
}

// Remaining gives the milliseconds until the host stops the call, if it has a deadline. (It is no
// time.Duration because that package would add an eighth to the size of a small plugin.)
func (c *Call) Remaining() (ms int64, ok bool) {
	if c.left == 0 {
		return 0, false
	}
	return max(0, c.left-(c.host.Monotonic()-c.start)/1e6), true
}

// Cancelled reports whether the caller no longer wants the result. The host stops a cancelled call
// soon after: what has to be put in order should be now.
func (c *Call) Cancelled() bool { return c.host.Cancelled() }

// Progress tells the caller how far the call is: done of total, which is 0 when it is not known.
func (c *Call) Progress(done, total float64, message string) {
	c.host.Progress(abi.Progress{Done: done, Total: total, Message: message})
}

// Debug, Info, Warn and Error write a line to the operator's log. The host limits how many.
func (c *Call) Debug(text string) { c.host.Log(abi.LevelDebug, text) }
func (c *Call) Info(text string)  { c.host.Log(abi.LevelInfo, text) }
func (c *Call) Warn(text string)  { c.host.Log(abi.LevelWarn, text) }
func (c *Call) Error(text string) { c.host.Log(abi.LevelError, text) }

// Config reads the operator's value for key into the value that to points to. It is false, and to
// is left as it is, when there is none.
func (c *Call) Config(key string, to any) (ok bool, err error) {
	raw := c.host.Config(key)
	if len(raw) == 0 || abi.NewReader(raw).Kind() == abi.KindNil {
		return false, nil
	}
	return true, Decode(raw, to)
}
