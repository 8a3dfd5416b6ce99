package main

import (
	"bytes"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

var htmlTypes = []string{"text/html", "application/xhtml+xml"}

// textTypes are those that are text and do not say so.
var textTypes = []string{
	"application/json", "application/xml", "application/javascript", "application/yaml",
	"application/toml", "application/x-ndjson", "application/xhtml+xml",
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || slices.Contains(textTypes, kind) ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// mediaType reads a Content-Type; without one the body tells.
func mediaType(header string, body []byte) (kind, charset string) {
	kind, params, err := mime.ParseMediaType(header)
	if err == nil {
		return kind, strings.ToLower(params["charset"])
	}
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	switch {
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "text/html", ""
	case bytes.IndexByte(start, 0) < 0:
		return "text/plain", ""
	}
	return "application/octet-stream", ""
}

// singleBytes are the charsets besides UTF-8 that pages are often written in.
var singleBytes = map[string]*charmap.Charmap{
	"iso-8859-1": charmap.Windows1252, "latin1": charmap.Windows1252,
	"us-ascii":     charmap.Windows1252,
	"windows-1252": charmap.Windows1252, "iso-8859-15": charmap.ISO8859_15,
	"iso-8859-2": charmap.ISO8859_2, "windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251, "koi8-r": charmap.KOI8R,
}

// decode gives a body as text. What is UTF-8 is taken for it, whatever it is called.
func decode(body []byte, charset string, cut bool) (string, bool) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	whole := body
	if cut {
		whole = withoutPart(body)
	}
	if utf8.Valid(whole) {
		return string(whole), true
	}
	switch charset {
	case "", "utf-8", "utf8":
		charset = "windows-1252"
	}
	table := singleBytes[charset]
	if table == nil {
		return "", false
	}
	text, err := table.NewDecoder().Bytes(body)
	return string(text), err == nil
}

// withoutPart takes off a character of which the end is missing.
func withoutPart(body []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(body); n++ {
		if last := body[len(body)-n:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			return body[:len(body)-n]
		}
	}
	return body
}
