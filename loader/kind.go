package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// Kind makes tools of files that are written to another contract than this project's own. It is
// safe for concurrent use.
type Kind interface {
	Name() string              // what a policy calls it, such as "extism"
	Dialects() []*host.Dialect // that an engine must be made with

	// Recognize says by what a file is of this kind. "": as far as its bytes tell, it is not.
	Recognize(f *host.Facts) (why string)

	// Compile makes the plugin p of its bytes. A *host.GrantError in the error is what the plugin
	// lacks. What the Module says of itself depends on the bytes and on d alone.
	Compile(ctx context.Context, e *host.Engine, wasm []byte, p *Plugin, d *Decision) (Module, error)
}

// Module is a compiled plugin of a Kind. It is safe for concurrent use.
type Module interface {
	Manifest() abi.Manifest // what it offers and needs, with every text cleaned
	Size() int64            // bytes that it keeps
	Close(ctx context.Context) error

	// Call carries out a call in a fresh state. The call's Tool is one of the manifest's. An
	// *abi.Failure is the guest's own report, and a *plugins.ToolError needs only Kind and Err; other
	// errors are those of host.Module.Call.
	Call(ctx context.Context, call *plugins.Call, obs *host.Observer) (plugins.Output, host.CallStats, error)
}

// Function is a tool that the operator makes of a function which a plugin exports and does not
// describe.
type Function struct {
	Tool   abi.ToolSpec // with the operator's name, description and schemas
	Export string       // "": as the tool's name
	Text   bool         // the function takes the one string among the arguments, not JSON
}

// KindError is a policy that calls a plugin of a kind that nobody here knows.
type KindError struct {
	Kind string
	Have []string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("its policy calls it a plugin of the kind %q; want one of %q", e.Kind, e.Have)
}

// ownKind is the name of this project's own contract in a policy.
const ownKind = "wasmagent"

// kindOf tells which contract a file is written to: by the operator's word, else by what the file
// exports and imports. Nil is this project's own, which also has to say what is wrong with a file
// that is of no kind.
func (p *plugin) kindOf(wasm []byte) (kind Kind, why string, err error) {
	switch p.decision.Kind {
	case "":
	case ownKind:
		return nil, "", nil
	default:
		kind, err = p.kindNamed(p.decision.Kind)
		return kind, "its policy says so", err
	}
	if len(p.opts.kinds()) == 0 {
		return nil, "", nil
	}
	if b := p.opts.bundler(p.Path); b != nil {
		kind, why = b, "it is a manifest of the kind "+b.Name()
	}
	if _, stamped, err := abihost.Section(wasm); kind == nil && (stamped || err != nil) {
		return nil, "", nil
	}
	facts, err := host.Inspect(wasm)
	if err != nil || kind == nil && slices.ContainsFunc(facts.Exports, func(e host.Export) bool {
		return e.Name == abi.ExportDescribe
	}) {
		return kind, why, nil
	}
	for _, k := range p.opts.kinds() {
		if why := k.Recognize(facts); why != "" {
			return k, why, nil
		}
	}
	return kind, why, nil
}

// kindNamed finds a kind that was found before, or that the operator named.
func (p *plugin) kindNamed(name string) (Kind, error) {
	have := []string{ownKind}
	for _, k := range p.opts.kinds() {
		if k.Name() == name {
			return k, nil
		}
		have = append(have, k.Name())
	}
	return nil, &KindError{name, have}
}

func (o *Options) kinds() []Kind {
	if o == nil {
		return nil
	}
	return o.Kinds
}

func (o *Options) dialects() (list []*host.Dialect) {
	for _, k := range o.kinds() {
		list = append(list, k.Dialects()...)
	}
	return list
}

// compiled is a plugin that calls can be made of: a *host.Module, which is of this project's own
// contract, or a Module.
type compiled interface {
	Manifest() abi.Manifest
	Size() int64
	Close(ctx context.Context) error
}
