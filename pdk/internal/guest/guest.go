// Package guest is a plugin as it runs: the tools it registered and how a call of one is served.
// The files that end in _wasip1 tie it to a real host; off Wasm, pdktest plays the host.
package guest

import (
	"strconv"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

// Host is what a running call may ask of whoever runs it.
type Host interface {
	Log(level abi.Level, text string)
	Progress(p abi.Progress)
	Cancelled() bool
	Config(key string) abi.Raw // nil or nil's msgpack form when there is no value
	Monotonic() int64          // nanoseconds from some instant
}

// Tool is a registered tool, its Go types out of sight.
type Tool struct {
	Spec abi.ToolSpec
	Zero func() abi.Raw // a zero input
	// Call carries out one call. A dry one takes the zero result in place of the handler's.
	Call func(h Host, q *abi.Request, dry bool) abi.Reply
}

// Plugin is what a program registered.
type Plugin struct {
	Name, Version string
	Needs         abi.Needs

	tools       []Tool
	schemaBytes int
}

// Self is the plugin that this program is.
var Self Plugin

// Add registers a tool. It panics if its author made a mistake.
func (p *Plugin) Add(t Tool) {
	name := t.Spec.Name
	bytes := p.schemaBytes + len(t.Spec.InputSchema) + len(t.Spec.OutputSchema)
	switch {
	case !validName(name):
		panic("pdk: the tool name " + strconv.Quote(name) +
			" must be a lower-case letter and at most 63 more, digits or underscores")
	case utf8.RuneCountInString(t.Spec.Description) > abi.MaxTextChars:
		panic("pdk: the description of " + name + " has more than " + strconv.Itoa(abi.MaxTextChars) +
			" characters; hosts cut it there")
	case p.find(name) != nil:
		panic("pdk: the tool " + strconv.Quote(name) + " is registered twice")
	case len(p.tools) == abi.MaxTools:
		panic("pdk: " + name + " is one more than the " + strconv.Itoa(abi.MaxTools) +
			" tools a plugin may have")
	case bytes > abi.MaxSchemaBytes:
		panic("pdk: with " + name + " the plugin's schemas take " + strconv.Itoa(bytes) +
			" bytes of the " + strconv.Itoa(abi.MaxSchemaBytes) + " there are")
	}
	p.schemaBytes = bytes
	p.tools = append(p.tools, t)
}

// validName reports whether a tool may have this name.
func validName(s string) bool {
	if s == "" || len(s) > abi.MaxToolNameBytes || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

func (p *Plugin) find(name string) *Tool {
	for i := range p.tools {
		if p.tools[i].Spec.Name == name {
			return &p.tools[i]
		}
	}
	return nil
}

// Manifest gives the plugin's description. It panics if there is nothing to describe.
func (p *Plugin) Manifest() abi.Manifest {
	switch {
	case p.Name == "":
		panic("pdk: no name: call pdk.Plugin in an init function")
	case len(p.tools) == 0:
		panic("pdk: no tools: call pdk.Register in an init function; main is not run")
	}
	m := abi.Manifest{Name: p.Name, Version: p.Version, ABI: abi.Version, Needs: p.Needs}
	for i := range p.tools {
		m.Tools = append(m.Tools, p.tools[i].Spec)
	}
	return m
}

// Warm goes the way of a call with every tool, save for the handlers.
func (p *Plugin) Warm(h Host) {
	for i := range p.tools {
		p.warm(h, &p.tools[i])
	}
}

// warm does not let a panic out: an author's MarshalText may not be made for zero values, which
// need never come up in a call.
func (p *Plugin) warm(h Host, t *Tool) {
	defer func() { _ = recover() }()
	q := abi.Request{Tool: t.Spec.Name, CallID: "warm-up", Attempt: 1, DeadlineMS: 1, Input: t.Zero()}
	p.serve(h, abi.AppendRequest(nil, &q), nil, true)
}

// Serve carries out one coded request and appends the reply to dst. It panics on a request that is
// not one: no reply could be right.
func (p *Plugin) Serve(h Host, request, dst []byte) []byte {
	return p.serve(h, request, dst, false)
}

func (p *Plugin) serve(h Host, request, dst []byte, dry bool) []byte {
	q, err := abi.ParseRequest(request)
	if err != nil {
		panic("pdk: the host's request cannot be read: " + err.Error())
	}
	t := p.find(q.Tool)
	if t == nil {
		return abi.AppendReply(dst, &abi.Reply{Outcome: abi.OutcomeFailed, Failure: &abi.Failure{
			Code: "unknown_tool", Message: "there is no tool " + strconv.Quote(q.Tool), Permanent: true}})
	}
	reply := t.Call(h, &q, dry)
	return abi.AppendReply(dst, &reply)
}
