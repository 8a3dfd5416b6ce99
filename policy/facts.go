package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// newApproval is what an operator approves of who allows a plugin as it is now.
func newApproval(pl *loader.Plugin, s *section, mounts []host.Mount) *approval {
	real := make([]string, len(mounts)) // a link that leads elsewhere is another grant
	for i, m := range mounts {
		real[i] = m.Host
	}
	return &approval{
		Directory: pl.Dir, Plugin: pl.Name, File: pl.Digest, Kind: pl.Kind,
		Policy: digest([]any{s.raw, real}),
		Needs:  needsText(&pl.Manifest.Needs, false), Grants: s.grantsText(mounts),
	}
}

// maxReason is how many bytes of a reason are shown.
const maxReason = 300

// needsText says what a plugin asks for, one line each, in the plugin's own words, and why if that is
// wanted: it is not approved, since it changes nothing.
func needsText(n *abi.Needs, reasons bool) []string {
	list := []string{}
	add := func(optional bool, reason string, words ...string) {
		text := strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
		if optional {
			text += " (optional)"
		}
		if reasons && reason != "" {
			if len(reason) > maxReason {
				reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
			}
			text += ": " + reason
		}
		list = append(list, text)
	}
	for _, h := range n.HTTP {
		add(h.Optional, h.Reason, "http", strings.Join(h.Methods, ","), h.Host)
	}
	if n.KV != nil {
		add(n.KV.Optional, "", "kv")
	}
	for _, f := range n.Files {
		add(f.Optional, "", "files", f.Guest, f.Mode)
	}
	for _, v := range n.Env {
		add(v.Default != "", v.Description, "env", v.Name)
	}
	for _, v := range n.Config {
		add(v.Default != "", v.Description, "config", v.Name)
	}
	for _, v := range n.Secrets {
		add(false, v.Description, "secret", v.Name)
	}
	return list
}

// grantsText says what a section grants, one line each. No value of a variable, a setting or a
// secret is in it.
func (s *section) grantsText(mounts []host.Mount) []string {
	list := []string{}
	for _, r := range s.rules() {
		list = append(list, "http "+r.String())
	}
	if s.KV {
		list = append(list, "kv: what it keeps from call to call")
	}
	for _, m := range mounts {
		switch {
		case m.Scratch:
			list = append(list, fmt.Sprintf("files %s: empty at every call", m.Guest))
		case m.Write:
			list = append(list, fmt.Sprintf("files %s: reads and writes %s", m.Guest, m.Host))
		default:
			list = append(list, fmt.Sprintf("files %s: reads %s", m.Guest, m.Host))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		list = append(list, "env "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		list = append(list, "config "+name)
	}
	for _, sec := range s.Secrets {
		list = append(list, fmt.Sprintf("secret %s from %s, sent as %s to %s", sec.Name, sec.From,
			sec.As, strings.Join(sec.Hosts, ", ")))
	}
	return list
}
