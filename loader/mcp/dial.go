package mcp

import (
	"context"
	"maps"
	"net/http"
	"slices"
)

// values resolves texts and secrets to pairs, sorted by name.
func (s *Source) values(ctx context.Context, of map[string]Value) ([][2]string, error) {
	if err := s.veil(); err != nil { // what may be secret in the URL
		return nil, err
	}
	var pairs [][2]string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		v := of[name]
		text := v.Text
		if v.Secret != "" {
			var err error
			if text, err = s.secret(ctx, v.Secret); err != nil {
				return nil, err
			}
		}
		pairs = append(pairs, [2]string{name, text})
	}
	return pairs, nil
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
	proc, err := startProcess(s, env)
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
