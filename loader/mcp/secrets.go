package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/egress"
)

// maxKnown is how many values of one secret are looked for: the latest.
const maxKnown = 4

// secret gives the value of a secret, which is looked for in all that the server says from then on.
func (s *Source) secret(ctx context.Context, name string) (string, error) {
	if s.opts.Secret == nil {
		return "", fmt.Errorf("there is no source of secrets for %q", name)
	}
	value, err := s.opts.Secret(ctx, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret %q: %w", name, err)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", fmt.Errorf("the secret %q has more than one line", name)
	case len(value) < egress.MinSecret:
		return "", fmt.Errorf("the secret %q has fewer than %d bytes, too few to be found in what "+
			"comes back; write it as a text if it is none", name, egress.MinSecret)
	}
	key := strings.Map(nameRune, name)
	known := s.known[key]
	if slices.Contains(known, value) {
		return value, s.veil()
	}
	s.known[key] = append(slices.Clone(known[max(0, len(known)-maxKnown+1):]), value)
	if err := s.veil(); err != nil {
		s.known[key] = known // the next value may be one that can be looked for
		return "", err
	}
	return value, nil
}

// nameRune leaves what can stand in any text without being escaped.
func nameRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("_-.", r) {
		return r
	}
	return '_'
}

// veil has all known secrets taken out of what the server says.
func (s *Source) veil() error {
	words := map[string][]string{}
	for name, values := range s.known {
		for _, value := range values {
			words[name] = append(words[name], wordsOf(value)...)
		}
	}
	if query := queryWords(s.server.URL); len(query) > 0 {
		words["url"] = append(words["url"], query...) // a secret may have this name too
	}
	scrubber, err := egress.NewScrubber(words)
	if err == nil {
		s.clean.Store(scrubber)
	}
	return err
}

// wordsOf are a secret and the parts of it that a server may show by themselves: what follows the
// scheme in a header, the password in that, and the password of a URL.
func wordsOf(value string) []string {
	var parts []string
	scheme, rest, _ := strings.Cut(value, " ")
	switch strings.ToLower(scheme) {
	case "basic":
		parts = append(parts, rest)
		pair, _ := base64.StdEncoding.DecodeString(rest)
		_, password, _ := strings.Cut(string(pair), ":")
		parts = append(parts, string(pair), password)
	case "bearer", "token":
		parts = append(parts, rest)
	}
	if u, err := url.Parse(value); err == nil && u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, password)
	}
	return append([]string{value}, slices.DeleteFunc(parts, notSought)...)
}

// queryWords are the query of a URL and its values: keys are given in it.
func queryWords(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	words := []string{u.RawQuery}
	for _, values := range u.Query() {
		words = append(words, values...)
	}
	slices.Sort(words)
	return slices.DeleteFunc(words, notSought)
}

// withoutPath leaves the host of the server's URL in a text that names it whole: what follows may
// be a key, of some servers the path too.
func (s *Source) withoutPath(text string) string {
	u, err := url.Parse(s.server.URL)
	if err != nil || u.Host == "" {
		return text
	}
	return strings.ReplaceAll(text, u.String(), u.Scheme+"://"+u.Host)
}

// notSought reports whether a word cannot be looked for.
func notSought(word string) bool {
	return len(word) < egress.MinSecret || len(word) > egress.MaxSecret
}

// scrub takes secrets out of a text.
func (s *Source) scrub(text string) string { return s.clean.Load().Text(text) }

// shown makes a text of the server's fit to be shown: without secrets, which nothing unseen splits,
// cleaned, and of at most max characters.
func (s *Source) shown(text string, max int) string {
	const mostBytes = 8 // a character, with what is cleaned away beside it
	if most := mostBytes * max; len(text) > most {
		return s.shownHead(text[:most], max)
	}
	return abi.CleanText(s.scrub(abi.CleanText(text, len(text))), max)
}

// shownHead is shown for a text that was cut off.
func (s *Source) shownHead(text string, max int) string {
	text = abi.CleanText(strings.ToValidUTF8(text, ""), len(text))
	return abi.CleanText(s.clean.Load().Head(text), max)
}

// report makes a text of the server's about a failure fit to be kept. It keeps its lines, so it is
// not cleaned yet: plugins does that where it shows one.
func (s *Source) report(text string) string {
	text = s.scrub(text)
	if flat := abi.CleanText(text, len(text)); s.scrub(flat) != flat {
		text = s.scrub(flat) // what is cleaned away had split a secret
	}
	return abi.CutText(text, MaxFailureChars)
}

// scrub takes secrets out of an answer.
func (a *answer) scrub(scrub func(string) string) {
	data := func(b []byte) []byte {
		if text := string(b); scrub(text) != text {
			return []byte(scrub(text))
		}
		return b
	}
	for i := range a.Content {
		c := &a.Content[i]
		for _, text := range []*string{&c.Type, &c.Text, &c.MIME, &c.Name, &c.URI} {
			*text = scrub(*text)
		}
		c.Data = data(c.Data)
		if r := c.Resource; r != nil {
			r.URI, r.MIME, r.Blob = scrub(r.URI), scrub(r.MIME), data(r.Blob)
			if r.Text != nil {
				*r.Text = scrub(*r.Text)
			}
		}
	}
	a.Structured = scrubJSON(a.Structured, scrub)
}

// scrubJSON takes secrets out of the texts and numbers of a JSON value, however they are escaped. A
// number that is one becomes a text. All else stays byte for byte.
func scrubJSON(raw []byte, scrub func(string) string) []byte {
	var out []byte
	done := 0 // bytes of raw that are in out
	for i := 0; i < len(raw); {
		size := literalLen(raw[i:])
		if size > 0 {
			text := literalText(raw[i : i+size])
			if clean := scrub(text); clean != text {
				quoted, _ := json.Marshal(clean) // a string always has a form
				out = append(append(out, raw[done:i]...), quoted...)
				done = i + size
			}
		}
		i += cmp.Or(size, 1)
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// literalLen is the length of the text or number that valid JSON begins with; 0: with neither.
func literalLen(raw []byte) int {
	switch c := raw[0]; {
	case c == '"':
		for i := 1; i < len(raw); i++ {
			switch raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(raw)
	case c == '-' || c >= '0' && c <= '9':
		n := 1
		for n < len(raw) && bytes.IndexByte([]byte("0123456789+-.eE"), raw[n]) >= 0 {
			n++
		}
		return n
	}
	return 0
}

func literalText(literal []byte) string {
	if literal[0] != '"' {
		return string(literal)
	}
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1])
	}
	var text string
	_ = json.Unmarshal(literal, &text) // it is a part of valid JSON
	return text
}
