package loader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/abi/transcode"
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

// Describer is a Kind that knows what a file offers without compiling it. The same errors as of
// Compile are told, as far as bytes tell them, and the manifest is that of the Module.
type Describer interface {
	Describe(e *host.Engine, wasm []byte, p *Plugin, d *Decision) (abi.Manifest, error)
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

// Withholder is a Module that also knows tools which its Manifest cannot have.
type Withholder interface {
	// Withheld lists them, with clean texts. It depends on what Manifest depends on.
	Withheld() []Unfit
}

// Unfit is a tool that its plugin lists and that cannot be offered, and why. No registry has it.
type Unfit struct{ Tool, Detail string }

// withheld lists what a plugin's manifest cannot have.
func withheld(m compiled) []Unfit {
	if w, ok := m.(Withholder); ok {
		return w.Withheld()
	}
	return nil
}

// Function is a tool that the operator makes of a function which a plugin exports and does not
// describe.
type Function struct {
	Tool   abi.ToolSpec // with the operator's name, description and schemas
	Export string       // "": as the tool's name
	Text   bool         // the function takes the one string among the arguments, not JSON

	// Of a command: its arguments, each as ParseArgument reads it, and the property that it reads from
	// stdin. Without Stdin that is all of the input, as Text says. Nil Args are none.
	Args  []string
	Stdin string
}

// Explainer is a Kind that tells what a file has to have to be of it, for whoever wonders why one is
// of none: a few words after "it".
type Explainer interface{ Wants() string }

// Adoptable is a Kind whose files do not describe their tools, so that an operator's policy does.
type Adoptable interface {
	// Functions lists the exports that can be tools: "" alone stands for a command.
	Functions(f *host.Facts) []string
}

// KindError is a policy that calls a plugin of a kind that nobody here knows.
type KindError struct {
	Kind string
	Have []string
}

func (e *KindError) Error() string {
	return fmt.Sprintf("its policy calls it a plugin of the kind %q; want one of %q", e.Kind, e.Have)
}

// UndeclaredError is a policy that makes tools of functions, or chooses an engine, for a plugin of
// this project's own contract, which describes its tools itself.
type UndeclaredError struct{ Key string } // functions or engine

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("its policy has %s, and a plugin that describes its tools itself has no use "+
		"for that: remove it from the section", e.Key)
}

// checkOwn refuses what a policy says in vain of a plugin of this project's own contract.
func (d *Decision) checkOwn() error {
	switch {
	case len(d.Functions) > 0:
		return &UndeclaredError{"functions"}
	case d.Engine != "":
		return &UndeclaredError{"engine"}
	}
	return nil
}

// OutputOf makes a result of what a guest of another contract gives in bytes: JSON stays as it is, any
// other text becomes a string. What is no text has no JSON form.
func OutputOf(b []byte) (plugins.Output, error) {
	switch {
	case len(b) == 0:
		return plugins.Output{Value: json.RawMessage(`""`)}, nil
	case !utf8.Valid(b):
		return plugins.Output{}, &plugins.ToolError{Kind: plugins.ErrOutputSerialization,
			Err: &transcode.NoJSONError{Path: "$", Detail: "the output is not UTF-8"}}
	}
	if packed, err := transcode.AppendMsgpack(nil, b); err == nil { // else no JSON, by our limits
		value, err := transcode.AppendJSON(nil, packed)
		return plugins.Output{Value: value}, err
	}
	text, err := transcode.AppendJSON(nil, abi.AppendString(nil, string(b)))
	return plugins.Output{Value: text}, err
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
		return nil, "", p.checkBundle(nil)
	default:
		if kind, err = p.kindNamed(p.decision.Kind); err == nil {
			err = p.checkBundle(kind)
		}
		return kind, "its policy says so", err
	}
	if len(p.opts.kinds()) == 0 {
		return nil, "", nil
	}
	b := p.opts.bundler(p.Path)
	if b != nil {
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
		if b != nil && !reads(k, b) {
			continue
		}
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

// hasKind tells whether there is a kind of a name, "" being this project's own contract.
func (p *plugin) hasKind(name string) bool {
	_, err := p.kindNamed(name)
	return name == "" || err == nil
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
