package extism

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
	"github.com/wasmagent/wasmagent/plugins"
)

// EngineSDK is the name in a policy of the engine that is Extism's own Go SDK.
const EngineSDK = "extism-sdk"

// engineNative, as "", is the engine that all other plugins run in.
const engineNative = "native"

// Limits of the engine extism-sdk.
const (
	// MaxProcesses is how many calls of a plugin run at a time, each in a process of its own. Others
	// wait.
	MaxProcesses = 4
	// KernelMemory is what the SDK itself may have for a call beyond limits.memory, in bytes.
	KernelMemory = 2 << 20
)

// EngineError is a policy that the engine extism-sdk cannot keep, or an engine that is not there.
type EngineError struct {
	Engine   string
	Problems []string // each with what to do about it
}

func (e *EngineError) Error() string {
	return fmt.Sprintf("engine %q: %s", e.Engine, strings.Join(e.Problems, "; "))
}

// sdkPart is one of the modules that a plugin is linked of.
type sdkPart struct {
	name string // that others import it by; "main" is the one that is called
	wasm []byte
}

// parts are the modules of a bundle, in their order, or the one of a module without a manifest.
func (m *manifest) parts(main []byte) (parts []sdkPart) {
	if m == nil {
		return []sdkPart{{mainPart, main}}
	}
	for i, w := range m.Wasm {
		part := sdkPart{w.Name, w.Data}
		if i == m.main() {
			part = sdkPart{mainPart, main}
		}
		parts = append(parts, part)
	}
	return parts
}

// mainPart is the SDK's name for the module that is called.
const mainPart = "main"

