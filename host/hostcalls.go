package host

import (
	"context"
	"fmt"

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
	call            func(r *run, mem guestMemory, args []uint64) (size int)
}{
	{"input", 2, 1, (*run).input},
	{"output", 2, 0, (*run).output},
	{"log", 3, 0, (*run).log},
	{"progress", 2, 0, (*run).progress},
	{"cancelled", 0, 1, (*run).isCancelled},
	{"config", 2, 1, (*run).config},
	{"http", 2, 1, (*run).denied},
	{"kv", 2, 1, (*run).denied},
	{"result", 2, 1, (*run).result},
}

// hostFunction binds one of hostCalls to the engine.
func hostFunction(call func(*run, guestMemory, []uint64) int) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		r := ctx.Value(runKey{}).(*run)
		select {
		case <-r.stop:
			panic(errStopped)
		default:
		}
		size := call(r, guestMemory{mod.Memory()}, stack)
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
func (r *run) input(mem guestMemory, args []uint64) int {
	buf := mem.view("input", args[0], args[1])
	if len(r.request) <= len(buf) {
		copy(buf, r.request)
	}
	return len(r.request)
}

// output takes the reply over, inside this call: what the guest does to its memory later is nothing
// to the host.
func (r *run) output(mem guestMemory, args []uint64) int {
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
	r.reply = append(r.reply, b...)
	r.replied = true
	return 0
}

// log hands one line on, up to the rate.
func (r *run) log(mem guestMemory, args []uint64) int {
	b := mem.view("log", args[1], args[2])
	if !r.module.lines.Allow() {
		r.dropped++
		return 0
	}
	level := abi.Level(min(uint32(args[0]), uint32(abi.LevelError)))
	text := escape(string(b[:min(len(b), maxLogLine)]), "")
	if r.obs.Log != nil {
		r.obs.Log(level, text)
	} else {
		r.module.logLine(r.stage, level, text)
	}
	return 0
}

// progress hands a report on, up to the rate. One that cannot be read is ignored: there is nobody
// to tell.
func (r *run) progress(mem guestMemory, args []uint64) int {
	b := mem.view("progress", args[0], args[1])
	if r.obs.Progress == nil || len(b) > maxProgress {
		return 0
	}
	if !r.reports.Allow() {
		r.dropped++
		return 0
	}
	if p, err := abihost.ParseProgress(b); err == nil {
		r.obs.Progress(p)
	}
	return 0
}

// isCancelled is 1 once the caller has cancelled.
func (r *run) isCancelled(guestMemory, []uint64) int {
	if r.inCall() && r.cancelled.Load() {
		return 1
	}
	return 0
}

// config answers with the operator's value for a key, or nil.
func (r *run) config(mem guestMemory, args []uint64) int {
	key := mem.view("config", args[0], args[1])
	if len(key) <= maxConfigKey {
		if value, ok := r.module.policy.Config[string(key)]; ok {
			return r.answer(value)
		}
	}
	return r.answer(abi.AppendNil(nil))
}

// denied answers for a capability that the policy does not grant: only a plugin that marks it as
// optional gets here.
func (r *run) denied(mem guestMemory, args []uint64) int {
	mem.view("host call", args[0], args[1])
	if !r.inCall() {
		return r.answer(appendCallError("not_now", "not while the plugin loads"))
	}
	return r.answer(appendCallError("denied", "the operator has not granted it"))
}

// answer keeps what the guest will take with result.
func (r *run) answer(b []byte) int {
	r.pending = b
	return len(b)
}

// result hands the pending answer over, if it fits, and tells its size.
func (r *run) result(mem guestMemory, args []uint64) int {
	buf := mem.view("result", args[0], args[1])
	size := len(r.pending)
	if size > 0 && size <= len(buf) {
		copy(buf, r.pending)
		r.pending = nil
	}
	return size
}

// appendCallError codes {error: {kind, message}}, how a host call says that it failed.
func appendCallError(kind, message string) []byte {
	b := abi.AppendMapHeader(nil, 1)
	b = abi.AppendString(b, "error")
	b = abi.AppendMapHeader(b, 2)
	b = abi.AppendString(abi.AppendString(b, "kind"), kind)
	return abi.AppendString(abi.AppendString(b, "message"), message)
}
