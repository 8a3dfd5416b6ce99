package sdkchild

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
)

// maxLine is how long a log line may be, in characters; the host cuts further.
const maxLine = 8 << 10

// maxStderr is how much of what a guest writes to stderr is kept, in bytes.
const maxStderr = 4 << 10

// plugin is compiled modules.
type plugin struct {
	server   *server
	opening  *sdkwire.Opening
	compiled *extism.CompiledPlugin
}

// open compiles the modules, one of which is named main: the one that is called.
func open(ctx context.Context, s *server, o *sdkwire.Opening, wasm []byte) (_ *plugin, err error) {
	defer recovered(&err)
	manifest := extism.Manifest{
		Config:       o.Config,
		AllowedHosts: []string{"*"}, // the host's rules decide
		Memory: &extism.ManifestMemory{ // in which 0 is not a default but nothing at all
			MaxHttpResponseBytes: o.Response, MaxVarBytes: o.Variables},
	}
	for i, name := range o.Names {
		if o.Sizes[i] < 0 || o.Sizes[i] > len(wasm) {
			return nil, errors.New("a module is longer than what came")
		}
		manifest.Wasm = append(manifest.Wasm, extism.WasmData{Name: name, Data: wasm[:o.Sizes[i]]})
		wasm = wasm[o.Sizes[i]:]
	}
	extism.SetLogLevel(extism.LogLevelInfo) // below it the SDK speaks, too
	ctx = experimental.WithFunctionListenerFactory(ctx, outputs{o.Output})
	p := &plugin{server: s, opening: o}
	p.compiled, err = extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{
		EnableWasi:                true,
		EnableHttpResponseHeaders: true,
		RuntimeConfig:             wazero.NewRuntimeConfig().WithDebugInfoEnabled(false),
	}, nil)
	return p, err
}

// call makes an instance and calls one of its functions.
func (p *plugin) call(export string, input []byte) (output []byte, v *sdkwire.Verdict) {
	v = &sdkwire.Verdict{}
	memory := &memory{max: p.opening.Memory}
	stderr := &head{max: maxStderr}
	output, err := p.run(experimental.WithMemoryAllocator(context.Background(), memory), stderr,
		export, input)
	v.Memory, v.Stderr = memory.most, stderr.text()
	if err != nil {
		v.Set(memory.blame(fault(err)))
		return nil, v
	}
	return output, v
}

func (p *plugin) run(ctx context.Context, stderr *head, export string, input []byte) (
	output []byte, err error) {
	defer recovered(&err)
	config := wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime().WithSysNanosleep().
		WithRandSource(rand.Reader).WithStderr(stderr).WithArgs("plugin")
	for _, entry := range p.opening.Env {
		name, value, _ := strings.Cut(entry, "=")
		config = config.WithEnv(name, value)
	}
	in, err := p.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := in.Close(ctx); err == nil {
			err = e
		}
	}()
	if export == "" { // to see that there can be an instance
		return nil, nil
	}
	in.SetLogger(func(level extism.LogLevel, text string) {
		line := sdkwire.Line{Level: levels[level], Text: abi.CleanText(text, maxLine)}
		_ = p.server.send(sdkwire.Log, &line, nil) // a host that is gone ends this process
	})
	var end ending
	code, output, err := in.CallWithContext(context.WithValue(ctx, endingKey{}, &end), export, input)
	text := in.GetErrorWithContext(ctx)
	switch {
	case err != nil && text != "" && err.Error() == text:
		return nil, reported(code, text)
	case err != nil:
		return nil, err
	case code != 0: // which the SDK takes for a success when there is no text
		return nil, reported(code, fmt.Sprintf("returned %d, without an error text", int32(code)))
	case end.exited && !end.answered && export != command:
		return nil, &host.ExitError{} // with code 0, which the SDK takes for an empty output
	}
	return output, nil
}

var levels = map[extism.LogLevel]abi.Level{
	extism.LogLevelTrace: abi.LevelDebug, extism.LogLevelDebug: abi.LevelDebug,
	extism.LogLevelInfo: abi.LevelInfo, extism.LogLevelWarn: abi.LevelWarn,
	extism.LogLevelError: abi.LevelError,
}

func reported(code uint32, text string) *abi.Failure {
	f := &abi.Failure{Message: text, Permanent: true} // as in the native engine
	if code != 0 {
		f.Code = fmt.Sprintf("code_%d", int32(code))
	}
	return f
}

// fault classifies an error of the SDK's. What the relay panicked with is in it as it was.
func fault(err error) error {
	if f, ok := errors.AsType[*abi.Failure](err); ok {
		return f
	}
	switch e := host.EngineFault(err).(type) {
	case *host.ExitError:
		return &abi.Failure{Code: fmt.Sprintf("exit_%d", e.Code),
			Message: fmt.Sprintf("exited with code %d", e.Code), Permanent: true}
	case nil:
		return err
	default:
		return e
	}
}

// recovered makes an error of a panic of the SDK's, or of the allocator's in it.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *host.LimitError:
		*err = r
	default:
		*err = &host.ContractError{Detail: fmt.Sprintf("the SDK panicked: %v", r)}
	}
}

// command is the function of a program that has one, and ends by an exit.
const command = "_start"

// ending is what was seen of how a call ends.
type ending struct{ answered, exited bool }

// endingKey is what a call's context has its ending under.
type endingKey struct{}

// outputs watches where guests say their output is, and whether they do before they exit. The SDK
// reads a range outside of its memory as an empty output.
type outputs struct{ most int64 }

// NewFunctionListener implements experimental.FunctionListenerFactory.
func (o outputs) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	if def.GoFunction() == nil || len(def.ExportNames()) != 1 {
		return nil
	}
	switch def.ModuleName() + "." + def.ExportNames()[0] {
	case "extism:host/env.output_set":
		return experimental.FunctionListenerFunc(o.check)
	case "wasi_snapshot_preview1.proc_exit":
		return experimental.FunctionListenerFunc(exits)
	}
	return nil
}

func exits(ctx context.Context, _ api.Module, _ api.FunctionDefinition, _ []uint64,
	_ experimental.StackIterator) {
	if end, ok := ctx.Value(endingKey{}).(*ending); ok {
		end.exited = true
	}
}

func (o outputs) check(ctx context.Context, _ api.Module, _ api.FunctionDefinition,
	params []uint64, _ experimental.StackIterator) {
	offset, size := params[0], params[1]
	if end, ok := ctx.Value(endingKey{}).(*ending); ok {
		end.answered = true
	}
	if size > uint64(o.most) {
		panic(&host.LimitError{Limit: "output", Max: o.most, Asked: int64(min(size, 1<<62))})
	}
	in, ok := ctx.Value(extism.PluginCtxKey("plugin")).(*extism.Plugin)
	if !ok {
		return // the SDK says so itself
	}
	have := uint64(in.Memory().Size())
	if offset > have || size > have-offset {
		panic(&host.ContractError{Detail: fmt.Sprintf("extism: %d bytes at offset %d are not in "+
			"its memory of %d bytes", size, offset, have)})
	}
}

// head keeps the beginning of what is written to it.
type head struct {
	b   []byte
	max int
}

func (h *head) Write(b []byte) (int, error) {
	h.b = append(h.b, b[:min(len(b), h.max-len(h.b))]...)
	return len(b), nil
}

func (h *head) text() string { return strings.ToValidUTF8(string(h.b), "\uFFFD") }
