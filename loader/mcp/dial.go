package mcp

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// minSecret is how many bytes a secret must have to be looked for in texts: shorter ones are in
// every other word.
const minSecret = 4

// values resolves texts and secrets to pairs, sorted by name, and has secrets taken out of what is
// logged and told of errors from now on.
func (s *Source) values(ctx context.Context, of map[string]Value) ([][2]string, error) {
	var pairs [][2]string
	var hide []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		v := of[name]
		text := v.Text
		if v.Secret != "" {
			var err error
			if text, err = s.secret(ctx, v.Secret); err != nil {
				return nil, err
			}
			if len(text) >= minSecret {
				hide = append(hide, text, "•••")
			}
		}
		pairs = append(pairs, [2]string{name, text})
	}
	if _, query, ok := strings.Cut(s.server.URL, "?"); ok && len(query) >= minSecret {
		hide = append(hide, query, "•••")
	}
	s.clean.Store(strings.NewReplacer(hide...))
	return pairs, nil
}

func (s *Source) secret(ctx context.Context, name string) (string, error) {
	if s.opts.Secret == nil {
		return "", fmt.Errorf("there is no source of secrets for %q", name)
	}
	text, err := s.opts.Secret(ctx, name)
	if err == nil && strings.ContainsAny(text, "\r\n\x00") {
		return "", fmt.Errorf("the secret %q has more than one line", name)
	}
	if err != nil {
		return "", fmt.Errorf("the secret %q: %w", name, err)
	}
	return text, nil
}

func (s *Source) sieve() *sieve {
	return newSieve(s.server.Limits.Output+envelope, func(text string) { s.say(text, "dropped") })
}

// dialCommand starts the command.
func (s *Source) dialCommand(ctx context.Context) (*link, error) {
	pairs, err := s.values(ctx, s.server.Env)
	if err != nil {
		return nil, err
	}
	env := make([]string, len(pairs))
	for i, p := range pairs {
		env[i] = p[0] + "=" + p[1]
	}
	proc, err := startProcess(&s.server, env, s.log, s.scrub)
	if err != nil {
		return nil, err
	}
	return proc.link(s.sieve()), nil
}

// dialURL reaches the URL, by a transport that is shared by all starts.
func (s *Source) dialURL() func(context.Context) (*link, error) {
	base := s.opts.HTTP
	if base == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		base, s.free = own, own.CloseIdleConnections
	}
	of := maps.Clone(s.server.Headers)
	if s.server.Bearer != "" {
		if of == nil {
			of = map[string]Value{}
		}
		of["Authorization"] = Value{Secret: s.server.Bearer}
	}
	return func(ctx context.Context) (*link, error) {
		pairs, err := s.values(ctx, of)
		if err != nil {
			return nil, err
		}
		headers := http.Header{}
		for _, p := range pairs {
			if p[0] == "Authorization" && s.server.Bearer != "" {
				p[1] = "Bearer " + p[1]
			}
			headers.Set(p[0], p[1])
		}
		return dialHTTP(s.server.URL, base, headers, s.sieve()), nil
	}
}

// scrub takes secrets out of a text.
func (s *Source) scrub(text string) string { return s.clean.Load().Replace(text) }
