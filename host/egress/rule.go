package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule lets requests through. A zero field is the narrowest choice, so that {Host: "example.org"}
// is: GET and HEAD, over https at its own port, any path, at public addresses. Rules add up: what
// one of them allows in all its parts is allowed.
type Rule struct {
	// Host is a name, an address, or *. and a name: all names below that one, at any depth, but not
	// that name itself. An address names itself, and needs no Addresses.
	Host    string
	Scheme  string   // https, the default, or http
	Port    int      // the scheme's own by default
	Path    string   // what paths begin with, up to a slash; "" is all of them
	Methods []string // GET and HEAD by default; never CONNECT or TRACE
	// Addresses are addresses and ranges that are not public, which the host may be found at: such
	// as 127.0.0.1 or 10.1.0.0/16. A metadata service's address must be written by itself.
	Addresses []string
	// SecretsOverHTTP lets secrets go over http, where whoever is on the way can read them.
	SecretsOverHTTP bool
}

// String writes r as an inline table of a policy file.
func (r Rule) String() string {
	var parts []string
	add := func(name, value string) { parts = append(parts, name+" = "+value) }
	addText := func(name, value string) {
		if value != "" {
			add(name, strconv.QuoteToASCII(value))
		}
	}
	addList := func(name string, values []string) {
		if len(values) > 0 {
			quoted := make([]string, len(values))
			for i, v := range values {
				quoted[i] = strconv.QuoteToASCII(v)
			}
			add(name, "["+strings.Join(quoted, ", ")+"]")
		}
	}
	addText("host", r.Host)
	addText("scheme", r.Scheme)
	if r.Port != 0 {
		add("port", strconv.Itoa(r.Port))
	}
	addText("path", r.Path)
	addList("methods", r.Methods)
	addList("addresses", r.Addresses)
	if r.SecretsOverHTTP {
		add("secrets_over_http", "true")
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

var (
	defaultMethods = []string{http.MethodGet, http.MethodHead}
	refusedMethods = []string{http.MethodConnect, http.MethodTrace}
)

// rule is a Rule in canonical form, with the connections that were made under it.
type rule struct {
	source    Rule
	host      hostPattern
	scheme    string
	port      uint16
	path      string
	methods   []string
	addresses []netip.Prefix
	transport *http.Transport
}

func compileRules(sources []Rule) ([]*rule, []error) {
	if len(sources) > MaxRules {
		detail := fmt.Sprintf("has more than %d rules", MaxRules)
		return nil, []error{&ConfigError{"rules", "", detail}}
	}
	rules := make([]*rule, len(sources))
	var errs []error
	for i, source := range sources {
		c := &checker{at: fmt.Sprintf("rules[%d].", i)}
		rules[i] = compileRule(source, c)
		errs = append(errs, c.errs...)
	}
	return rules, errs
}

// checker collects what is wrong with the fields of one rule or secret.
type checker struct {
	at   string
	errs []error
}

func (c *checker) add(field, value, format string, args ...any) {
	c.errs = append(c.errs, &ConfigError{c.at + field, value, fmt.Sprintf(format, args...)})
}

func compileRule(source Rule, c *checker) *rule {
	r := &rule{source: source, path: "/", methods: defaultMethods}
	var err error
	if r.host, err = parseHostPattern(source.Host); err != nil {
		c.add("host", source.Host, "%v", err)
	}
	switch r.scheme = strings.ToLower(source.Scheme); r.scheme {
	case "":
		r.scheme = "https"
	case "http", "https":
	default:
		c.add("scheme", source.Scheme, "is neither http nor https")
	}
	if source.Port < 0 || source.Port > 65535 {
		c.add("port", strconv.Itoa(source.Port), "is no number from 1 to 65535")
	}
	if r.port = uint16(source.Port); r.port == 0 {
		r.port = defaultPort(r.scheme)
	}
	if source.SecretsOverHTTP && r.scheme != "http" {
		c.add("secrets_over_http", "true", "needs scheme = \"http\"")
	}
	r.compilePath(c)
	r.compileMethods(c)
	r.compileAddresses(c)
	return r
}

func (r *rule) compilePath(c *checker) {
	text := r.source.Path
	if text == "" {
		return
	}
	path, odd, err := canonicalPath(text)
	switch {
	case text[0] != '/':
		c.add("path", text, "does not begin with a slash")
	case strings.ContainsAny(text, "?#\\*"):
		c.add("path", text, "has one of ?#\\*, which paths of rules do not have")
	case err != nil:
		c.add("path", text, "cannot be: %v", err)
	case odd:
		c.add("path", text, "has an encoded slash, or is not UTF-8")
	case slices.ContainsFunc(strings.Split(text, "/"), isDots):
		c.add("path", text, "has dot segments; write %s", path)
	default:
		r.path = path
	}
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

func (r *rule) compileMethods(c *checker) {
	if len(r.source.Methods) == 0 {
		return
	}
	r.methods = slices.Clone(r.source.Methods)
	for i, m := range r.methods {
		if err := checkMethod(m); err != nil {
			c.add(fmt.Sprintf("methods[%d]", i), m, "%v", err)
		}
	}
}

// maxMethod is the most bytes of a method.
const maxMethod = 32

func checkMethod(m string) error {
	switch {
	case m == "" || len(m) > maxMethod || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return errors.New("is no method in capital letters")
	case slices.Contains(refusedMethods, m):
		return errors.New("is a method that cannot be allowed")
	}
	return nil
}

func (r *rule) compileAddresses(c *checker) {
	for i, text := range r.source.Addresses {
		prefix, err := parseAddresses(text)
		if err != nil {
			c.add(fmt.Sprintf("addresses[%d]", i), text, "%v", err)
			continue
		}
		r.addresses = append(r.addresses, prefix)
	}
	addr, err := netip.ParseAddr(r.host.host)
	if err != nil {
		return
	}
	if class := classOf(addr); never(class) {
		c.add("host", r.source.Host, "is %s, which no host has", class)
	}
	r.addresses = append(r.addresses, netip.PrefixFrom(addr, addr.BitLen()))
}

// parts is the order in which a rule looks at a request. The later the part that fails, the nearer
// the rule.
var parts = []string{"host", "scheme", "port", "path", "method"}

// failing gives the index of the first part of a request that r does not allow, len(parts) when it
// allows all.
func (r *rule) failing(t *target, method string) int {
	for i, ok := range []bool{
		r.host.matches(t.host),
		r.scheme == t.scheme,
		r.port == t.port,
		r.allowsPath(t),
		slices.Contains(r.methods, method),
	} {
		if !ok {
			return i
		}
	}
	return len(parts)
}

func (r *rule) allowsPath(t *target) bool {
	if r.path == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(t.path, r.path)
	return ok && !t.odd && (rest == "" || rest[0] == '/' || strings.HasSuffix(r.path, "/"))
}

// judge gives the rules that allow a request, or says which part of it the nearest rule does not.
func judge(rules []*rule, t *target, method string) ([]*rule, *denial) {
	var allowing []*rule
	nearest, part := (*rule)(nil), 0
	for _, r := range rules {
		i := r.failing(t, method)
		if i == len(parts) {
			allowing = append(allowing, r)
		} else if i > part {
			nearest, part = r, i
		}
	}
	if len(allowing) > 0 {
		return allowing, nil
	}
	return nil, newDenial(nearest, parts[part], t, method)
}

// denial is a request that no rule allows.
type denial struct{ part, detail, fix string }

// newDenial explains why, and gives the smallest change of the nearest rule, or the new one, that
// would allow it.
func newDenial(nearest *rule, part string, t *target, method string) *denial {
	if nearest == nil {
		return newHostDenial(t, method)
	}
	fix, detail := nearest.source, ""
	switch part {
	case "scheme":
		detail = fmt.Sprintf("no rule for %s allows %s", t.host, t.scheme)
	case "port":
		detail = fmt.Sprintf("no rule for %s allows port %d", t.host, t.port)
	case "path":
		detail = fmt.Sprintf("no rule for %s allows the path", t.authority())
		fix.Path = t.path
		if t.odd {
			detail += ", which has an encoded slash or is not UTF-8: only a rule without a path can"
			fix.Path = ""
		}
	case "method":
		detail = fmt.Sprintf("no rule for %s allows the method %s", t.authority(), method)
	}
	fix.reach(t, method)
	return &denial{part, detail, fix.String()}
}

func newHostDenial(t *target, method string) *denial {
	d := &denial{"host", "no rule allows the host " + t.host, ""}
	class := ""
	if addr, err := netip.ParseAddr(t.host); err == nil {
		class = classOf(addr)
	}
	if class != "" {
		d.detail += ", " + class
	}
	if suggestible(class) {
		fix := Rule{Host: t.bracketed()}
		fix.reach(t, method)
		d.fix = fix.String()
	}
	return d
}

// reach widens r to a target's scheme and port and to a method.
func (r *Rule) reach(t *target, method string) {
	r.Scheme, r.Port = "", 0
	if t.scheme != "https" {
		r.Scheme = t.scheme
	}
	r.SecretsOverHTTP = r.SecretsOverHTTP && t.scheme == "http"
	if t.port != defaultPort(t.scheme) {
		r.Port = int(t.port)
	}
	methods := r.Methods
	if len(methods) == 0 {
		methods = defaultMethods
	}
	if !slices.Contains(methods, method) {
		r.Methods = append(slices.Clone(r.Methods), method)
	}
}
