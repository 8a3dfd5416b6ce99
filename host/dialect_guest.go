package host

import (
	"errors"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/egress"
)

// Guest is the guest that calls a function of its dialect. It is good until the function returns,
// and so are views of its memory.
type Guest struct{ in *instance }

// State is what the dialect's functions keep for this instance.
func (g *Guest) State() State { return g.in.state }

// InCall reports whether the guest carries out a call, and is not being loaded.
func (g *Guest) InCall() bool { return g.in.run.inCall() }

// Memory is a view of the guest's bytes from ptr. A range that is not all in memory ends the guest
// with a *ContractError.
func (g *Guest) Memory(what string, ptr, size uint64) []byte {
	return guestMemory{g.in.mod.Memory()}.view(what, ptr, size)
}

// Charge makes the guest pay, in fuel, for bytes that are about to be moved.
func (g *Guest) Charge(bytes int) { g.in.charge(uint64(max(bytes, 0))) }

// Claim books bytes that the host is to keep for the guest: beside its memory, and together with it
// against Limits.Memory and what all guests may have, until the call ends. The error is a
// *LimitError.
func (g *Guest) Claim(bytes int64) error {
	if d := g.in.memory.Claim(bytes); d != nil {
		return g.in.limitOf(d, "")
	}
	return nil
}

// End ends the guest: with a *ContractError or *LimitError, which are its own fault.
func (g *Guest) End(fault error) { panic(fault) }

// Fail ends the guest, and its run with err, as it is: for what is not the guest's fault and what
// its dialect has no way to tell it. A caller that has given up is why in any case.
func (g *Guest) Fail(err error) {
	if g.Cancelled() {
		err = errCancelled
	}
	g.in.run.stop(err)
}

// Limits are those of the guest's policy, none of them zero.
func (g *Guest) Limits() Limits { return *g.in.module.limits }

// Config is the operator's value for a key, as msgpack.
func (g *Guest) Config(key string) (abi.Raw, bool) {
	value, ok := g.in.module.policy.Config[key]
	return value, ok
}

// Cancelled reports whether the caller has given up.
func (g *Guest) Cancelled() bool {
	return g.in.run.inCall() && g.in.run.isCancelled(time.Now())
}

// Log hands a line on as log does for this project's own guests: cut, scrubbed, up to the rate.
func (g *Guest) Log(level abi.Level, text []byte) { g.in.logLine(level, text) }

// Progress hands a report on, up to the rate.
func (g *Guest) Progress(p abi.Progress) {
	if g.in.run.obs.Progress != nil && g.in.mayReport() {
		g.in.report(p)
	}
}

// HTTP sends a request for the guest, which waits without a turn. What goes wrong is an
// *abi.CallError: "denied" without a grant, "not_now" while it loads.
func (g *Guest) HTTP(req *egress.Request) (*egress.Response, error) {
	if err := g.in.may("http", g.in.module.policy.Grants.HTTP != nil); err != nil {
		return nil, err
	}
	return g.in.fetch(req)
}

// KV works on the plugin's own space, in one transaction for the whole call. Errors are as HTTP's.
func (g *Guest) KV(q *abi.KVRequest) (abi.KVAnswer, error) {
	if err := g.in.may("kv", g.in.module.policy.Grants.KV != nil); err != nil {
		return abi.KVAnswer{}, err
	}
	if err := checkKV(q); err != nil {
		return abi.KVAnswer{}, err
	}
	return g.in.consult(q)
}

// CallErrorOf is the *abi.CallError in err, or nil.
func CallErrorOf(err error) *abi.CallError {
	failed, _ := errors.AsType[*abi.CallError](err)
	return failed
}
