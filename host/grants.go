package host

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// Grants is what a plugin may reach beyond its own memory. The zero value is nothing. Whoever made
// what it holds closes it, after the modules.
type Grants struct {
	HTTP  HTTP              // carries the plugin's requests; nil: none
	KV    KV                // what the plugin can remember; nil: nothing
	Files []Mount           // directories and files, at most MaxMounts
	Env   map[string]string // the environment that the plugin sees, and nothing of the host's
}

// HTTP carries a guest's requests, each of which it must check. *egress.Client is one. Besides Do
// it may have the other methods of that: Allows, to tell at load what a plugin lacks, Secrets and
// Scrub, to keep secrets out of what the plugin says.
type HTTP interface {
	Do(ctx context.Context, req *egress.Request) (*egress.Response, error)
}

// allower knows which requests its rules can let through.
type allower interface {
	Allows(host, method string) bool
}

// keeper knows secrets by their names, and takes them out of a text.
type keeper interface {
	Secrets() []string
	Scrub(text string) string
}

// Limits of Grants.Env.
const (
	MaxEnv      = 256      // variables
	MaxEnvBytes = 64 << 10 // bytes of all names and values
)

// Missing names what a plugin needs and p does not grant, sorted: "config region", "env HOME",
// "files /data ro", "http api.example.org", "kv", "secret TOKEN"; "http" alone when any host of the
// operator's choice will do. What is optional, or has a default, is not missed.
func (p *Policy) Missing(n *abi.Needs) []string {
	var missing []string
	lacks := func(granted bool, format string, args ...any) {
		if !granted {
			missing = append(missing, fmt.Sprintf(format, args...))
		}
	}
	g := &p.Grants
	for _, h := range n.HTTP {
		what := strings.TrimSuffix("http "+h.Host, " "+abi.AnyHost)
		lacks(h.Optional || g.allows(&h), "%s", what)
	}
	if n.KV != nil {
		lacks(n.KV.Optional || g.KV != nil, "kv")
	}
	for _, f := range n.Files {
		lacks(f.Optional || g.mounts(&f), "files %s %s", f.Guest, f.Mode)
	}
	for _, v := range n.Env {
		_, granted := g.Env[v.Name]
		lacks(granted || v.Default != "", "env %s", v.Name)
	}
	for _, v := range n.Config {
		_, granted := p.Config[v.Name]
		lacks(granted || v.Default != "", "config %s", v.Name)
	}
	for _, v := range n.Secrets {
		lacks(slices.Contains(g.secrets(), v.Name), "secret %s", v.Name)
	}
	slices.Sort(missing)
	return missing
}

// allows reports whether a need can be met. An HTTP that does not say what it allows may do so.
func (g *Grants) allows(n *abi.HTTPNeed) bool {
	rules, ok := g.HTTP.(allower)
	if !ok || n.Host == abi.AnyHost {
		return g.HTTP != nil
	}
	methods := n.Methods
	if len(methods) == 0 {
		methods = []string{"GET"}
	}
	for _, method := range methods {
		if !rules.Allows(n.Host, method) {
			return false
		}
	}
	return true
}

// mounts reports whether a path that the plugin needs is, or lies in, one that it has.
func (g *Grants) mounts(n *abi.FileNeed) bool {
	want := path.Clean(n.Guest)
	return slices.ContainsFunc(g.Files, func(m Mount) bool {
		inside := want == m.Guest || strings.HasPrefix(want, strings.TrimSuffix(m.Guest, "/")+"/")
		return inside && (m.Write || m.Scratch || n.Mode == "ro")
	})
}

func (g *Grants) secrets() []string {
	if k, ok := g.HTTP.(keeper); ok {
		return k.Secrets()
	}
	return nil
}

// scrubber takes secrets out of what the plugin says; nil when it has none.
func (g *Grants) scrubber() func(string) string {
	if k, ok := g.HTTP.(keeper); ok && len(k.Secrets()) > 0 {
		return k.Scrub
	}
	return nil
}

// environment is Env as guests get it, sorted.
func (g *Grants) environment() ([]string, error) {
	if len(g.Env) > MaxEnv {
		return nil, fmt.Errorf("env: %d variables, more than %d", len(g.Env), MaxEnv)
	}
	var list []string
	size := 0
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		value := g.Env[name]
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("env: %q cannot be the name of a variable", name)
		case strings.Contains(value, "\x00"):
			return nil, fmt.Errorf("env: the value of %s has a zero byte", name)
		}
		size += len(name) + len(value)
		list = append(list, name+"="+value)
	}
	if size > MaxEnvBytes {
		return nil, fmt.Errorf("env: %s of names and values, more than %s",
			byteText(int64(size)), byteText(MaxEnvBytes))
	}
	return list, nil
}

// missing is Missing for a module, which may import what its manifest keeps to itself. A function
// that the manifest calls optional answers "denied".
func (p *Policy) missing(f *rewrite.Facts, n *abi.Needs) []string {
	missing := p.Missing(n)
	if len(n.HTTP) == 0 && p.Grants.HTTP == nil && imports(f, "http") {
		missing = append(missing, "http")
	}
	if n.KV == nil && p.Grants.KV == nil && imports(f, "kv") {
		missing = append(missing, "kv")
	}
	slices.Sort(missing)
	return missing
}

// imports reports whether a host function is imported.
func imports(f *rewrite.Facts, name string) bool {
	return slices.ContainsFunc(f.Imports, func(im rewrite.Import) bool {
		return im.Module == abi.ImportModule && im.Name == name
	})
}
