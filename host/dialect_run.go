package host

import (
	"context"
	"errors"
	"time"
)

// Entry is a way into a guest of another dialect.
type Entry struct {
	Export string // a function without parameters and with at most one result

	// Ready is given the guest before it runs, as in a call of its own. An error ends the call. Nil:
	// there is nothing to ready.
	Ready func(*Guest) error

	// Args and Stdin are a command's: its arguments, the program's name first, and what it reads.
	// Together they have at most Limits.Request bytes, and 9 more count for each argument.
	Args  []string
	Stdin []byte
	// Stdout says that what the guest prints there is its reply, of at most Limits.Output bytes. No
	// observer hears of it.
	Stdout bool
	// Exits says that to exit with code 0 is to return.
	Exits bool

	// Keep says, of a guest that returned, whether what it wrote to its key-value space is kept. Nil:
	// it is.
	Keep func(*Returned) bool
}

// argWork is how many bytes an argument counts for besides its own: the zero after it, and where it
// begins.
const argWork = 9

// size is how many bytes the guest is asked to take.
func (e *Entry) size() int64 {
	size := int64(len(e.Stdin))
	for _, arg := range e.Args {
		size += int64(len(arg)) + argWork
	}
	return size
}

// Returned is what a guest of another dialect returned.
type Returned struct {
	Result uint64 // 0 without one
	Exited bool   // with code 0
	State  State
	Stdout []byte
}

// Run carries out one call of a guest of another dialect, in a fresh state. Errors are those of
// Call. What was gathered before an error is in Returned, too.
func (m *Module) Run(ctx context.Context, entry *Entry, obs *Observer) (
	ret Returned, stats CallStats, err error) {
	in, err := m.take(ctx, &stats)
	if err != nil {
		return ret, stats, err
	}
	ended := false
	defer func() {
		if broken := m.give(in, ended); broken != nil && ended {
			err = errors.Join(err, broken)
		}
	}()
	ret, err = in.perform(ctx, entry, obs, &stats)
	ended = true
	return ret, stats, err
}

// perform lets the instance carry out a call of another dialect.
func (in *instance) perform(ctx context.Context, entry *Entry, obs *Observer, stats *CallStats) (
	ret Returned, err error) {
	m, r := in.module, &in.run
	fn := in.entry(entry.Export)
	if fn == nil {
		return ret, &ContractError{Detail: "there is no function " + shown(entry.Export)}
	}
	if size := entry.size(); size > m.limits.Request {
		return ret, &LimitError{Limit: "request", Max: m.limits.Request, Asked: size}
	}
	in.begin(ctx, stageCall, obs)
	r.limit = m.limits.Time
	if m.loaded != nil {
		in.state = m.loaded.Fork()
	}
	if entry.Args != nil {
		in.wasi.Args = entry.Args
	}
	in.wasi.Stdin = entry.Stdin
	if entry.Stdout {
		r.maxReply = m.limits.Output
		in.wasi.Stdout = (*printedReply)(in)
	}
	defer in.unwire()
	if entry.Ready != nil {
		if err := entry.Ready(&in.guest); err != nil {
			return ret, err
		}
	}
	err = in.enter(fn)
	exit, exited := errors.AsType[*ExitError](err)
	if exited = exited && exit.Code == 0 && entry.Exits; exited {
		err = nil
	}
	stats.Time = time.Since(r.began)
	if r.began.IsZero() {
		stats.Time = 0
	}
	stats.Fuel, stats.Memory = in.fuelUsed(), in.memory.Size()
	stats.Stderr, stats.Dropped = in.stderr.text(), r.dropped
	stats.Effects, stats.Note = r.effects, r.note
	ret = Returned{Result: in.stack[0], Exited: exited, State: in.state, Stdout: m.Scrub(r.reply)}
	if err != nil {
		_ = in.settle(false) // keeps nothing, and so has nothing to say
		return ret, err
	}
	return ret, in.settle(entry.Keep == nil || entry.Keep(&ret))
}

// Scrub takes the secrets that the policy grants, if any, out of what a guest of another dialect
// replies, as Call does for this project's own. Stdout has been through it.
func (m *Module) Scrub(reply []byte) []byte {
	if m.scrub == nil {
		return reply
	}
	return []byte(m.scrub(string(reply)))
}

// unwire takes from the instance what belonged to one call.
func (in *instance) unwire() {
	in.memory.Disclaim()
	in.wasi.Args, in.wasi.Stdin, in.wasi.Stdout = programArgs, nil, &in.stdout
	in.state = nil
}

// printedReply takes stdout for a reply.
type printedReply instance

func (p *printedReply) Write(b []byte) (int, error) {
	r := &p.run
	if size := int64(len(r.reply) + len(b)); size > r.maxReply {
		panic(&LimitError{Limit: "output", Max: r.maxReply, Asked: size})
	}
	r.reply = append(r.reply, b...)
	return len(b), nil
}
