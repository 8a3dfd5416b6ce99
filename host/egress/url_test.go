package egress

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// tableRules are those that testdata/urls.txt opens with.
var tableRules = []Rule{
	{Host: "api.test", Path: "/v1"},
	{Host: "*.wild.test"},
	{Host: "whole.test"},
	{Host: "plain.test", Scheme: "http", Port: 8080},
	{Host: "bücher.test"},
	{Host: "192.0.2.1"},
	{Host: "[2001:db8::1]"},
	{Host: "deep.test", Path: "/a/b/"},
}

func mustCompile(t testing.TB, sources []Rule) []*rule {
	t.Helper()
	rules, errs := compileRules(sources)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return rules
}

// verdict is the part of a GET that is refused, or ok.
func verdict(rules []*rule, raw string) (target, string) {
	u, f := parseTarget(raw)
	if f != nil {
		return u, f.part
	}
	if _, denial := judge(rules, &u, "GET"); denial != nil {
		return u, denial.part
	}
	return u, "ok"
}

type urlCase struct{ word, raw, canonical string }

func urlCases(t testing.TB) []urlCase {
	t.Helper()
	text, err := os.ReadFile("testdata/urls.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []urlCase
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		rest, canonical, _ := strings.Cut(line, " -> ")
		word, raw, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(raw, `"`) {
			if raw, err = strconv.Unquote(raw); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		cases = append(cases, urlCase{word, raw, canonical})
	}
	return cases
}

func TestURLTable(t *testing.T) {
	rules, count := mustCompile(t, tableRules), map[string]int{}
	for _, c := range urlCases(t) {
		count[c.word]++
		u, got := verdict(rules, c.raw)
		if got != c.word {
			t.Errorf("%q: %s, not %s", c.raw, got, c.word)
		}
		if got == "ok" && u.String() != c.canonical {
			t.Errorf("%q: became %s, not %s", c.raw, &u, c.canonical)
		}
	}
	for _, word := range []string{"ok", "url", "scheme", "host", "port", "path"} {
		if count[word] < 8 {
			t.Errorf("only %d cases of %s", count[word], word)
		}
	}
}

func TestURLLength(t *testing.T) {
	url := "https://api.test/v1/"
	url += strings.Repeat("x", MaxURL-len(url))
	if _, f := parseTarget(url); f != nil {
		t.Errorf("%d bytes: %v", len(url), f)
	}
	if _, f := parseTarget(url + "x"); f == nil || f.kind != TooLarge {
		t.Errorf("%d bytes: %v", len(url)+1, f)
	}
}

// TestHostLength is about names that a resolver would refuse, or cut.
func TestHostLength(t *testing.T) {
	name := strings.Repeat("a.", 126) + "a"
	if _, err := canonicalHost(name); err != nil || len(name) != maxHost {
		t.Errorf("%d bytes: %v", len(name), err)
	}
	if _, err := canonicalHost(name + "a"); err == nil {
		t.Errorf("%d bytes are a host", len(name)+1)
	}
	label := strings.Repeat("a", maxLabel)
	if _, err := canonicalHost(label + ".test"); err != nil {
		t.Error(err)
	}
	if _, err := canonicalHost(label + "a.test"); err == nil {
		t.Errorf("%d bytes are a label", maxLabel+1)
	}
}

// TestFollow holds how a redirect's location is resolved against what net/url does, where that is
// not refused.
func TestFollow(t *testing.T) {
	base, f := parseTarget("https://a.test/x/y?q=1")
	if f != nil {
		t.Fatal(f)
	}
	for location, want := range map[string]string{
		"/z":               "https://a.test/z",
		"z":                "https://a.test/x/z",
		"z?w":              "https://a.test/x/z?w",
		"?w":               "https://a.test/x/y?w",
		"#f":               "https://a.test/x/y?q=1",
		"":                 "https://a.test/x/y?q=1",
		"..":               "https://a.test/",
		"../../../z":       "https://a.test/z",
		"//b.test/z":       "https://b.test/z",
		"http://b.test":    "http://b.test/",
		"z/a:b":            "https://a.test/x/z/a:b",
		"./a:b":            "https://a.test/x/a:b",
		"https://b.test#x": "https://b.test/",
		"https:z":          "",
		"a:b":              "",
		"///b.test":        "",
		"/\\b.test":        "",
		"//u@b.test":       "",
		"/%2e%2e/z":        "",
		"/a b":             "",
		"javascript:1":     "",
	} {
		got, f := base.follow(location)
		if f == nil && got.String() != want || f != nil && want != "" {
			t.Errorf("%q: %s %v, not %s", location, &got, f, want)
		}
		if want == "" {
			continue
		}
		ref, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := url.Parse(base.String())
		resolved := b.ResolveReference(ref)
		if resolved.Fragment = ""; resolved.Path == "" {
			resolved.Path = "/"
		}
		if resolved.String() != want {
			t.Errorf("%q: net/url says %s", location, resolved)
		}
	}
}

// FuzzURL shows that the canonical form is one, that net/url reads it in the same way, and that
// nothing gets out of a rule's host, port and path.
func FuzzURL(f *testing.F) {
	for _, c := range urlCases(f) {
		f.Add(c.raw)
	}
	rules := mustCompile(f, []Rule{{Host: "api.test", Path: "/v1"}, {Host: "*.wild.test"}})
	f.Fuzz(func(t *testing.T, raw string) {
		u, got := verdict(rules, raw)
		if got != "ok" {
			return
		}
		again, fault := parseTarget(u.String())
		if fault != nil && fault.kind == TooLarge {
			return // percent-encoding made it longer
		}
		if fault != nil || again != u {
			t.Fatalf("%q: %+v, then %+v %v", raw, u, again, fault)
		}
		for _, read := range readings(t, &u) {
			inV1 := read.Path == "/v1" || strings.HasPrefix(read.Path, "/v1/")
			clean := !strings.Contains("/"+read.Path+"/", "/../") && !strings.Contains(read.Path, `\`)
			if read.Scheme != "https" || read.User != nil || read.Port() != "" || !clean ||
				!(read.Host == "api.test" && inV1) && !strings.HasSuffix(read.Host, ".wild.test") {
				t.Fatalf("%q: sent as %s, read as %#v", raw, &u, read)
			}
		}
	})
}

// readings are what is sent, and what servers may take that for: decoded once more or twice.
func readings(t *testing.T, u *target) []*url.URL {
	t.Helper()
	sent := u.url()
	if sent.RequestURI() != strings.TrimPrefix(u.String(), u.origin()) {
		t.Fatalf("%s is sent as %s", u, sent.RequestURI())
	}
	parsed, err := url.Parse(u.String())
	if err != nil {
		t.Fatal(err)
	}
	twice := *parsed
	twice.Path = percentDecode(parsed.Path)
	return []*url.URL{sent, parsed, &twice}
}
