package egress

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Warning is something that a rule or a secret does, or does not do, and that its writer may not
// have meant.
type Warning struct {
	Field string // as in rules[2].host
	Text  string
}

func (w Warning) String() string { return w.Field + ": " + w.Text }

// Lint says what the rules and secrets of opts do not do, and what they do beyond their look.
// Fields that New refuses are skipped.
func Lint(opts *Options) []Warning {
	if opts == nil {
		return nil
	}
	l := &linter{}
	var valid []*rule
	for i, source := range opts.Rules {
		l.at = fmt.Sprintf("rules[%d].", i)
		c := &checker{}
		r := compileRule(source, c)
		if len(c.errs) > 0 {
			continue
		}
		l.rule(r, opts.Rules)
		valid = append(valid, r)
	}
	for i, source := range opts.Secrets {
		l.at = fmt.Sprintf("secrets[%d].", i)
		c := &checker{}
		if s := compileSecret(source, c); len(c.errs) == 0 {
			l.secret(s, valid)
		}
	}
	return l.warnings
}

type linter struct {
	at       string
	warnings []Warning
}

func (l *linter) warn(field, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{l.at + field, fmt.Sprintf(format, args...)})
}

func (l *linter) rule(r *rule, all []Rule) {
	l.host(r, all)
	if r.scheme == "http" {
		l.warn("scheme", "without TLS anybody on the way can read and change requests and answers")
	}
	if r.source.SecretsOverHTTP {
		l.warn("secrets_over_http", "anybody on the way can read the secrets")
	}
	switch {
	case r.source.Path == "/":
		l.warn("path", "/ is every path, as is leaving it out")
	case r.path != "/" && strings.HasSuffix(r.path, "/"):
		l.warn("path", "%s does not match %s itself", r.path, strings.TrimSuffix(r.path, "/"))
	}
	for i, m := range r.source.Methods {
		if slices.Contains(r.source.Methods[:i], m) {
			l.warn(fmt.Sprintf("methods[%d]", i), "%s is there twice", m)
		}
	}
	for i := range r.source.Addresses {
		l.address(fmt.Sprintf("addresses[%d]", i), r.addresses[i])
	}
}

func (l *linter) host(r *rule, all []Rule) {
	name := r.host.host
	if addr, err := netip.ParseAddr(name); err == nil {
		if class := classOf(addr); class != "" {
			l.warn("host", "%s is %s, and this rule grants it", name, class)
		}
		return
	}
	if !r.host.wildcard {
		if !strings.Contains(name, ".") {
			l.warn("host", "%s has no dot: what it means depends on the machine's search list", name)
		}
		return
	}
	apex := func(other Rule) bool {
		p, err := parseHostPattern(other.Host)
		return err == nil && p.matches(name)
	}
	if !slices.ContainsFunc(all, apex) {
		l.warn("host", "*.%s does not match %s itself", name, name)
	}
	if !strings.Contains(name, ".") {
		l.warn("host", "*.%s is every name below a top-level domain: anybody can own one", name)
	}
}

func (l *linter) address(field string, p netip.Prefix) {
	if !p.IsSingleIP() {
		for _, s := range special {
			if s.class == metadata && p.Contains(s.prefix.Addr()) {
				l.warn(field, "%v does not grant %v, a metadata service: that must be written by itself",
					p, s.prefix.Addr())
			}
		}
	}
	switch class := classOf(p.Addr()); {
	case class == metadata:
		l.warn(field, "%v gives credentials of this machine to whoever asks", p.Addr())
	case class == "" && p.IsSingleIP():
		l.warn(field, "%v is public: it needs no grant, and the rule is not limited to it", p.Addr())
	}
}

func (l *linter) secret(s *secret, rules []*rule) {
	for i, h := range s.hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		if h.pattern.wildcard {
			l.warn(field, "every host below %s gets the secret", h.pattern.host)
		}
		var elsewhere *rule
		reached := slices.ContainsFunc(rules, func(r *rule) bool {
			if !r.host.covers(h.pattern) && !h.pattern.covers(r.host) {
				return false
			}
			elsewhere = r
			return r.port == cmp.Or(h.port, defaultPort(r.scheme))
		})
		switch {
		case reached:
		case elsewhere != nil:
			l.warn(field, "no rule allows %s at that port, so the secret is not used there; "+
				"for port %d write it behind a colon", h.text, elsewhere.port)
		default:
			l.warn(field, "no rule allows %s, so the secret is not used there", h.text)
		}
	}
	if s.place == "query" {
		l.warn("as", "URLs are written into servers' logs; a header is not")
	}
}
