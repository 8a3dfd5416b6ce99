package egress

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// target is a URL in its canonical form: what rules judge, and what is sent.
type target struct {
	scheme string // http or https
	host   string // as canonicalHost gives it
	port   uint16
	path   string // as canonicalPath gives it
	odd    bool   // about path
	query  string // printable ASCII, without the ?
	asks   bool   // there is a ?
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// parseTarget reads an absolute URL. The fragment is dropped.
func parseTarget(raw string) (target, *fault) {
	if f := checkBytes(raw); f != nil {
		return target{}, f
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return target{}, faultf("url", "the URL is not absolute, as in https://host/path")
	}
	t := target{scheme: strings.ToLower(scheme)}
	if t.scheme != "http" && t.scheme != "https" {
		return target{}, faultf("scheme", "the scheme is neither http nor https")
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, asks := strings.Cut(rest, "?")
	t.query, t.asks = encodeQuery(query), asks
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if f := t.setAuthority(authority); f != nil {
		return target{}, f
	}
	var err error
	if t.path, t.odd, err = canonicalPath(path); err != nil {
		return target{}, faultf("path", "%v", err)
	}
	return t, nil
}

// checkBytes refuses what readers of URLs are known to disagree about.
func checkBytes(raw string) *fault {
	switch {
	case len(raw) > MaxURL:
		return tooLarge("url", "the URL is longer than %d bytes", MaxURL)
	case !utf8.ValidString(raw):
		return faultf("url", "the URL is not UTF-8")
	}
	for _, b := range []byte(raw) {
		switch {
		case b == '\\':
			return faultf("url", "the URL has a backslash")
		case b <= ' ' || b == 0x7f:
			return faultf("url", "the URL has a space or a control character")
		}
	}
	return nil
}

func (t *target) setAuthority(authority string) *fault {
	if strings.Contains(authority, "@") {
		return faultf("url", "the URL has user info before its host; send a header instead")
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
		if t.port = parsePort(port); t.port == 0 {
			return faultf("port", "the port is no number from 1 to 65535")
		}
	} else {
		t.port = defaultPort(t.scheme)
	}
	var err error
	if t.host, err = canonicalHost(host); err != nil {
		return faultf("host", "%v", err)
	}
	return nil
}

// parsePort gives 0 for what is not a port in its one spelling.
func parsePort(text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0
	}
	return uint16(n)
}

// encodeQuery percent-encodes what is not ASCII.
func encodeQuery(query string) string {
	if isASCII(query) {
		return query
	}
	var b strings.Builder
	for _, c := range []byte(query) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			writePercent(&b, c)
		}
	}
	return b.String()
}

// authority is the host, with the port when it is not the scheme's own.
func (t *target) authority() string {
	host := t.bracketed()
	if t.port != defaultPort(t.scheme) {
		host += ":" + strconv.Itoa(int(t.port))
	}
	return host
}

// bracketed is the host as it stands in a URL.
func (t *target) bracketed() string {
	if strings.Contains(t.host, ":") {
		return "[" + t.host + "]"
	}
	return t.host
}

// origin is what decides whether credentials may follow.
func (t *target) origin() string { return t.scheme + "://" + t.authority() }

// place is the URL as reports show it: without the query.
func (t *target) place() string { return t.origin() + t.path }

func (t *target) String() string {
	if t.asks {
		return t.place() + "?" + t.query
	}
	return t.place()
}

// url is t for net/http, which sends it as it is.
func (t *target) url() *url.URL {
	return &url.URL{Scheme: t.scheme, Host: t.authority(), Path: percentDecode(t.path),
		RawPath: t.path, RawQuery: t.query, ForceQuery: t.asks && t.query == ""}
}

// follow resolves the Location of an answer from t.
func (t *target) follow(location string) (target, *fault) {
	if f := checkBytes(location); f != nil {
		return target{}, f
	}
	return parseTarget(resolve(t, location))
}

// resolve is RFC 3986 5.2 without decoding anything: what parseTarget is to refuse must reach it.
func resolve(base *target, location string) string {
	ref, _, _ := strings.Cut(location, "#")
	path, _, _ := strings.Cut(ref, "?")
	colon := strings.IndexByte(path, ':')
	slash := strings.IndexByte(path, '/')
	switch {
	case colon > 0 && (slash < 0 || colon < slash):
		return ref
	case strings.HasPrefix(ref, "//"):
		return base.scheme + ":" + ref
	case strings.HasPrefix(ref, "/"):
		return base.origin() + ref
	case path == "" && strings.HasPrefix(ref, "?"):
		return base.place() + ref
	case path == "":
		return base.String()
	}
	return base.origin() + base.path[:strings.LastIndexByte(base.path, '/')+1] + ref
}
