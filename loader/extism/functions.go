package extism

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
)

// env is the module that an Extism guest imports the kernel's functions from.
const env = "extism:host/env"

// state is what the functions keep for an instance, and for one call.
type state struct {
	mem *memory
	now *call // of the guest's call, for all of its functions; nil while it loads

	input          uint64 // offset
	inputLength    uint64
	output, outLen uint64
	answered       bool   // output was set
	failure        uint64 // offset of the error's text
	failureText    []byte // as it was when it was set
	vars           map[string][]byte
	varBytes       int
	maxVarBytes    int
	maxResponse    int64 // bytes of a body
	status         int   // of the last response
	headers        []byte
}

func newState() host.State { return &state{mem: newMemory(), maxVarBytes: MaxVariables} }

// Fork implements host.State.
func (s *state) Fork() host.State {
	return &state{mem: s.mem.fork(), vars: maps.Clone(s.vars), varBytes: s.varBytes}
}

// call is a function's call by a guest. A kit makes one for every eight bytes of an input: nothing
// is made anew for it.
type call struct {
	*host.Guest
	*state
	bounds bounds
	stack  []uint64
}

// kernel are the functions of extism:host/env. i is a 32-bit integer, I one of 64 bits.
var kernel = []struct {
	name, params, results string
	do                    func(c *call)
}{
	{"alloc", "I", "I", (*call).alloc},
	{"free", "I", "", (*call).free},
	{"length", "I", "I", (*call).length},
	{"length_unsafe", "I", "I", (*call).length},
	{"load_u8", "I", "i", (*call).loadU8},
	{"load_u64", "I", "I", (*call).loadU64},
	{"store_u8", "Ii", "", (*call).storeU8},
	{"store_u64", "II", "", (*call).storeU64},
	{"input_offset", "", "I", (*call).inputOffset},
	{"input_length", "", "I", (*call).inputLen},
	{"input_load_u8", "I", "i", (*call).inputU8},
	{"input_load_u64", "I", "I", (*call).inputU64},
	{"output_set", "II", "", (*call).outputSet},
	{"output_offset", "", "I", (*call).outputOffset},
	{"output_length", "", "I", (*call).outputLength},
	{"error_set", "I", "", (*call).errorSet},
	{"error_get", "", "I", (*call).errorGet},
	{"config_get", "I", "I", (*call).configGet},
	{"var_get", "I", "I", (*call).varGet},
	{"var_set", "II", "", (*call).varSet},
	{"http_request", "II", "I", (*call).httpRequest},
	{"http_status_code", "", "i", (*call).httpStatus},
	{"http_headers", "", "I", (*call).httpHeaders},
	{"get_log_level", "", "i", (*call).logLevel},
	{"log_trace", "I", "", logAt(abi.LevelDebug)},
	{"log_debug", "I", "", logAt(abi.LevelDebug)},
	{"log_info", "I", "", logAt(abi.LevelInfo)},
	{"log_warn", "I", "", logAt(abi.LevelWarn)},
	{"log_error", "I", "", logAt(abi.LevelError)},
}

// functions are the kernel's, for the sandbox.
func functions() []host.Function {
	list := make([]host.Function, len(kernel))
	for i, f := range kernel {
		do := f.do
		list[i] = host.Function{Module: env, Name: f.name, Params: types(f.params),
			Results: types(f.results), Call: func(g *host.Guest, stack []uint64) {
				do(enter(g, stack))
			}}
	}
	return list
}

// enter is a function's call, or what a call of the whole guest begins with.
func enter(g *host.Guest, stack []uint64) *call {
	s := g.State().(*state)
	c := s.now
	if c == nil {
		c = newCall(g, s)
	}
	c.stack = stack
	return c
}

func newCall(g *host.Guest, s *state) *call {
	c := &call{Guest: g, state: s, bounds: bounds{math.MaxInt64, MaxBlocks, g.Claim}}
	if !g.InCall() {
		c.bounds.bytes, c.bounds.blocks = MaxLoadedBytes, MaxLoadedBlocks
	}
	return c
}

