package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Case is a hostile plugin, and the answer that it must get. One that loads misbehaves when its
// argument is [Bad], and answers any other with that argument, as if nothing had happened.
type Case struct {
	Name   string
	Wasm   []byte
	Policy host.Policy // limits that make the answer come soon

	Stage string // of the LoadError that refuses the plugin; empty: it loads
	Cause string // CauseName of what ended its loading or the call; empty: nothing did, or it has none
	Says  string // a part of the error's text
	Reply []byte // of the call, when nothing ended it
}

// Bad is the argument that hostile plugins wait for.
const Bad = "bad"

// Hostile gives all hostile plugins that need no grants. None of them takes longer to answer than
// its policy's limits say, a second at most.
func Hostile() iter.Seq[Case] {
	return func(yield func(Case) bool) {
		for _, cases := range []func() []Case{
			brokenModules, falseCounts, pastTheEnd, reservedNames, compileBombs, badContracts,
			badLoads, endless, greedy, traps, badReplies, patient, floods, secretive,
		} {
			for _, c := range cases() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Try gives the plugin to an engine and says in what its answers are not those that it must get.
func (c Case) Try(ctx context.Context, e *host.Engine) error {
	m, err := e.Compile(ctx, c.Wasm, c.Policy)
	if load, ok := errors.AsType[*host.LoadError](err); c.Stage != "" && ok && load.Stage == c.Stage {
		return c.judge(err)
	} else if err != nil || c.Stage != "" {
		return errors.Join(fmt.Errorf("%s: loading it gave %v, want stage %q", c.Name, err, c.Stage),
			closeModule(ctx, m))
	}
	return errors.Join(c.call(ctx, m), c.harmless(ctx, m), m.Close(ctx))
}

func closeModule(ctx context.Context, m *host.Module) error {
	if m == nil {
		return nil
	}
	return m.Close(ctx)
}

// call provokes the plugin.
func (c Case) call(ctx context.Context, m *host.Module) error {
	reply, stats, err := m.Call(ctx, Ask(Bad), nil, nil)
	if stats.Fuel < 0 || stats.Memory < 0 {
		return fmt.Errorf("%s: %+v", c.Name, stats)
	}
	if err != nil || c.Cause != "" {
		return c.judge(err)
	}
	if !bytes.Equal(reply, c.Reply) {
		return fmt.Errorf("%s: replied %.100q, want %.100q", c.Name, reply, c.Reply)
	}
	return nil
}

// harmless sees whether the plugin's next calls are as if nothing had happened.
func (c Case) harmless(ctx context.Context, m *host.Module) error {
	for _, text := range []string{"a", "b"} {
		reply, _, err := m.Call(ctx, Ask(text), nil, nil)
		if err != nil || !bytes.Equal(reply, Answer(text)) {
			return fmt.Errorf("%s: the next call replied %.100q, %w", c.Name, reply, err)
		}
	}
	return nil
}

func (c Case) judge(err error) error {
	cause, text := "", ""
	named, ok := errors.AsType[interface {
		error
		CauseName() string
	}](err)
	if ok {
		cause = named.CauseName()
	}
	if err != nil {
		text = err.Error()
	}
	if cause != c.Cause || !strings.Contains(text, c.Says) {
		return fmt.Errorf("%s: ended by %q: %v; want %q saying %q", c.Name, cause, err, c.Cause, c.Says)
	}
	return nil
}

// Ask is a request with a text for its argument.
func Ask(text string) abi.Request {
	return abi.Request{Tool: "t", CallID: "1", Attempt: 1, Input: abi.AppendString(nil, text)}
}

// Answer is the reply of a plugin that echoes a text.
func Answer(text string) []byte {
	return abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: abi.AppendString(nil, text)})
}

// OnBad does what the body says when the argument is [Bad], and echoes otherwise.
func OnBad(body Body) Body {
	return func(k *Kit) asm.Instr {
		bad := body(k)
		last := inputAt - len(Bad) // from here, as far behind as the request is long, lies the argument
		same := asm.LocalGet(0) + asm.I32Load(uint32(last-1)) +
			asm.I32Const(le32("\xa3"+Bad)) + asm.I32Eq
		return ReadRequest(k) + same + asm.If(bad+asm.Return) + Echo(k)
	}
}

// inCall is a plugin that does something bad in a call, and how that must end.
func inCall(name string, body Body, cause string) Case {
	return Case{Name: name, Wasm: Plugin{Name: "t", Call: OnBad(body)}.Bytes(), Cause: cause,
		Policy: host.Policy{Limits: host.Limits{Time: time.Hour, Memory: 2 << 20}}}
}

// within gives the guest a time that it will use up.
func (c Case) within(d time.Duration) Case {
	c.Policy.Limits.Time, c.Policy.Limits.Load = d, d
	return c
}

// replies is what the guest says when it does nothing that ends it.
func (c Case) replies(b []byte) Case {
	c.Reply = b
	return c
}

// shortly is enough to see that something does not end.
const shortly = 100 * time.Millisecond

var okTrue = abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: abi.Raw{0xc3}})
