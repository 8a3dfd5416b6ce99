package loader

import (
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// Policies is the operator's word about plugins. It may be asked by several goroutines at once.
type Policies interface {
	// Decide tells what a plugin may do. It is asked twice: when only the plugin's name and place
	// are known, and Digest is empty, about its limits; and when its manifest is known, about all.
	// An error keeps the plugin from being used; a *NotAllowedError is told as it is.
	Decide(p *Plugin) (Decision, error)
}

// Decision is what one plugin may do. The zero value is safe: default limits, nothing granted.
type Decision struct {
	Host host.Policy
	// Digest stands for what the first Decide of a plugin says. What was learned of a plugin under
	// another one is not used.
	Digest string

	Exclude      []string                // tools that are not offered, by their own names
	Prefix       bool                    // tools are called PLUGIN_TOOL
	TrustEffects bool                    // the manifest's word for a tool's effect counts
	Rules        map[string]plugins.Rule // by the tools' own names

	// Of a plugin that is not of this project's own contract: its Kind, where the file does not tell
	// or the operator wants another, which of a kind's engines it runs in, and its Functions where it
	// does not describe them.
	Kind      string
	Engine    string
	Functions []Function
}

// noPolicies grants nothing to anybody.
type noPolicies struct{ limits host.Limits }

func (n noPolicies) Decide(*Plugin) (Decision, error) {
	return Decision{Host: host.Policy{Limits: n.limits}}, nil
}

// decide asks the operator's word. The limits of the options count where that has none.
func (p *plugin) decide() error {
	d, err := p.opts.policies().Decide(&p.Plugin)
	if err != nil {
		return err
	}
	p.decision = d
	p.Prefix = ""
	if d.Prefix {
		p.Prefix = prefixOf(p.Name)
	}
	return nil
}

// prefixOf makes the beginning of a tool's name of a plugin's.
func prefixOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(name)) + "_"
}

// effect is what repeating a call of a tool may do. The operator's word counts first; then what is
// proved, since a guest that is linked to nothing it could change only reads.
func (d *Decision) effect(spec abi.ToolSpec) abi.Effect {
	if rule := d.Rules[spec.Name]; rule.Effect != nil {
		return *rule.Effect
	}
	if onlyReads(&d.Host.Grants) {
		return abi.EffectRead
	}
	if d.TrustEffects {
		return spec.Effect
	}
	return abi.EffectWrite
}

// onlyReads tells whether a guest with these grants can change nothing that outlives the call.
func onlyReads(g *host.Grants) bool {
	return g.HTTP == nil && g.KV == nil &&
		!slices.ContainsFunc(g.Files, func(m host.Mount) bool { return m.Write && !m.Scratch })
}
