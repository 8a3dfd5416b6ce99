package wasi

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// Unstable is the name that older guests import the functions from. They are those of Module, but
// four whose structures or numbers were others then.
const Unstable = "wasi_unstable"

// UnstableFunctions are the functions of Unstable, as Functions are those of Module.
func UnstableFunctions(state func(context.Context) *State) []Function {
	var fs []Function
	for _, f := range Functions(state) {
		switch f.Name {
		case "sock_accept":
			continue // came later
		case "fd_seek":
			f.Call = unstableSeek(f.Call)
		case "fd_filestat_get":
			f.Call = unstableFilestat(f.Call, 1)
		case "path_filestat_get":
			f.Call = unstableFilestat(f.Call, 4)
		case "poll_oneoff":
			f.Call = unstablePoll(state, f.Call)
		}
		fs = append(fs, f)
	}
	return fs
}

// unstableSeek renumbers where an offset counts from: it was the place, the end, the beginning.
func unstableSeek(call api.GoModuleFunc) api.GoModuleFunc {
	now := [...]uint64{1, 2, 0}
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		if whence := uint32(stack[2]); int(whence) < len(now) {
			stack[2] = now[whence]
		}
		call(ctx, mod, stack)
	}
}

// beyond is the address of the page that no guest has: memories end one page before 4 GiB. What is
// translated lies there while a function looks at it.
const beyond = 0xffff_0000

// lent is a guest's module with bytes of the host's in the page beyond its memory.
type lent struct {
	api.Module
	memory lentMemory
}

type lentMemory struct {
	api.Memory
	bytes []byte
}

func (l *lent) Memory() api.Memory { return &l.memory }

func (m *lentMemory) Read(offset, size uint32) ([]byte, bool) {
	if offset == beyond && int(size) == len(m.bytes) {
		return m.bytes, true
	}
	return m.Memory.Read(offset, size)
}

// unstableFilestatSize is a filestat's whose number of links has 32 bits.
const unstableFilestatSize = 56

// unstableFilestat has the function write a filestat aside, and gives the guest the old form of it.
// at is the place of the pointer among the parameters.
func unstableFilestat(call api.GoModuleFunc, at int) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		ptr := stack[at]
		if _, ok := View(mod.Memory(), ptr, unstableFilestatSize); !ok {
			stack[0] = uint64(Fault)
			return
		}
		stat := make([]byte, filestatSize)
		stack[at] = beyond
		call(ctx, &lent{mod, lentMemory{mod.Memory(), stat}}, stack)
		if Errno(stack[0]) != Success {
			return
		}
		b, _ := View(mod.Memory(), ptr, unstableFilestatSize)
		copy(b[:20], stat)
		le.PutUint32(b[20:], uint32(min(le.Uint64(stat[24:]), 1<<32-1)))
		copy(b[24:], stat[32:])
	}
}

// unstableSubscriptionSize is a subscription's with a clock that has a name of its own.
const unstableSubscriptionSize = 56

// unstablePoll gives the function the subscriptions in their new form. Events are as they were.
func unstablePoll(state func(context.Context) *State, call api.GoModuleFunc) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		count := uint64(uint32(stack[2]))
		if count > MaxSubscriptions {
			stack[0] = uint64(Inval)
			return
		}
		old, ok := View(mod.Memory(), stack[0], count*unstableSubscriptionSize)
		if !ok {
			stack[0] = uint64(Fault)
			return
		}
		state(ctx).spend(len(old))
		list := make([]byte, count*subscriptionSize)
		for b := list; len(b) > 0; b, old = b[subscriptionSize:], old[unstableSubscriptionSize:] {
			copy(b[:24], old) // the guest's own number, what it is about, and a descriptor
			if b[8] == eventClock {
				copy(b[16:subscriptionSize], old[24:]) // without the clock's name
			}
		}
		stack[0] = beyond
		call(ctx, &lent{mod, lentMemory{mod.Memory(), list}}, stack)
	}
}
