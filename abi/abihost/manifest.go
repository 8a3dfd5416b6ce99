package abihost

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
)

// ParseManifest reads a manifest and holds it against the limits of the contract: MaxManifestBytes,
// MaxTools, MaxSchemaBytes, version 1, tool names by their pattern and each but once. Names,
// versions, descriptions and reasons come out cleaned and cut at MaxTextChars, and so do titles and
// descriptions inside schemas, which else are not looked into; hosts, paths and names of values
// that could be taken for more than that are refused. Unknown keys are ignored.
//
// It returns a *transcode.SyntaxError for bytes that are not msgpack and a *FieldError for the
// rest.
func ParseManifest(b []byte) (abi.Manifest, error) {
	if len(b) > abi.MaxManifestBytes {
		return abi.Manifest{}, &FieldError{"", fmt.Sprintf("the manifest has %d bytes, more than %d",
			len(b), abi.MaxManifestBytes)}
	}
	root, err := decode(b)
	if err != nil {
		return abi.Manifest{}, err
	}
	d := &decoder{}
	m := d.manifest(root)
	if d.err != nil {
		return abi.Manifest{}, d.err
	}
	return m, nil
}

func (d *decoder) manifest(root any) abi.Manifest {
	f := d.object("", root)
	var m abi.Manifest
	// The version comes first: of another one nothing else can be understood.
	m.ABI = int(f.integer("abi", math.MaxInt32))
	if m.ABI != abi.Version {
		f.fail("abi", "the plugin speaks version %d of the contract, this host version %d",
			m.ABI, abi.Version)
	}
	m.Name = f.text("name", required)
	m.Version = f.text("version", required)
	m.Tools = list(f, "tools", required, abi.MaxTools, (*decoder).tool)
	d.checkTools(m.Tools)
	if len(m.Tools) == 0 {
		f.fail("tools", "the plugin offers no tool")
	}
	if needs, ok := f.value("needs", optional); ok {
		m.Needs = d.needs(needs)
	}
	return m
}

func (d *decoder) tool(f object) abi.ToolSpec {
	t := abi.ToolSpec{
		Name:         f.string("name", required),
		Description:  f.text("description", required),
		InputSchema:  f.string("input", required),
		OutputSchema: f.string("output", optional),
	}
	if !isToolName(t.Name) {
		f.fail("name", "%s is not a tool's name: it must match ^[a-z][a-z0-9_]{0,%d}$",
			quote(t.Name), abi.MaxToolNameBytes-1)
	}
	t.InputSchema, t.OutputSchema = cleanSchema(t.InputSchema), cleanSchema(t.OutputSchema)
	word := f.string("effect", optional)
	var ok bool
	if t.Effect, ok = abi.ParseEffect(word); !ok {
		f.fail("effect", "%s is none of write, read and idempotent", quote(word))
	}
	return t
}

func isToolName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= abi.MaxToolNameBytes
}

// checkTools holds all tools together against each other and the limit of their schemas.
func (d *decoder) checkTools(tools []abi.ToolSpec) {
	index := make(map[string]int, len(tools))
	schemas := 0
	for i, t := range tools {
		path := "tools[" + strconv.Itoa(i) + "]"
		if first, taken := index[t.Name]; taken {
			d.fail(path+".name", "tools[%d] has the name %q already", first, t.Name)
		}
		index[t.Name] = i
		schemas += len(t.InputSchema) + len(t.OutputSchema)
		if schemas > abi.MaxSchemaBytes {
			d.fail(path, "the schemas of all tools have more than %d bytes", abi.MaxSchemaBytes)
		}
	}
}

// maxNeeds bounds each list of needs, which a person reads before granting.
const maxNeeds = 256

func (d *decoder) needs(v any) abi.Needs {
	f := d.object("needs", v)
	n := abi.Needs{
		HTTP:    list(f, "http", optional, maxNeeds, (*decoder).httpNeed),
		Files:   list(f, "files", optional, maxNeeds, (*decoder).fileNeed),
		Env:     list(f, "env", optional, maxNeeds, (*decoder).valueNeed),
		Config:  list(f, "config", optional, maxNeeds, (*decoder).valueNeed),
		Secrets: list(f, "secrets", optional, maxNeeds, (*decoder).valueNeed),
	}
	if kv, ok := f.value("kv", optional); ok {
		n.KV = &abi.KVNeed{Optional: d.object("needs.kv", kv).bool("optional")}
	}
	return n
}

// What a need may be made of. An operator is told what to type to grant it: nothing in it may read
// as more than the name that it is.
var (
	needHost   = regexp.MustCompile(`^[\pL\pN.*:\[\]_-]+$`)
	needMethod = regexp.MustCompile(`^[A-Za-z-]+$`)
	needGuest  = regexp.MustCompile(`^/[^:]*$`)
	needName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
)

func (d *decoder) httpNeed(f object) abi.HTTPNeed {
	n := abi.HTTPNeed{
		Host:     f.name("host", needHost),
		Methods:  f.words("methods", maxNeeds),
		Reason:   f.text("reason", optional),
		Optional: f.bool("optional"),
	}
	for i, method := range n.Methods {
		if !needMethod.MatchString(method) {
			f.fail(fmt.Sprintf("methods[%d]", i), "%s is no method", quote(method))
		}
	}
	return n
}

func (d *decoder) fileNeed(f object) abi.FileNeed {
	n := abi.FileNeed{
		Guest:    f.name("guest", needGuest),
		Mode:     f.string("mode", required),
		Optional: f.bool("optional"),
	}
	if n.Mode != "ro" && n.Mode != "rw" {
		f.fail("mode", "%s is neither ro nor rw", quote(n.Mode))
	}
	return n
}

func (d *decoder) valueNeed(f object) abi.ValueNeed {
	return abi.ValueNeed{
		Name:        f.name("name", needName),
		Default:     f.word("default", optional),
		Description: f.text("description", optional),
	}
}

// name is a word that a person may be told to type.
func (f object) name(key string, pattern *regexp.Regexp) string {
	s := f.word(key, required)
	if s != "" && !pattern.MatchString(s) {
		f.fail(key, "%s must match %s", quote(s), pattern)
	}
	return s
}
