package host

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

// Limits of what a guest hands to a host function, in bytes.
const (
	maxLogLine   = 4 << 10 // of a log line; the rest is cut
	maxProgress  = 4 << 10 // of a progress report; a longer one is ignored
	maxConfigKey = 256     // of a configuration key; a longer one has no value
)

// hostCalls are the functions of module wasmagent_v1. All parameters and results are i32.
var hostCalls = []struct {
	name            string
	params, results int
	call            func(in *instance, mem guestMemory, args []uint64) (size int)
}{
	{"input", 2, 1, (*instance).input},
	{"output", 2, 0, (*instance).output},
	{"log", 3, 0, (*instance).log},
	{"progress", 2, 0, (*instance).progress},
	{"cancelled", 0, 1, (*instance).cancelled},
	{"config", 2, 1, (*instance).config},
	{"http", 2, 1, (*instance).http},
	{"kv", 2, 1, (*instance).kv},
	{"result", 2, 1, (*instance).result},
}

// hostFunction binds one of hostCalls to the engine.
func hostFunction(call func(*instance, guestMemory, []uint64) int) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		in := instanceOf(ctx)
		size := call(in, guestMemory{mod.Memory()}, stack)
		if len(stack) > 0 {
			stack[0] = api.EncodeU32(uint32(size))
		}
	}
}

// guestMemory gives views of a guest's memory, valid until the guest runs again.
type guestMemory struct{ api.Memory }

// view is the guest's bytes from ptr. A range that is not all in memory ends the guest. The sum is
// taken in 64 bits, and nothing is allocated.
func (m guestMemory) view(what string, ptr, size uint64) []byte {
	ptr, size = uint64(uint32(ptr)), uint64(uint32(size))
	have := uint64(m.Size())
	if ptr+size > have {
		panic(&ContractError{Detail: fmt.Sprintf(
			"%s: %d bytes at %d are not in its memory of %d bytes", what, size, ptr, have)})
	}
	b, _ := m.Read(uint32(ptr), uint32(size))
	return b
}

// input copies the request to the guest if it fits, and tells its size.
func (in *instance) input(mem guestMemory, args []uint64) int {
	r := &in.run
	buf := mem.view("input", args[0], args[1])
	in.charge(uint64(len(r.request)))
	if len(r.request) <= len(buf) {
		copy(buf, r.request)
	}
	return len(r.request)
}

// output takes the reply over, inside this call: what the guest does to its memory later is nothing
// to the host.
func (in *instance) output(mem guestMemory, args []uint64) int {
	r := &in.run
	switch {
	case r.maxReply == 0:
		panic(&ContractError{Detail: "output is not for " + r.stage})
	case r.replied:
		panic(&ContractError{Detail: "a second output"})
	}
	b := mem.view("output", args[0], args[1])
	switch {
	case int64(len(b)) <= r.maxReply:
	case !r.inCall():
		panic(&ContractError{Detail: fmt.Sprintf("a manifest of %s, the limit is %s",
			byteText(int64(len(b))), byteText(r.maxReply))})
	default:
		panic(&LimitError{Limit: "output", Max: r.maxReply, Asked: int64(len(b))})
	}
	in.charge(uint64(len(b)))
	r.reply = append(r.reply, b...)
	r.replied = true
	return 0
}

// log hands one line on, up to the rate.
func (in *instance) log(mem guestMemory, args []uint64) int {
	b := mem.view("log", args[1], args[2])
	in.charge(uint64(min(len(b), maxLogLine)))
	in.logLine(abi.Level(min(uint32(args[0]), uint32(abi.LevelError))), b)
	return 0
}

func (in *instance) logLine(level abi.Level, b []byte) {
	if !in.module.lines.Allow() {
		in.run.dropped++
		return
	}
	text := in.clean(string(b[:min(len(b), maxLogLine+heldBack)])) // before a secret is cut in two
	in.say(level, text[:min(len(text), maxLogLine)])
}

// clean takes the secrets of a plugin that has any out of a text.
func (in *instance) clean(text string) string {
	if in.module.scrub == nil {
		return text
	}
	return in.module.scrub(text)
}

// say writes a line to the log that the guest's own lines go to.
func (in *instance) say(level abi.Level, text string) {
	r := &in.run
	text = escape(text, "")
	in.outside(func() {
		if r.obs.Log != nil {
			r.obs.Log(level, text)
		} else {
			in.module.logLine(r.stage, level, text)
		}
	})
}

// progress hands a report on, up to the rate. One that cannot be read is ignored: there is nobody
// to tell.
func (in *instance) progress(mem guestMemory, args []uint64) int {
	r := &in.run
	b := mem.view("progress", args[0], args[1])
	in.charge(uint64(min(len(b), maxProgress)))
	if r.obs.Progress == nil || len(b) > maxProgress || !in.mayReport() {
		return 0
	}
	if p, err := abihost.ParseProgress(b); err == nil {
		in.report(p)
	}
	return 0
}

// mayReport counts a report, and drops those over the rate.
func (in *instance) mayReport() bool {
	r := &in.run
	if r.reports == nil {
		r.reports = newLimiter(in.module.limits.LogRate)
	}
	if !r.reports.Allow() {
		r.dropped++
		return false
	}
	return true
}

func (in *instance) report(p abi.Progress) {
	p.Message = in.clean(p.Message)
	in.outside(func() { in.run.obs.Progress(p) })
}

// cancelled is 1 once the caller has cancelled.
func (in *instance) cancelled(guestMemory, []uint64) int {
	in.charge(0)
	if in.run.inCall() && in.run.isCancelled(time.Now()) {
		return 1
	}
	return 0
}

// config answers with the operator's value for a key, or nil.
func (in *instance) config(mem guestMemory, args []uint64) int {
	key := mem.view("config", args[0], args[1])
	in.charge(uint64(min(len(key), maxConfigKey)))
	if len(key) <= maxConfigKey {
		if value, ok := in.module.policy.Config[string(key)]; ok {
			return in.keep(value)
		}
	}
	return in.keep(abi.AppendNil(nil))
}

// keep holds what the guest will take with result.
func (in *instance) keep(b []byte) int {
	in.run.pending = b
	return len(b)
}

// result hands the pending answer over, if it fits, and tells its size.
func (in *instance) result(mem guestMemory, args []uint64) int {
	r := &in.run
	buf := mem.view("result", args[0], args[1])
	size := len(r.pending)
	in.charge(uint64(size))
	if size > 0 && size <= len(buf) {
		copy(buf, r.pending)
		r.pending = nil
	}
	return size
}
