package wasicmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// Name is what a policy calls the kind.
const Name = "command"

// start is the function that runs a command.
const start = "_start"

// New makes the kind "command", for loader.Options.Kinds.
func New() loader.Kind {
	return &kind{&host.Dialect{Name: Name, Check: refuse}}
}

type kind struct{ dialect *host.Dialect }

func (k *kind) Name() string              { return Name }
func (k *kind) Dialects() []*host.Dialect { return []*host.Dialect{k.dialect} }

// Recognize implements loader.Kind.
func (k *kind) Recognize(f *host.Facts) string {
	for _, im := range f.Imports {
		if !strings.HasPrefix(im.Module, "wasi_") {
			return "" // whoever it is written for, a command cannot have that
		}
	}
	if len(check(f)) > 0 {
		return ""
	}
	return "it exports " + start
}

// Wants implements loader.Explainer.
func (k *kind) Wants() string {
	return "exports " + start + ", and imports only from wasi_snapshot_preview1 or wasi_unstable"
}

// Functions implements loader.Adoptable: a command is one tool.
func (k *kind) Functions(*host.Facts) []string { return []string{""} }

// refuse is check, and says once what many imports of one sort come to.
func refuse(f *host.Facts) []string {
	problems := check(f)
	if slices.ContainsFunc(f.Imports, func(im host.Import) bool {
		return strings.HasPrefix(im.Module, "wasi_") && strings.HasPrefix(im.Name, "sock_") &&
			!slices.Contains(standardSockets, im.Name)
	}) {
		problems = append(problems, "commands have no sockets")
	}
	return problems
}

// standardSockets can be imported, and tell a command that there are no sockets.
var standardSockets = []string{"sock_accept", "sock_recv", "sock_send", "sock_shutdown"}

// check finds what keeps a module from being a command.
func check(f *host.Facts) []string {
	for _, e := range f.Exports {
		if e.Name == start && e.Kind == "func" && e.Type == "() -> ()" {
			return nil
		}
	}
	return []string{"a command exports the function " + start + ", which takes and gives nothing"}
}

// Describe implements loader.Describer: the tools are the policy's, whatever the program does.
func (k *kind) Describe(e *host.Engine, wasm []byte, p *loader.Plugin, d *loader.Decision) (
	abi.Manifest, error) {
	m, policy, err := k.prepare(p, d)
	if err == nil {
		err = e.Check(wasm, policy)
	}
	return m.manifest, err
}

// Compile implements loader.Kind.
func (k *kind) Compile(ctx context.Context, e *host.Engine, wasm []byte, p *loader.Plugin,
	d *loader.Decision) (loader.Module, error) {
	m, policy, err := k.prepare(p, d)
	if err != nil {
		return nil, err
	}
	if m.guest, err = e.Compile(ctx, wasm, policy); err != nil {
		return nil, err
	}
	return m, nil
}

var errEngine = errors.New("its policy has engine, and a command has no choice of engines: remove it " +
	"from the section")

// prepare makes what can be made of the policy alone.
func (k *kind) prepare(p *loader.Plugin, d *loader.Decision) (*module, host.Policy, error) {
	m := &module{name: p.Name, tools: map[string]*tool{}}
	m.manifest = abi.Manifest{Name: p.Name, ABI: abi.Version}
	policy := d.Host
	policy.Dialect = k.dialect
	if d.Engine != "" {
		return m, policy, errEngine
	}
	err := m.declare(d.Functions)
	if err == nil { // what the policy says is held against the same limits as any plugin's word
		m.manifest, err = abihost.ParseManifest(abi.AppendManifest(nil, &m.manifest))
	}
	return m, policy, err
}

// declare makes the tools that the policy declares, or the one of the file's name.
func (m *module) declare(declared []loader.Function) error {
	if len(declared) == 0 {
		declared = []loader.Function{{Tool: abi.ToolSpec{
			Name: ToolName(m.name), Description: fmt.Sprintf("Run the command %s.", m.name),
		}}}
	}
	for i := range declared {
		fn := declared[i]
		if fn.Export != "" && fn.Export != start {
			return fmt.Errorf("tool %q: a command has no functions but %s: leave export out",
				fn.Tool.Name, start)
		}
		t, err := newTool(&fn)
		if err != nil {
			return fmt.Errorf("tool %q: %w", fn.Tool.Name, err)
		}
		m.tools[fn.Tool.Name] = t
		m.manifest.Tools = append(m.manifest.Tools, fn.Tool)
	}
	return nil
}

// newTool says how a tool's input reaches the command, and gives it a schema if the policy has
// none.
func newTool(fn *loader.Function) (*tool, error) {
	t := &tool{stdin: fn.Stdin, text: fn.Text}
	var names []string // of properties, in the order of their first mention
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, arg := range fn.Args {
		parts, err := loader.ParseArgument(arg)
		if err != nil {
			return nil, fmt.Errorf("args[%d]: %w", i, err)
		}
		t.args = append(t.args, parts)
		for _, p := range parts {
			add(p.Property)
		}
	}
	add(fn.Stdin)
	if fn.Text && fn.Stdin == "" && len(names) > 1 {
		return nil, fmt.Errorf(`takes = "text" is of one string, and its args name %d properties: `+
			"say with stdin which one it reads", len(names))
	}
	switch {
	case fn.Tool.InputSchema != "":
	case fn.Text && len(names) == 0:
		fn.Tool.InputSchema = schemaOf([]string{"input"})
	case fn.Args == nil && len(names) == 0:
		t.free, fn.Tool.InputSchema = true, freeSchema
	default:
		fn.Tool.InputSchema = schemaOf(names)
	}
	return t, nil
}

// freeSchema is the input schema of a command that the policy says nothing of.
const freeSchema = `{"type":"object","additionalProperties":false,"properties":{` +
	`"args":{"type":"array","items":{"type":"string"},"description":"arguments, without the ` +
	`program's name"},` +
	`"stdin":{"description":"what it reads: a text as it is, anything else as JSON"}}}`

// schemaOf is the schema of an object that has strings of these names, and nothing else.
func schemaOf(names []string) string {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]string{"type": "string"}
	}
	b, _ := json.Marshal(map[string]any{ // names always have a form
		"type": "object", "additionalProperties": false, "properties": properties,
		"required": append([]string{}, names...),
	})
	return string(b)
}

// maxToolName is how many characters the name of a tool has at most.
const maxToolName = 64

// ToolName makes a tool's name of a file's, or of a function's.
func ToolName(of string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, of)
	if name == "" || name[0] < 'a' {
		name = "run_" + strings.TrimLeft(name, "_")
	}
	return name[:min(len(name), maxToolName)]
}
