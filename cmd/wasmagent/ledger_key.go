package main

import (
	"strconv"
	"strings"
)

// keyText is a key as it is shown, and as keyOf reads it: itself, or with characters that cannot be
// seen or typed in quotes, as escapes.
func keyText(key string) string {
	if oneLine(key) == key && !strings.HasPrefix(key, `"`) {
		return key
	}
	return strconv.QuoteToASCII(key)
}

// quotedKey is a key in a sentence.
func quotedKey(key string) string {
	if text := keyText(key); text != key {
		return text
	}
	return strconv.Quote(key)
}

// keyOf reads a key that somebody types. None begins with a quote, since its tool's name comes
// first.
func keyOf(arg string) string {
	if key, err := strconv.Unquote(arg); err == nil && arg[0] == '"' {
		return key
	}
	return arg
}
