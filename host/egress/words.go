package egress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Scrubber takes secrets out of texts, in all forms that a Client finds them in, for whoever hands
// secrets to something else than a Client. It does not change; a nil one takes nothing out.
type Scrubber struct{ scrubber *scrubber }

// NewScrubber makes a scrubber for values by their names, which stand in their places and are of
// letters, digits, _, - and dots. A value of fewer than MinSecret or more than MaxSecret bytes, or
// one that a name has in it, is an error, which does not show it.
func NewScrubber(secrets map[string][]string) (*Scrubber, error) {
	var words []word
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for _, value := range secrets[name] {
			if err := checkWord(value, secrets); err != nil {
				return nil, fmt.Errorf("the secret %q: %w", name, err)
			}
			words = append(words, word{value, name})
		}
	}
	return &Scrubber{newScrubber(words)}, nil
}

func checkWord(value string, secrets map[string][]string) error {
	if len(value) < MinSecret {
		return fmt.Errorf("it is shorter than %d bytes", MinSecret)
	}
	if len(value) > MaxSecret {
		return fmt.Errorf("it is longer than %d bytes", MaxSecret)
	}
	for name := range secrets {
		if strings.Contains(marker(name), value) {
			return fmt.Errorf("it is its own name, or a part of what replaces it")
		}
	}
	return nil
}

// Text gives the text without the secrets.
func (s *Scrubber) Text(text string) string {
	if s == nil {
		return text
	}
	return s.scrubber.text(text)
}

// Head is Text for the beginning of a longer text: what could be the beginning of a secret at its
// end is left out.
func (s *Scrubber) Head(text string) string {
	if s == nil || s.scrubber == nil {
		return text
	}
	st := stream{s: s.scrubber}
	st.write([]byte(text))
	return string(st.finish(false))
}
