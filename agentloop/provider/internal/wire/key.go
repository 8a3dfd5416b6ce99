package wire

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// minSecret is from how many bytes on the value of a header counts as a secret: shorter ones are
// flags and numbers.
const minSecret = 8

var (
	// secretName is what a header, or a parameter of a base URL, is called that is as good as a key.
	secretName = regexp.MustCompile(`(?i)key|token|secret|sig|auth|pass|code|cookie`)

	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = regexp.MustCompile("^[^\x00-\x08\x0a-\x1f\x7f]*$")
)

// key finds the key to send; "" is none.
func (c *Client) key() (string, error) {
	key, from := c.opts.APIKey, "Options.APIKey"
	if key == "" {
		variable := c.opts.KeyVariable
		if variable == "" && c.opts.BaseURL == "" {
			variable = c.api.KeyVariable
		}
		if variable == "" {
			return "", nil
		}
		key, from = os.Getenv(variable), variable
		if strings.TrimSpace(key) == "" {
			return "", &provider.MissingAPIKeyError{Variable: variable}
		}
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: the key in %s has characters that no key has: is it whole?",
			c.api.Name, from)
	}
	return key, nil
}

// setBase takes the base URL, if it is one that a key, where there is one, may be sent to.
func (c *Client) setBase(keyed bool) error {
	text := c.opts.BaseURL
	if text == "" {
		text = c.api.BaseURL
	}
	base, err := url.Parse(text)
	var shown string // without what may be secret
	if err == nil {
		shown = (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}).String()
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: the base URL cannot be read; it looks like %s", c.api.Name,
			c.api.BaseURL)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return fmt.Errorf("%s: the base URL %q is not like %s", c.api.Name, shown,
			c.api.BaseURL)
	case base.User != nil:
		return fmt.Errorf("%s: the base URL %q has a user name; use a key or a header", c.api.Name,
			shown)
	case base.Fragment != "":
		return fmt.Errorf("%s: the base URL %q has a fragment", c.api.Name, shown)
	case base.Scheme == "http" && !c.opts.PlainHTTP && !loopback(base.Hostname()) &&
		(keyed || namesSecret(c.opts.Headers) || namesSecret(base.Query())):
		return fmt.Errorf("%s: a key is not sent to %s over plain HTTP, where anybody between can "+
			"read it; use https, or say so with Options.PlainHTTP", c.api.Name, base.Host)
	}
	c.base = base
	return nil
}

// namesSecret tells whether one of the names is that of something which is as good as a key.
func namesSecret[V any](named map[string]V) bool {
	for name := range named {
		if secretName.MatchString(name) {
			return true
		}
	}
	return false
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// setHeader makes the header of all requests, and notes what in it is secret.
func (c *Client) setHeader(key string) {
	c.header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"wasmagent"}}
	maps.Copy(c.header, c.api.Header)
	var secrets []string
	if key != "" {
		c.api.Authorize(c.header, key)
		secrets = append(secrets, key)
	}
	for name, value := range c.opts.Headers {
		c.header.Set(name, value)
		for _, word := range append(strings.Fields(value), value) { // such as "Bearer KEY"
			if len(word) >= minSecret {
				secrets = append(secrets, word)
			}
		}
	}
	for name, values := range c.base.Query() {
		for _, value := range values {
			if secretName.MatchString(name) && len(value) >= minSecret {
				secrets = append(secrets, value, url.QueryEscape(value))
			}
		}
	}
	// The longest first: a replacer takes the first that fits.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		c.secret = max(c.secret, len(secret))
		pairs = append(pairs, secret, "[key]")
	}
	c.hide = strings.NewReplacer(pairs...)
}
