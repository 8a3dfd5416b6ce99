package loader

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// tool is one tool of a plugin: the bridge from a registry's call to a guest's.
type tool struct {
	plugin *plugin
	own    string // what the plugin calls it
	spec   abi.ToolSpec
	rule   plugins.Rule
}

func newTool(p *plugin, spec abi.ToolSpec) *tool {
	t := &tool{plugin: p, own: spec.Name, spec: spec, rule: p.decision.Rules[spec.Name]}
	t.spec.Effect = p.decision.effect(spec)
	t.spec.Name = p.Prefix + spec.Name
	return t
}

func (t *tool) Spec() abi.ToolSpec { return t.spec }

// Rule is the operator's word about the tool.
func (t *tool) Rule() plugins.Rule { return t.rule }

// Scope makes the keys of a plugin's tools the plugin's own: a namesake in another directory
// neither claims nor reads them.
func (t *tool) Scope() string { return t.plugin.scope }

// Invoke carries the call's JSON to a fresh guest and its reply back.
func (t *tool) Invoke(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	plugin, err := t.plugin.use(ctx)
	if err != nil {
		return plugins.Output{}, t.loadFault(ctx, err)
	}
	defer t.plugin.shelf.leave(plugin)
	obs, heard := t.observer(ctx, &call)
	defer heard()
	if other, ok := plugin.module.(Module); ok {
		return t.invokeOther(ctx, other, call, obs)
	}
	return t.invokeOwn(ctx, plugin.module.(*host.Module), &call, obs)
}

// invokeOwn calls a guest of this project's own contract.
func (t *tool) invokeOwn(ctx context.Context, module *host.Module, call *plugins.Call,
	obs *host.Observer) (_ plugins.Output, err error) {
	b := buffers.Get().(*buffer)
	defer b.free()
	input := call.Packed
	if input == nil { // not called by a registry
		if b.input, err = transcode.AppendMsgpack(b.input[:0], call.Input); err != nil {
			return plugins.Output{}, t.fault(plugins.ErrInvalidInput, err)
		}
		input = b.input
	}
	req := abi.Request{
		Tool: t.own, CallID: call.ID, Attempt: call.Attempt, IdempotencyKey: call.Key,
		Input: input,
	}
	reply, took, err := module.Call(ctx, req, obs, b.reply[:0])
	t.plugin.opts.called(ctx, t.plugin.Name, t.spec.Name, took)
	if err != nil {
		return plugins.Output{}, t.callFault(err)
	}
	b.reply = reply
	return t.read(b, &took)
}

// invokeOther calls a guest of another contract.
func (t *tool) invokeOther(ctx context.Context, module Module, call plugins.Call,
	obs *host.Observer) (plugins.Output, error) {
	call.Tool = t.own
	out, took, err := module.Call(ctx, &call, obs)
	t.plugin.opts.called(ctx, t.plugin.Name, t.spec.Name, took)
	if err != nil {
		return plugins.Output{}, t.otherFault(err, &took)
	}
	return out, nil
}

// observer passes on what the guest says, to who wants to hear it; nil when nobody does. What is
// left to be passed on when the call is over goes to the log then.
func (t *tool) observer(ctx context.Context, call *plugins.Call) (obs *host.Observer, end func()) {
	end = func() {}
	if call.Log != nil || call.Progress != nil || call.Output != nil {
		obs = &host.Observer{Log: call.Log, Progress: call.Progress, Output: call.Output}
	}
	if !t.plugin.opts.logger().Enabled(ctx, slog.LevelDebug) {
		return obs, end
	}
	if obs == nil {
		obs = &host.Observer{}
	}
	p := &printed{log: func(stream, line string) {
		t.plugin.opts.logger().Debug(line, "tool", t.spec.Name, "stream", stream)
	}}
	obs.Output = p.write
	if hear := call.Output; hear != nil {
		obs.Output = func(stderr bool, b []byte) {
			p.write(stderr, b)
			hear(stderr, b)
		}
	}
	return obs, p.end
}

// buffer holds one call's request, reply and result. Nothing of them outlives the call: values and
// blocks are copied.
type buffer struct{ input, reply, value []byte }

// maxPooledBytes is the largest buffer that is kept for the next call, in bytes.
const maxPooledBytes = 1 << 20

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (b *buffer) free() {
	if max(cap(b.input), cap(b.reply), cap(b.value)) <= maxPooledBytes {
		buffers.Put(b)
	}
}

// cloneBlocks frees blocks from the buffer that they were read from.
func cloneBlocks(blocks []abi.Block) []abi.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Data = slices.Clone(blocks[i].Data)
	}
	return blocks
}
