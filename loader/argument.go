package loader

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ArgumentPart is a piece of a command's argument: a text, or the value of a property of the input.
type ArgumentPart struct{ Text, Property string }

var (
	property = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_-]{0,63})\}`)

	errBrace = errors.New("a brace that belongs to no {property}: {{ and }} are braces themselves")
)

// ParseArgument reads an argument as an operator writes it: {NAME} is the value of a property, {{ and
// }} are braces. An empty one has no parts.
func ParseArgument(text string) (parts []ArgumentPart, err error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("an argument cannot have a zero byte")
	}
	plain := ""
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			plain += text
			break
		}
		plain, text = plain+text[:i], text[i:]
		if strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "}}") {
			plain, text = plain+text[:1], text[2:]
			continue
		}
		found := property.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("at %q: %w", firstWord(text), errBrace)
		}
		if plain != "" {
			parts, plain = append(parts, ArgumentPart{Text: plain}), ""
		}
		parts, text = append(parts, ArgumentPart{Property: found[1]}), text[len(found[0]):]
	}
	if plain != "" {
		parts = append(parts, ArgumentPart{Text: plain})
	}
	return parts, nil
}

// firstWord is as much of a text as an error shows.
func firstWord(text string) string {
	const most = 20 // characters
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
