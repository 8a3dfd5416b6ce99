package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// maxServers is how many MCP servers a file may have: each is a process or a connection.
const maxServers = 32

// Server is an MCP server whose tools the file has offered. It is NOT sandboxed: see package mcp.
type Server struct {
	mcp.Server
	At string // FILE:LINE of its section

	secrets map[string]egress.Source // by their places in the section
}

// Open starts or reaches the server. What it gives has to be closed before the policy.
func (s *Server) Open(ctx context.Context, logger *slog.Logger) (*mcp.Source, error) {
	return mcp.Open(ctx, s.Server, &mcp.Options{Logger: logger,
		Secret: func(ctx context.Context, name string) (string, error) { return s.secrets[name](ctx) }})
}

// Servers lists the servers of the file by their names. None is started.
func (p *Policy) Servers() []*Server {
	var all []*Server
	for _, name := range slices.Sorted(maps.Keys(p.doc.Servers)) {
		s := p.doc.Servers[name].server
		s.At = fmt.Sprintf("%s:%d", p.file, p.decoder.lines.Of(tomlfile.Join("servers", name)))
		all = append(all, s)
	}
	return all
}

// serverSection is what a file says of one MCP server.
type serverSection struct {
	Command string                 `toml:"command"`
	Args    []string               `toml:"args"`
	Env     map[string]serverValue `toml:"env"`
	Dir     string                 `toml:"dir"`
	URL     string                 `toml:"url"`
	Headers map[string]serverValue `toml:"headers"`
	Bearer  string                 `toml:"bearer"`
	Prefix  string                 `toml:"prefix"`
	Bare    bool                   `toml:"bare"`
	Include []string               `toml:"include"`
	Limits  serverLimits           `toml:"limits"`
	Tools   map[string]*toolRule   `toml:"tools"`

	server *Server
}

// serverLimits are as the file has them, until their table reads them.
type serverLimits struct {
	Time   any `toml:"time"`
	Start  any `toml:"start"`
	Output any `toml:"output"`
	Calls  any `toml:"calls"`
	Tools  any `toml:"tools"`
}

// limitsOfServers are all there are, in the order of the fields of serverLimits.
var limitsOfServers = []limit{
	{"time", inTime, int64(time.Millisecond), maxTime, int64(mcp.DefaultTime),
		func(b *bounds, n int64) { b.server.Time = time.Duration(n) }},
	{"start", inTime, int64(time.Millisecond), maxTime, int64(mcp.DefaultStart),
		func(b *bounds, n int64) { b.server.Start = time.Duration(n) }},
	{"output", inBytes, 1, mcp.MaxOutput, mcp.DefaultOutput,
		func(b *bounds, n int64) { b.server.Output = int(n) }},
	{"calls", inCount, 1, 1024, mcp.DefaultCalls,
		func(b *bounds, n int64) { b.server.Calls = int(n) }},
	{"tools", inCount, 1, abi.MaxTools, mcp.DefaultTools,
		func(b *bounds, n int64) { b.server.Tools = int(n) }},
}

// serverValue is a text, or a table that says where a secret comes from.
type serverValue struct{ text, from string }

func (v *serverValue) decode(d *decoder, at string, raw any) {
	if _, ok := raw.(string); ok {
		d.value(at, raw, reflect.ValueOf(&v.text).Elem())
		return
	}
	var table struct {
		From string `toml:"from"`
	}
	before := len(d.problems)
	d.value(at, raw, reflect.ValueOf(&table).Elem())
	if v.from = table.From; v.from == "" && len(d.problems) == before {
		d.add(at, `want a text, or { from = "env:NAME" }`)
	}
}

// checkServers complains of what cannot be a server, and makes the others.
func (doc *document) checkServers(d *decoder) {
	if len(doc.Servers) > maxServers {
		d.add("servers", "more than %d servers", maxServers)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Servers)) {
		doc.Servers[name].check(d, name)
	}
}

func (s *serverSection) check(d *decoder, name string) {
	at := tomlfile.Join("servers", name)
	s.server = &Server{secrets: map[string]egress.Source{}, Server: mcp.Server{
		Name: name, Command: s.Command, Args: s.Args, Dir: s.Dir, URL: s.URL,
		Prefix: s.Prefix, Bare: s.Bare, Tools: s.Include,
		Limits: s.Limits.bounds(d, at+".limits"),
		Rules:  rulesOf(s.Tools),
	}}
	s.server.Env = s.values(d, at, "env", s.Env)
	s.server.Headers = s.values(d, at, "headers", s.Headers)
	if s.Bearer != "" {
		s.server.Bearer = s.secret(d, at, "bearer", s.Bearer)
	}
	checkRules(d, at, s.Tools)
	if e, ok := errors.AsType[*mcp.ConfigError](s.server.Check()); ok {
		place := tomlfile.Join(at, e.Field)
		if e.Field == "name" {
			place = at
		}
		d.add(place, "%s", e.Detail)
	}
}

// bounds reads the limits by their table.
func (l *serverLimits) bounds(d *decoder, at string) mcp.Limits {
	var b bounds
	fields := reflect.ValueOf(l).Elem()
	for i := range limitsOfServers {
		known, raw := &limitsOfServers[i], fields.Field(i).Interface()
		if raw == nil {
			continue
		}
		n, ok := known.parse(raw)
		if !ok {
			d.add(tomlfile.Join(at, known.name), "want %s, have %s", known.wants(), show(raw))
			continue
		}
		known.set(&b, n)
	}
	return b.server
}

// values are texts and secrets by their names.
func (s *serverSection) values(d *decoder, at, field string,
	all map[string]serverValue) map[string]mcp.Value {
	if all == nil {
		return nil
	}
	values := map[string]mcp.Value{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		if v.from == "" {
			values[name] = mcp.Value{Text: v.text}
			continue
		}
		values[name] = mcp.Value{Secret: s.secret(d, at, tomlfile.Join(field, name), v.from)}
	}
	return values
}

// secret takes in where a secret comes from. Its name, which errors tell, is its place.
func (s *serverSection) secret(d *decoder, at, place, from string) string {
	source, err := egress.ParseSource(from)
	if err != nil {
		d.add(at+"."+place, "%v", err)
		return place
	}
	s.server.secrets[place] = source
	return place
}

// Place tells where the server is: its command, or its URL without what may be secret in it.
func (s *Server) Place() string {
	if s.Command != "" {
		return strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	url, _, _ := strings.Cut(s.URL, "?")
	return url
}

// rulesOf makes the registry's rules of what a section says of tools.
func rulesOf(tools map[string]*toolRule) map[string]plugins.Rule {
	rules := map[string]plugins.Rule{}
	for name, r := range tools {
		rule := plugins.Rule{Key: r.Key, RetryTimeouts: r.RetryTimeouts}
		if effect, ok := abi.ParseEffect(r.Effect); ok {
			rule.Effect = &effect
		}
		rules[name] = rule
	}
	return rules
}

// checkRules complains of rules that cannot be.
func checkRules(d *decoder, section string, tools map[string]*toolRule) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		at, rule := tomlfile.Join(section+".tools", name), tools[name]
		if _, ok := abi.ParseEffect(rule.Effect); rule.Effect != "" && !ok {
			d.add(at+".effect", "want read, idempotent or write, have %s", show(rule.Effect))
		}
		if rule.Key != "" {
			if err := plugins.CheckKey(rule.Key); err != nil {
				d.add(at+".key", "%v", err)
			}
		}
	}
}
