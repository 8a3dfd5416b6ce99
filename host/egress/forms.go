package egress

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// word is a text that must not be seen, and whose it is.
type word struct{ value, name string }

// marker stands where a secret was. It has no character that JSON, HTML or a header would escape.
func marker(name string) string { return "[secret " + name + "]" }

// forms are the ways in which servers commonly show a value: as it is, reversed, in other case, in
// hex and base64, and each of these escaped for a URL, JSON or HTML. All have at least MinSecret
// bytes.
func forms(value string) []string {
	inner := []string{value, reversed(value), lowerASCII(value), upperASCII(value),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			inner = append(inner, base64Within(coding, value, shift))
		}
	}
	var all []string
	for _, s := range inner {
		all = append(all, s)
		all = append(all, urlForms(s)...)
		all = append(all, jsonForms(s)...)
		all = append(all, htmlForms(s)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Within is what a longer text's base64 has in it wherever value stands in it: the characters
// that value alone decides, when shift bytes stand before it, modulo 3.
func base64Within(coding *base64.Encoding, value string, shift int) string {
	padded := append(make([]byte, shift), value...)
	whole := coding.EncodeToString(padded)
	return whole[(shift*8+5)/6 : len(padded)*8/6]
}

func lowerASCII(s string) string { return mapASCII(s, 'A', 'Z', 'a'-'A') }
func upperASCII(s string) string { return mapASCII(s, 'a', 'z', 'A'-'a') }

// mapASCII moves the bytes from low to high and so keeps the length.
func mapASCII(s string, low, high byte, by int) string {
	b := []byte(s)
	for i, c := range b {
		if low <= c && c <= high {
			b[i] = byte(int(c) + by)
		}
	}
	return string(b)
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func urlForms(s string) []string {
	query, path := url.QueryEscape(s), url.PathEscape(s)
	component := strings.ReplaceAll(query, "+", "%20")
	var every, everyLower strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&every, "%%%02X", c)
		fmt.Fprintf(&everyLower, "%%%02x", c)
	}
	// What encodeURIComponent leaves alone.
	script := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").
		Replace(component)
	all := []string{query, component, path, script, every.String(), everyLower.String()}
	for _, form := range all[:4] {
		all = append(all, lowerPercent(form))
	}
	return all
}

// lowerPercent writes the hex digits of percent-encoding in lower case.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

var (
	jsonPlain   = strings.NewReplacer(`"`, `\"`, `\`, `\\`)
	jsonSlashes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `/`, `\/`)
	jsonHTML    = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `<`, `\u003c`, `>`, `\u003e`,
		`&`, `\u0026`)
	jsonHTMLUpper = strings.NewReplacer(`"`, `\u0022`, `\`, `\\`, `/`, `\/`, `<`, `\u003C`,
		`>`, `\u003E`, `&`, `\u0026`, `'`, `\u0027`, `+`, `\u002B`, "`", `\u0060`)

	htmlNamed = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`,
		`'`, `&apos;`)
	htmlHex = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`,
		`'`, `&#x27;`, `/`, `&#x2F;`, "`", `&#x60;`, `=`, `&#x3D;`)
	htmlPython = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`,
		`'`, `&#x27;`)
	htmlPHP = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`, `"`, `&quot;`,
		`'`, `&#039;`)
	htmlTag = strings.NewReplacer(`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`)
)

func jsonForms(s string) []string {
	all := []string{jsonPlain.Replace(s), jsonSlashes.Replace(s), jsonHTML.Replace(s),
		jsonHTMLUpper.Replace(s)}
	if !isASCII(s) {
		for _, form := range slices.Clone(all) {
			all = append(all, asciiJSON(form, `\u%04x`), asciiJSON(form, `\u%04X`))
		}
	}
	return all
}

// asciiJSON writes what is not ASCII in UTF-16, as many JSON printers do.
func asciiJSON(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, format, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, format+format, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

func htmlForms(s string) []string {
	return []string{html.EscapeString(s), htmlNamed.Replace(s), htmlHex.Replace(s),
		htmlPython.Replace(s), htmlPHP.Replace(s), htmlTag.Replace(s)}
}