func types(row string) []host.ValueType {
	list := make([]host.ValueType, len(row))
	for i := range row {
		if list[i] = host.I32; row[i] == 'I' {
			list[i] = host.I64
		}
	}
	return list
}

// at is size bytes at an offset, which the guest reads or writes.
func (c *call) at(offset, size uint64) []byte {
	b, err := c.mem.reach(offset, size, &c.bounds)
	if err != nil {
		c.End(err)
	}
	return b
}

func (c *call) alloc() {
	size := c.stack[0]
	c.Charge(int(min(size, host.MaxMemory)))
	at, err := c.mem.alloc(size, &c.bounds)
	if err != nil {
		c.End(err)
	}
	c.stack[0] = at
}

// put hands the guest bytes of the host's.
func (c *call) put(b []byte) uint64 {
	c.Charge(len(b))
	at, err := c.mem.put(b, &c.bounds)
	if err != nil {
		c.End(err)
	}
	return at
}

// text is a block's bytes, which are paid for.
func (c *call) text(offset uint64) []byte {
	b := c.mem.block(offset)
	c.Charge(len(b))
	return b
}

func (c *call) free()   { c.mem.release(c.stack[0]) }
func (c *call) length() { c.stack[0] = c.mem.length(c.stack[0]) }

func (c *call) loadU8()   { c.stack[0] = uint64(c.at(c.stack[0], 1)[0]) }
func (c *call) loadU64()  { c.stack[0] = binary.LittleEndian.Uint64(c.at(c.stack[0], 8)) }
func (c *call) storeU8()  { c.at(c.stack[0], 1)[0] = byte(c.stack[1]) }
func (c *call) storeU64() { binary.LittleEndian.PutUint64(c.at(c.stack[0], 8), c.stack[1]) }

func (c *call) inputOffset() { c.stack[0] = c.input }
func (c *call) inputLen()    { c.stack[0] = c.inputLength }

// inputAt is bytes of the input. A word that reaches past its end has what lies there.
func (c *call) inputAt(from, size uint64) []byte {
	if from >= c.inputLength {
		c.End(broken("byte %d of an input of %d bytes", from, c.inputLength))
	}
	return c.at(c.input+from, size)
}

func (c *call) inputU8()  { c.stack[0] = uint64(c.inputAt(c.stack[0], 1)[0]) }
func (c *call) inputU64() { c.stack[0] = binary.LittleEndian.Uint64(c.inputAt(c.stack[0], 8)) }

// outputSet notes where the output is, which is read when the function has returned.
func (c *call) outputSet() {
	offset, size := c.stack[0], c.stack[1]
	if most := c.Limits().Output; size > uint64(most) {
		c.End(&host.LimitError{Limit: "output", Max: most, Asked: int64(min(size, 1<<62))})
	}
	if size == 0 {
		offset = 0 // wherever an empty output lies
	} else if _, ok := c.mem.view(offset, size); !ok || offset == 0 {
		c.End(broken("an output of %d bytes at offset %d is not in its memory of %d bytes", size,
			offset, len(c.mem.arena)))
	}
	c.output, c.outLen, c.answered = offset, size, true
}

func (c *call) outputOffset() { c.stack[0] = c.output }
func (c *call) outputLength() { c.stack[0] = c.outLen }

// maxErrorText is how much of an error's text is kept, in bytes: more than is ever shown.
const maxErrorText = 64 << 10

// errorSet takes the error's text, since a guest may free its block. Offset 0 takes the error back.
func (c *call) errorSet() {
	at := c.stack[0]
	if at != 0 && c.mem.length(at) == 0 {
		c.End(broken("the error at offset %d is no block", at))
	}
	b := c.mem.block(at)
	b = b[:min(len(b), maxErrorText)]
	c.Charge(len(b))
	c.failure, c.failureText = at, bytes.Clone(b)
}

func (c *call) errorGet() { c.stack[0] = c.failure }

// logLevels are Extism's, from trace.
const logDebug = 1

func (c *call) logLevel() { c.stack[0] = logDebug }

func logAt(level abi.Level) func(*call) {
	return func(c *call) {
		c.Log(level, c.text(c.stack[0]))
		c.mem.release(c.stack[0])
	}
}
