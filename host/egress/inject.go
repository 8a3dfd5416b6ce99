package egress

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// get gives a value that is fresh and checked. learn is told of each new one before it is used.
func (s *secret) get(ctx context.Context, learn func(*secret, string) error) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if time.Now().Before(s.until) {
		return s.value, nil
	}
	value, err := s.from(ctx)
	if err == nil {
		err = s.check(value)
	}
	if err == nil {
		err = learn(s, value)
	}
	if err != nil {
		return "", err
	}
	s.value, s.until = value, time.Now().Add(SecretLifetime)
	return value, nil
}

// check refuses values that cannot be sent, or could not be scrubbed. Its texts have nothing of the
// value.
func (s *secret) check(value string) error {
	switch {
	case len(value) < MinSecret:
		return fmt.Errorf("it is shorter than %d bytes", MinSecret)
	case len(value) > MaxSecret:
		return fmt.Errorf("it is longer than %d bytes", MaxSecret)
	case !httpguts.ValidHeaderFieldValue(value) || strings.ContainsAny(value, "\t\r\n"):
		return fmt.Errorf("it has control characters")
	case strings.TrimSpace(value) != value:
		return fmt.Errorf("it begins or ends with a space")
	}
	if s.place != "basic" || s.user != "" {
		return nil
	}
	_, password, ok := strings.Cut(value, ":")
	if !ok {
		return fmt.Errorf("it is not of the form user:password")
	}
	if len(password) < MinSecret {
		return fmt.Errorf("its password is shorter than %d bytes", MinSecret)
	}
	return nil
}

// words are the parts of a value that must not be seen.
func (s *secret) words(value string) []string {
	if s.place == "basic" && s.user == "" {
		_, password, _ := strings.Cut(value, ":")
		return []string{value, password}
	}
	return []string{value}
}

// inject puts the value into a request that is about to be sent.
func (s *secret) inject(value string, header http.Header, u *url.URL) {
	switch s.place {
	case "bearer":
		header.Set(s.param, "Bearer "+value)
	case "basic":
		if s.user != "" {
			value = s.user + ":" + value
		}
		header.Set(s.param, "Basic "+base64.StdEncoding.EncodeToString([]byte(value)))
	case "header":
		header.Set(s.param, value)
	case "query":
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(s.param) + "=" + url.QueryEscape(value)
		u.ForceQuery = false
	}
}

// known is what scrub looks for because of one secret.
type known struct {
	secret *secret
	values []string // the latest last
}

// learn makes scrub look for a value from now on.
func (c *Client) learn(s *secret, value string) error {
	for _, other := range c.secrets {
		if strings.Contains(marker(other.name), value) {
			return fmt.Errorf("it is its own name, or a part of what replaces it")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.known, func(k known) bool { return k.secret == s })
	if i < 0 {
		i, c.known = len(c.known), append(c.known, known{secret: s})
	}
	k := &c.known[i]
	if slices.Contains(k.values, value) {
		return nil
	}
	k.values = append(k.values, value)
	if len(k.values) > maxKnown {
		k.values = slices.Clone(k.values[1:])
	}
	var words []word
	for _, k := range c.known {
		for _, v := range k.values {
			for _, w := range k.secret.words(v) {
				words = append(words, word{w, k.secret.name})
			}
		}
	}
	c.scrub.Store(newScrubber(words))
	return nil
}

// parameters calls f for each parameter of a query, however it is separated, with its decoded name.
func parameters(query string, f func(name, text string)) {
	separates := func(r rune) bool { return r == '&' || r == ';' }
	for text := range strings.FieldsFuncSeq(query, separates) {
		name, _, _ := strings.Cut(text, "=")
		f(percentDecode(strings.ReplaceAll(name, "+", " ")), text)
	}
}

// hasParameter reports whether a query sets a parameter that some server could take for name.
func hasParameter(query, name string) bool {
	found := false
	parameters(query, func(n, _ string) {
		base, _, _ := strings.Cut(n, "[")
		found = found || strings.EqualFold(strings.TrimSpace(base), name)
	})
	return found
}

// withoutParameter drops name from a query. Nothing else of it changes unless it was there.
func withoutParameter(query, name string) string {
	if !hasParameter(query, name) {
		return query
	}
	var kept []string
	parameters(query, func(n, text string) {
		if !strings.EqualFold(n, name) {
			kept = append(kept, text)
		}
	})
	return strings.Join(kept, "&")
}
