package extism

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// Limits of a list of tools.
const (
	MaxListBytes  = 1 << 20             // bytes of its JSON
	manifestSpare = 16 << 10            // bytes of a manifest besides its tools
	toolSpare     = 64                  // bytes of a tool in a manifest besides its texts
	noSchema      = `{"type":"object"}` // of a tool that has none: it takes anything
)

// describe asks the plugin for its tools, in a run that has nothing of what its policy grants and no
// settings either: what it tells depends on its bytes alone.
func (m *hyperModule) describe(ctx context.Context, e *host.Engine, wasm []byte, p *loader.Plugin,
	policy host.Policy) error {
	bare := host.Policy{Dialect: policy.Dialect, Limits: policy.Limits, Isolation: policy.Isolation}
	bare.Limits.Time = cmp.Or(policy.Limits.Load, host.DefaultLoad)
	guest, err := e.Compile(ctx, wasm, bare)
	if err != nil {
		return err
	}
	answer, _, err := m.runnable(guest).run(ctx, m.version.list, m.version.listInput(), nil)
	if err = errors.Join(err, guest.Close(ctx)); err != nil {
		return notListed(ctx, err)
	}
	if len(answer) > MaxListBytes {
		return &host.LoadError{Stage: "describe", Err: fmt.Errorf(
			"%s gave %d bytes, more than %d", m.version.list, len(answer), MaxListBytes)}
	}
	if err := m.take(p.Name, answer); err != nil {
		return &host.LoadError{Stage: "manifest", Err: fmt.Errorf("%s: %w", m.version.list, err)}
	}
	return nil
}

// notListed is a run that gave no list. Where that is the plugin's doing, it is of loading.
func notListed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, host.ErrClosed) {
		return err
	}
	if limit, ok := errors.AsType[*host.LimitError](err); ok {
		switch limit.Limit {
		case "total":
			return err // others had a part in it
		case "time":
			limit.Limit = "load"
		}
	}
	if f, ok := errors.AsType[*abi.Failure](err); ok {
		err = fmt.Errorf("it failed: %q", abi.CleanText(f.Message, abi.MaxTextChars))
	}
	return &host.LoadError{Stage: "describe", Err: err}
}

// take makes a manifest of a list.
func (m *hyperModule) take(name string, answer []byte) error {
	var d document
	root, err := d.parse(answer)
	if err != nil {
		return err
	}
	list, ok := root.items("tools")
	if _, single := root.text("name"); !ok && single { // as the oldest servlets do
		list = []json.RawMessage{answer}
	} else if !ok {
		d.fail("tools", "is missing")
	}
	if d.err != nil {
		return d.err
	}
	o := offer{room: abi.MaxManifestBytes - manifestSpare, schemas: abi.MaxSchemaBytes}
	o.read(list)
	m.unfit, m.tools = o.unfit, o.calls
	if len(o.specs) == 0 && len(o.unfit) > 0 {
		first := o.unfit[0]
		return fmt.Errorf("none of its tools can be offered: %q: %s", first.Tool, first.Detail)
	}
	// The limits and the cleaning are those that a manifest of this project's own has.
	raw := abi.AppendManifest(nil, &abi.Manifest{Name: name, ABI: abi.Version, Tools: o.specs,
		Needs: m.said.needs()})
	m.manifest, err = abihost.ParseManifest(raw)
	return err
}

// offer is what becomes of a plugin's tools.
type offer struct {
	room, schemas int // bytes that are left
	specs         []abi.ToolSpec
	calls         map[string]hyperTool
	unfit         []loader.Unfit
}

func (o *offer) withhold(name, format string, args ...any) {
	o.unfit = append(o.unfit, loader.Unfit{Tool: clean(name),
		Detail: abi.CleanText(fmt.Sprintf(format, args...), abi.MaxTextChars)})
}

// read takes the tools that can be offered. One that cannot does not hide another.
func (o *offer) read(list []json.RawMessage) {
	o.calls = map[string]hyperTool{}
	claims := map[string][]string{} // by offered name: what the plugin calls them
	var good []abi.ToolSpec
	for i, raw := range list {
		var d document
		entry := d.object(at("tools", i), raw)
		if i == abi.MaxTools {
			o.withhold(entry.word("name"), "it is one of %d tools, and only the first %d are offered",
				len(list), abi.MaxTools)
			break
		}
		spec, original := readTool(entry)
		switch {
		case d.err != nil:
			o.withhold(original, "%v", d.err)
		case spec.Name == "":
			o.withhold(original, "no tool of a registry can have its name: want letters, digits and "+
				"any of _-./: and space, a letter first, at most %d", abi.MaxToolNameBytes)
		default:
			claims[spec.Name] = append(claims[spec.Name], original)
			good = append(good, spec)
		}
	}
	for _, spec := range good {
		switch originals := claims[spec.Name]; {
		case len(originals) > 1:
			o.withhold(originals[0], "%d of its tools come to the name %s", len(originals), spec.Name)
			claims[spec.Name] = append(originals[1:], originals[0])
		case o.fits(&spec, originals[0]):
			o.specs = append(o.specs, spec)
			o.calls[spec.Name] = hyperTool{originals[0], spec.OutputSchema != ""}
		}
	}
}

// fits tells whether a tool has room in the manifest.
func (o *offer) fits(spec *abi.ToolSpec, original string) bool {
	schemas := len(spec.InputSchema) + len(spec.OutputSchema)
	size := schemas + len(spec.Name) + len(spec.Description) + toolSpare
	switch {
	case schemas > o.schemas:
		o.withhold(original, "the schemas of its tools have more than %d bytes together",
			abi.MaxSchemaBytes)
		return false
	case size > o.room:
		o.withhold(original, "its tools have more than %d bytes together", abi.MaxManifestBytes)
		return false
	}
	o.schemas -= schemas
	o.room -= size
	return true
}

// readTool reads a tool as the plugin has it. The spec has no name where none can be made.
func readTool(o object) (spec abi.ToolSpec, original string) {
	original, ok := o.text("name")
	if !ok {
		o.d.fail(o.path("name"), "is missing")
	}
	hints, _ := o.object("annotations")
	title := cmp.Or(o.word("title"), hints.word("title"))
	spec = abi.ToolSpec{
		Name:         offeredName(original),
		Description:  abi.CleanText(cmp.Or(o.word("description"), title), abi.MaxTextChars),
		InputSchema:  cmp.Or(compact(o.raw("inputSchema")), noSchema),
		OutputSchema: compact(o.raw("outputSchema")),
		Effect:       abi.EffectWrite,
	}
	switch {
	case hints.flag("readOnlyHint"):
		spec.Effect = abi.EffectRead
	case hints.flag("idempotentHint"):
		spec.Effect = abi.EffectIdempotent
	}
	return spec, original
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it is JSON, or nothing
	return b.String()
}

// offeredName makes of a plugin's name for a tool one that a registry takes: small letters, digits
// and underscores, the words of getUser apart. "": a part of the name would be lost.
func offeredName(original string) string {
	var b strings.Builder
	var before rune
	for _, r := range original {
		switch {
		case r >= 'A' && r <= 'Z':
			if before >= 'a' && before <= 'z' || before >= '0' && before <= '9' {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case strings.ContainsRune("-./: ", r):
			b.WriteByte('_')
		default:
			return ""
		}
		before = r
	}
	name := b.String()
	if name == "" || name[0] < 'a' || name[0] > 'z' || len(name) > abi.MaxToolNameBytes {
		return ""
	}
	return name
}
