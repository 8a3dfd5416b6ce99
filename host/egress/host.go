package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // bytes of a name
	maxLabel = 63  // bytes between two dots
)

// canonicalHost gives the one spelling of a host: a name in lower case and punycode without the
// trailing dot, an IPv4 address in dotted decimal, or an IPv6 address without brackets. Anything
// that some resolver could take for another address is refused.
func canonicalHost(raw string) (string, error) {
	switch {
	case raw == "":
		return "", fmt.Errorf("the host is missing")
	case strings.HasPrefix(raw, "["):
		return canonicalIPv6(raw)
	case strings.Contains(raw, "%"):
		return "", fmt.Errorf("the host has percent-encoding")
	case strings.Contains(raw, ":"):
		return "", fmt.Errorf("an IPv6 address needs brackets")
	}
	host := strings.ToLower(raw)
	if !isASCII(host) || strings.Contains(host, "xn--") {
		var err error
		if host, err = idna.Lookup.ToASCII(raw); err != nil {
			return "", fmt.Errorf("the host is no valid international name")
		}
		host = strings.ToLower(host)
	}
	name := strings.TrimSuffix(host, ".")
	if len(name) > maxHost {
		return "", fmt.Errorf("the host is longer than %d bytes", maxHost)
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return "", err
		}
	}
	if !numeric(labels[len(labels)-1]) {
		return name, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return addr.String(), nil
	}
	return "", fmt.Errorf("the host is a number and no IPv4 address in dotted decimal")
}

func canonicalIPv6(raw string) (string, error) {
	inner, closed := strings.CutSuffix(raw[1:], "]")
	addr, err := netip.ParseAddr(inner)
	switch {
	case !closed || err != nil || !addr.Is6():
		return "", fmt.Errorf("the host in brackets is no IPv6 address")
	case addr.Zone() != "":
		return "", fmt.Errorf("the IPv6 address has a zone")
	case addr.Is4In6():
		return "", fmt.Errorf("the host is an IPv4 address in IPv6 form")
	}
	return addr.String(), nil
}

func checkLabel(label string) error {
	if label == "" {
		return fmt.Errorf("the host has an empty label")
	}
	if len(label) > maxLabel {
		return fmt.Errorf("the host has a label longer than %d bytes", maxLabel)
	}
	for _, b := range []byte(label) {
		if !isAlnum(b) && b != '-' && b != '_' {
			return fmt.Errorf("the host has the character %s", strconv.QuoteToASCII(string(rune(b))))
		}
	}
	return nil
}

// numeric reports whether resolvers may read a name that ends in this label as an IPv4 address.
func numeric(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// isAddress reports whether a canonical host is an IP address.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isAlnum(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hostPattern matches one host, or with wildcard all hosts below it.
type hostPattern struct {
	host     string
	wildcard bool
}

func parseHostPattern(text string) (hostPattern, error) {
	if text == "*" {
		return hostPattern{}, fmt.Errorf("would match every host; name them, as in *.example.org")
	}
	rest, wildcard := strings.CutPrefix(text, "*.")
	if strings.Contains(rest, "*") {
		return hostPattern{}, fmt.Errorf("may have a * only as its first label, as in *.example.org")
	}
	host, err := canonicalHost(rest)
	if err != nil {
		return hostPattern{}, err
	}
	if wildcard && isAddress(host) {
		return hostPattern{}, fmt.Errorf("is a wildcard over an address")
	}
	return hostPattern{host, wildcard}, nil
}

func (p hostPattern) matches(host string) bool {
	if p.wildcard {
		return strings.HasSuffix(host, "."+p.host)
	}
	return host == p.host
}

// covers reports whether p matches whatever q does.
func (p hostPattern) covers(q hostPattern) bool {
	return p == q || p.wildcard && strings.HasSuffix(q.host, "."+p.host)
}