// compileSDK makes a plugin that runs in the SDK, which is asked to make an instance of it.
func (k *kind) compileSDK(ctx context.Context, own *module, parts []sdkPart, policy host.Policy) (
	loader.Module, error) {
	limits, err := policy.Limits.Complete()
	if err != nil {
		return nil, err
	}
	if problems := k.unkept(&policy); len(problems) > 0 {
		return nil, &EngineError{EngineSDK, problems}
	}
	if err := checkParts(parts, &limits); err != nil {
		return nil, err
	}
	m := &sdkModule{module: own, limits: limits, policy: policy}
	if err := m.open(k.sdkCommand, parts); err != nil {
		return nil, err
	}
	if err := m.pool.try(ctx); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

// unkept lists what a policy says that this engine cannot keep: rather than to do without, it does
// not begin.
func (k *kind) unkept(p *host.Policy) (problems []string) {
	for _, c := range []struct {
		asked bool
		text  string
	}{
		{len(k.sdkCommand) == 0, "this program has no command that runs the SDK: the command wasmagent " +
			"has it unless it was built without, and a Go program gives extism.New one, " +
			"extism.Options.SDKCommand, that calls sdkchild.Serve (loader/extism/sdkchild); leave engine " +
			"out, for the native one"},
		{len(p.Grants.Files) > 0, "the SDK lets links lead out of the directories that it is given: " +
			"take files out of the policy, or engine, since the native one holds them"},
		{p.Grants.KV != nil, "variables last as long as a call: take kv out of the policy, or engine"},
		{p.Limits.Fuel > 0, "nothing counts fuel: take limits.fuel out of the policy, or engine"},
		{p.Fixed != nil, "its guests see the real time: take fixed out of the policy, or engine"},
	} {
		if c.asked {
			problems = append(problems, c.text)
		}
	}
	return problems
}

// checkParts holds modules against the limits, and their imports against what there is.
func checkParts(parts []sdkPart, limits *host.Limits) error {
	exports := map[string]*host.Facts{}
	var all []*host.Facts
	var size int64
	for _, part := range parts {
		if size += int64(len(part.wasm)); size > limits.Module {
			return &host.LoadError{Stage: "preflight",
				Err: &host.LimitError{Limit: "module", Max: limits.Module, Asked: size}}
		}
		facts, err := host.Inspect(part.wasm)
		if err != nil {
			return err
		}
		all = append(all, facts)
		exports[part.name] = facts
	}
	var problems []string
	var pages uint64
	for _, facts := range all {
		problems = append(problems, unlinked(facts, exports)...)
		for _, memory := range facts.Memories {
			pages += memory.Min
		}
	}
	if most := uint64(limits.Memory) / sdkPageBytes; pages > most {
		problems = append(problems, fmt.Sprintf("its memory begins with %g MiB, past the limit of %g MiB "+
			"(limits.memory)", float64(pages)/pagesPerMiB, float64(most)/pagesPerMiB))
	}
	if len(problems) > 0 {
		return &host.LoadError{Stage: "contract", Err: &host.ModuleError{Problems: problems}}
	}
	return nil
}

// sdkPageBytes is the size of a page of linear memory.
const (
	sdkPageBytes = 64 << 10
	pagesPerMiB  = 1 << 20 / sdkPageBytes
)

// unlinked lists the imports that there is nothing for.
func unlinked(f *host.Facts, exports map[string]*host.Facts) (problems []string) {
	for _, im := range f.Imports {
		var have bool
		switch from := exports[im.Module]; {
		case im.Kind != "func": // the SDK passes on calls, nothing else
		case im.Module == env:
			have = isKernel(im.Name)
		case im.Module == "wasi_snapshot_preview1":
			have = true // the SDK has them all
		case from != nil:
			have = slices.ContainsFunc(from.Exports, func(e host.Export) bool {
				return e.Name == im.Name && e.Kind == im.Kind && e.Type == im.Type
			})
		}
		if !have {
			problems = append(problems, fmt.Sprintf("import %s.%s%s: the engine %s has no such %s",
				abi.CleanText(im.Module, 80), abi.CleanText(im.Name, 80), im.Type, EngineSDK, im.Kind))
		}
	}
	return problems
}

func isKernel(name string) bool {
	for _, f := range kernel {
		if f.name == name {
			return true
		}
	}
	return false
}

// sdkModule is a plugin in the SDK.
type sdkModule struct {
	*module // without a guest
	limits  host.Limits
	policy  host.Policy
	pool    *sdkPool
	lines   *rate.Limiter // log lines, of all calls together
	size    int64         // bytes of all modules
}

// open readies what a process is opened with. None is started.
func (m *sdkModule) open(command []string, parts []sdkPart) error {
	opening := sdkwire.Opening{Config: map[string]string{}, Output: m.limits.Output,
		Memory: m.limits.Memory + KernelMemory, Variables: int64(m.maxVarBytes),
		Response: m.maxResponse}
	for name, raw := range m.policy.Config {
		text, err := configText(raw)
		if err != nil {
			return fmt.Errorf("config %s has no form for Extism: %w", name, err)
		}
		opening.Config[name] = string(text)
	}
	for name, value := range m.policy.Grants.Env {
		opening.Env = append(opening.Env, name+"="+value)
	}
	slices.Sort(opening.Env)
	var wasm []byte
	for _, part := range parts {
		opening.Names = append(opening.Names, part.name)
		opening.Sizes = append(opening.Sizes, len(part.wasm))
		wasm = append(wasm, part.wasm...)
	}
	m.size = int64(len(wasm))
	m.lines = rate.NewLimiter(rate.Limit(m.limits.LogRate), m.limits.LogRate)
	m.pool = newSDKPool(command, &opening, wasm, &m.limits)
	return nil
}

// Size is that of an idle process, as far as the modules tell: code has about ten times their size.
func (m *sdkModule) Size() int64 { return 32<<20 + 10*m.size }

// Close ends the processes, and waits for calls.
func (m *sdkModule) Close(ctx context.Context) error { return m.pool.close(ctx) }

// Call implements loader.Module.
func (m *sdkModule) Call(ctx context.Context, call *plugins.Call, obs *host.Observer) (
	out plugins.Output, stats host.CallStats, err error) {
	fn, ok := m.functions[call.Tool]
	if !ok {
		return out, stats, fmt.Errorf("no function of the name %q", call.Tool)
	}
	input := []byte(call.Input)
	if fn.Text {
		if input, err = onlyText(call); err != nil {
			return out, stats, err
		}
	}
	if size := int64(len(input)); size > m.limits.Request {
		return out, stats, &host.LimitError{Limit: "request", Max: m.limits.Request, Asked: size}
	}
	s := &sdkCall{module: m, obs: obs, stats: &stats}
	answer, err := m.pool.run(ctx, fn.Export, input, s)
	if err == nil && int64(len(answer)) > m.limits.Output { // the process has looked, too
		err = &host.LimitError{Limit: "output", Max: m.limits.Output, Asked: int64(len(answer))}
	}
	if err != nil {
		return out, stats, s.scrubbed(err)
	}
	out, err = loader.OutputOf([]byte(s.scrub(string(answer))))
	return out, stats, err
}
