package host

import (
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// Missing names what a plugin needs and p does not grant, sorted: "config region", "env HOME",
// "files /data ro", "http api.example.org", "kv", "secret TOKEN". What is optional, or has a
// default, is not missed. A Policy grants config and nothing else.
func (p *Policy) Missing(n *abi.Needs) []string {
	var missing []string
	for _, h := range n.HTTP {
		if !h.Optional {
			missing = append(missing, "http "+h.Host)
		}
	}
	if n.KV != nil && !n.KV.Optional {
		missing = append(missing, "kv")
	}
	for _, f := range n.Files {
		if !f.Optional {
			missing = append(missing, "files "+f.Guest+" "+f.Mode)
		}
	}
	for _, v := range n.Env {
		if v.Default == "" {
			missing = append(missing, "env "+v.Name)
		}
	}
	for _, v := range n.Config {
		if _, granted := p.Config[v.Name]; !granted && v.Default == "" {
			missing = append(missing, "config "+v.Name)
		}
	}
	for _, v := range n.Secrets {
		missing = append(missing, "secret "+v.Name)
	}
	slices.Sort(missing)
	return missing
}

// missing is Missing for a module, which may import what its manifest keeps to itself. A function
// that the manifest calls optional answers "denied".
func (p *Policy) missing(f *rewrite.Facts, n *abi.Needs) []string {
	missing := p.Missing(n)
	if len(n.HTTP) == 0 && imports(f, "http") {
		missing = append(missing, "http")
	}
	if n.KV == nil && imports(f, "kv") {
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
