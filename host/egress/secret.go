package egress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Secret is a credential that the client puts into requests. The guest neither has it nor says
// where it goes.
type Secret struct {
	Name string // how errors and scrubbed texts call it: letters, digits, _, - and .
	From Source // where its value comes from; asked when it is needed, and kept for SecretLifetime
	// Hosts are the only ones that get it: a name, an address, or *. and a name; with a port behind
	// a colon when that is not the scheme's own.
	Hosts []string
	// As says how it is sent: "bearer"; "basic" for a value of the form user:password; "basic USER"
	// for a password; "header NAME"; or "query NAME".
	As string
}

// Limits of secrets.
const (
	MinSecret      = 8               // bytes; replacing shorter ones would shred texts
	MaxSecret      = 8 << 10         // bytes
	SecretLifetime = 5 * time.Minute // after which the value is asked for again
	maxKnown       = 4               // values of one secret that are scrubbed, the latest
	maxSecretName  = 64              // bytes
)

// secret is a checked Secret and its value while it is fresh.
type secret struct {
	name  string
	from  Source
	hosts []secretHost
	place string // bearer, basic, header or query
	param string // the canonical header, or the parameter
	user  string // of basic, when the value has none

	turn  chan struct{} // held by whoever uses the fields below
	value string
	until time.Time
}

// secretHost is one entry of Secret.Hosts; port is 0 for the scheme's own.
type secretHost struct {
	text    string
	pattern hostPattern
	port    uint16
}

func compileSecrets(sources []Secret) ([]*secret, []error) {
	if len(sources) > MaxSecrets {
		detail := fmt.Sprintf("has more than %d secrets", MaxSecrets)
		return nil, []error{&ConfigError{"secrets", "", detail}}
	}
	var secrets []*secret
	var errs []error
	for i, source := range sources {
		c := &checker{at: fmt.Sprintf("secrets[%d].", i)}
		s := compileSecret(source, c)
		for _, other := range secrets {
			if s.name == other.name {
				c.add("name", s.name, "is there twice")
			}
			if s.collides(other) {
				c.add("as", source.As, "goes where secret %s goes, for the same hosts", other.name)
			}
		}
		secrets = append(secrets, s)
		errs = append(errs, c.errs...)
	}
	return secrets, errs
}

func compileSecret(source Secret, c *checker) *secret {
	s := &secret{name: source.Name, from: source.From, turn: make(chan struct{}, 1)}
	if !validSecretName(s.name) {
		c.add("name", s.name, "is not 1 to %d letters, digits, _, - and .", maxSecretName)
	}
	if s.from == nil {
		c.add("from", "", "is missing")
	}
	if len(source.Hosts) == 0 {
		c.add("hosts", "", "is empty: the secret would go nowhere")
	}
	for i, text := range source.Hosts {
		h, err := parseSecretHost(text)
		if err != nil {
			c.add(fmt.Sprintf("hosts[%d]", i), text, "%v", err)
		}
		s.hosts = append(s.hosts, h)
	}
	s.compilePlace(source.As, c)
	return s
}

func validSecretName(name string) bool {
	other := func(r rune) bool {
		return r >= 0x80 || !isAlnum(byte(r)) && !strings.ContainsRune("_-.", r)
	}
	return name != "" && len(name) <= maxSecretName && !strings.ContainsFunc(name, other)
}

func parseSecretHost(text string) (secretHost, error) {
	h := secretHost{text: text}
	host := text
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host = text[:i]
		if h.port = parsePort(text[i+1:]); h.port == 0 {
			return h, fmt.Errorf("has a port that is no number from 1 to 65535")
		}
	}
	var err error
	h.pattern, err = parseHostPattern(host)
	return h, err
}

func (s *secret) compilePlace(as string, c *checker) {
	var arg string
	s.place, arg, _ = strings.Cut(as, " ")
	switch s.place {
	case "bearer":
		s.param = "Authorization"
		if arg != "" {
			c.add("as", as, "has something behind bearer")
		}
	case "basic":
		s.param, s.user = "Authorization", arg
		if strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
			c.add("as", as, "has a user with a colon, a space or more than ASCII")
		}
	case "header":
		s.param = http.CanonicalHeaderKey(arg)
		if why := refusedHeader(s.param); why != "" {
			c.add("as", as, "cannot be: %s", why)
		}
	case "query":
		if s.param = arg; !validSecretName(arg) {
			c.add("as", as, "has a parameter that is not letters, digits, _, - and .")
		}
	default:
		c.add("as", as, `is none of "bearer", "basic", "basic USER", "header NAME", "query NAME"`)
	}
}

// collides reports whether two secrets want the same place at some host.
func (s *secret) collides(other *secret) bool {
	if (s.place == "query") != (other.place == "query") || s.param != other.param {
		return false
	}
	return slices.ContainsFunc(s.hosts, func(a secretHost) bool {
		return slices.ContainsFunc(other.hosts, func(b secretHost) bool {
			return a.port == b.port && (a.pattern.covers(b.pattern) || b.pattern.covers(a.pattern))
		})
	})
}

// isFor reports whether s goes to t's host and port.
func (s *secret) isFor(t *target) bool {
	return slices.ContainsFunc(s.hosts, func(h secretHost) bool {
		port := h.port
		if port == 0 {
			port = defaultPort(t.scheme)
		}
		return port == t.port && h.pattern.matches(t.host)
	})
}
