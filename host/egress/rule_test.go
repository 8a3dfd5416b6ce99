package egress

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRuleErrors shows that each field that cannot be is named.
func TestRuleErrors(t *testing.T) {
	for _, c := range []struct {
		rule   Rule
		field  string
		detail string
	}{
		{Rule{}, "host", "missing"},
		{Rule{Host: "*"}, "host", "every host"},
		{Rule{Host: "*."}, "host", "missing"},
		{Rule{Host: "a.*.test"}, "host", "first label"},
		{Rule{Host: "*.*.test"}, "host", "first label"},
		{Rule{Host: "x*.test"}, "host", "first label"},
		{Rule{Host: "*.127.0.0.1"}, "host", "wildcard over an address"},
		{Rule{Host: "https://a.test"}, "host", "IPv6 address needs brackets"},
		{Rule{Host: "a.test/x"}, "host", "character \"/\""},
		{Rule{Host: "u@a.test"}, "host", "character \"@\""},
		{Rule{Host: "127.1"}, "host", "number"},
		{Rule{Host: "::1"}, "host", "brackets"},
		{Rule{Host: "0.0.0.0"}, "host", "unspecified"},
		{Rule{Host: "[::]"}, "host", "unspecified"},
		{Rule{Host: "224.0.0.1"}, "host", "multicast"},
		{Rule{Host: "255.255.255.255"}, "host", "broadcast"},
		{Rule{Host: "a.test", Scheme: "ftp"}, "scheme", "neither"},
		{Rule{Host: "a.test", Port: -1}, "port", "1 to 65535"},
		{Rule{Host: "a.test", Port: 65536}, "port", "1 to 65535"},
		{Rule{Host: "a.test", Path: "v1"}, "path", "begin with a slash"},
		{Rule{Host: "a.test", Path: "/v1?x"}, "path", "which paths of rules do not have"},
		{Rule{Host: "a.test", Path: "/v1/*"}, "path", "which paths of rules do not have"},
		{Rule{Host: "a.test", Path: "/a%2fb"}, "path", "encoded slash"},
		{Rule{Host: "a.test", Path: "/%ff"}, "path", "not UTF-8"},
		{Rule{Host: "a.test", Path: "/%2e%2e"}, "path", "disguise"},
		{Rule{Host: "a.test", Path: "/a/../b"}, "path", "write /b"},
		{Rule{Host: "a.test", Methods: []string{"GET", "get"}}, "methods[1]", "capital letters"},
		{Rule{Host: "a.test", Methods: []string{""}}, "methods[0]", "capital letters"},
		{Rule{Host: "a.test", Methods: []string{"*"}}, "methods[0]", "capital letters"},
		{Rule{Host: "a.test", Methods: []string{"CONNECT"}}, "methods[0]", "cannot be allowed"},
		{Rule{Host: "a.test", Methods: []string{"TRACE"}}, "methods[0]", "cannot be allowed"},
		{Rule{Host: "a.test", Addresses: []string{"loopback"}}, "addresses[0]", "no address"},
		{Rule{Host: "a.test", Addresses: []string{"10.0.0.1/8"}}, "addresses[0]", "write 10.0.0.0/8"},
		{Rule{Host: "a.test", Addresses: []string{"0.0.0.0/0"}}, "addresses[0]", "every address"},
		{Rule{Host: "a.test", Addresses: []string{"::/0"}}, "addresses[0]", "every address"},
		{Rule{Host: "a.test", Addresses: []string{"0.0.0.0"}}, "addresses[0]", "no host has"},
		{Rule{Host: "a.test", Addresses: []string{"ff02::/16"}}, "addresses[0]", "no host has"},
		{Rule{Host: "a.test", Addresses: []string{"fe80::1%lo"}}, "addresses[0]", "no address"},
		{Rule{Host: "a.test", Addresses: []string{"::ffff:10.0.0.0/104"}}, "addresses[0]",
			"write the IPv4"},
		{Rule{Host: "a.test", SecretsOverHTTP: true}, "secrets_over_http", "needs scheme"},
	} {
		_, err := New(&Options{Rules: []Rule{{Host: "ok.test"}, c.rule}})
		e := (*ConfigError)(nil)
		if !errors.As(err, &e) || e.Field != "rules[1]."+c.field || !strings.Contains(e.Detail,
			c.detail) {
			t.Errorf("%v: %v", c.rule, err)
		}
	}
}

// TestConfigErrorsAll shows that one attempt names everything that is wrong.
func TestConfigErrorsAll(t *testing.T) {
	_, err := New(&Options{Rules: []Rule{{Scheme: "x", Port: -1}, {Host: "*"}},
		Secrets: []Secret{{Name: "!"}}, Limits: Limits{Time: -1, Request: -1, Response: -1, Headers: -1,
			Concurrent: -1}})
	for _, field := range []string{"rules[0].host", "rules[0].scheme", "rules[0].port",
		"rules[1].host",
		"secrets[0].name", "secrets[0].from", "secrets[0].hosts", "secrets[0].as", "limits.time",
		"limits.request", "limits.response", "limits.headers", "limits.concurrent"} {
		if !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%s is not in: %v", field, err)
		}
	}
}

func TestRuleCount(t *testing.T) {
	rules := slices.Repeat([]Rule{{Host: "a.test"}}, MaxRules)
	c, err := New(&Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if _, err := New(&Options{Rules: append(rules, rules[0])}); err == nil {
		t.Errorf("%d rules are fine", MaxRules+1)
	}
	secrets := make([]Secret, MaxSecrets)
	for i := range secrets {
		secrets[i] = Secret{fmt.Sprint("S", i), constant("correct horse"), []string{"a.test"},
			fmt.Sprint("header X-", i)}
	}
	if _, errs := compileSecrets(secrets); len(errs) > 0 {
		t.Error(errs)
	}
	if _, errs := compileSecrets(append(secrets, secrets[0])); len(errs) != 1 {
		t.Error(errs)
	}
}

// TestJudge shows which part of the nearest rule is named, and that the rule that is suggested lets
// the request through.
func TestJudge(t *testing.T) {
	sources := []Rule{
		{Host: "a.test", Path: "/v1", Methods: []string{"GET"}},
		{Host: "a.test", Path: "/v1/up", Methods: []string{"POST"}},
		{Host: "a.test", Scheme: "http", Port: 8080},
		{Host: "*.w.test"},
	}
	rules := mustCompile(t, sources)
	for _, c := range []struct{ method, url, part, detail string }{
		{"GET", "https://a.test/v1/x", "", ""},
		{"POST", "https://a.test/v1/up/x", "", ""},
		{"HEAD", "https://x.w.test/", "", ""},
		{"HEAD", "http://a.test:8080/", "", ""},
		{"POST", "https://a.test/v1/x", "method", "no rule for a.test allows the method POST"},
		{"DELETE", "https://x.w.test/", "method", "allows the method DELETE"},
		{"GET", "https://a.test/v2", "path", "no rule for a.test allows the path"},
		{"GET", "https://a.test/v1/a%2Fb", "path", "encoded slash"},
		{"GET", "https://a.test:444/v1", "port", "no rule for a.test allows port 444"},
		{"GET", "http://x.w.test/", "scheme", "no rule for x.w.test allows http"},
		{"GET", "https://w.test/", "host", "no rule allows the host w.test"},
		{"PUT", "http://b.test:81/", "host", "no rule allows the host b.test"},
		{"GET", "https://[2001:db8::1]/", "host", "no rule allows the host 2001:db8::1, a documentation"},
		{"GET", "https://127.0.0.1/", "host", "no rule allows the host 127.0.0.1, a loopback address"},
		{"GET", "https://169.254.169.254/", "host", "169.254.169.254, a cloud metadata address"},
		{"GET", "https://0.0.0.0/", "host", "0.0.0.0, the unspecified address"},
	} {
		u, f := parseTarget(c.url)
		if f != nil {
			t.Fatal(f)
		}
		allowing, d := judge(rules, &u, c.method)
		if c.part == "" {
			if d != nil || len(allowing) == 0 {
				t.Errorf("%s %s: %+v", c.method, c.url, d)
			}
			continue
		}
		if d == nil || d.part != c.part || !strings.Contains(d.detail, c.detail) {
			t.Errorf("%s %s: %+v", c.method, c.url, d)
			continue
		}
		if d.fix == "" && (strings.Contains(c.url, "169.254") || strings.Contains(c.url, "0.0.0.0")) {
			continue // what nobody should be led to
		}
		fixed := mustCompile(t, append(slices.Clone(sources), parseRule(t, d.fix)))
		if _, d := judge(fixed, &u, c.method); d != nil {
			t.Errorf("%s %s: with %s still %+v", c.method, c.url, d.fix, d)
		}
	}
}

// parseRule reads what Rule.String writes.
func parseRule(t *testing.T, text string) Rule {
	t.Helper()
	var r Rule
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "{ "), " }")
	for len(inner) > 0 {
		name, rest, _ := strings.Cut(inner, " = ")
		value, after, more := strings.Cut(rest, ", ")
		if strings.HasPrefix(rest, "[") {
			value, after, more = strings.Cut(rest, "]")
			after = strings.TrimPrefix(after, ", ")
		}
		list := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`[]", `, r) })
		switch name {
		case "host":
			r.Host = strings.Trim(value, `"`)
		case "scheme":
			r.Scheme = list[0]
		case "port":
			if _, err := fmt.Sscan(value, &r.Port); err != nil {
				t.Fatal(err)
			}
		case "path":
			r.Path = list[0]
		case "methods":
			r.Methods = list
		case "addresses":
			r.Addresses = list
		case "secrets_over_http":
			r.SecretsOverHTTP = value == "true"
		default:
			t.Fatalf("%s has %q", text, name)
		}
		if inner = after; !more {
			break
		}
	}
	return r
}

func TestRuleString(t *testing.T) {
	r := Rule{"*.a.test", "http", 81, "/x", []string{"GET", "PUT"}, []string{"10.0.0.0/8"}, true}
	want := `{ host = "*.a.test", scheme = "http", port = 81, path = "/x", methods = ["GET", "PUT"], ` +
		`addresses = ["10.0.0.0/8"], secrets_over_http = true }`
	if r.String() != want {
		t.Error(r)
	}
	if got := (Rule{Host: "a.test"}).String(); got != `{ host = "a.test" }` {
		t.Error(got)
	}
}

func TestNothingIsAllowedByDefault(t *testing.T) {
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := refused(t, c, &Request{URL: "https://a.test/"}, Denied, "host")
	if want := `GET https://a.test/: no rule allows the host a.test; to allow it: { host = "a.test" }`; e.
		Error() != want || e.Sent {
		t.Errorf("%v", e)
	}
}

func TestLint(t *testing.T) {
	got := Lint(&Options{
		Rules: []Rule{
			{Host: "*.a.example"},
			{Host: "*.b.test"}, {Host: "b.test", Path: "/"},
			{Host: "c.test", Scheme: "http", SecretsOverHTTP: true, Path: "/x/"},
			{Host: "*.test"}, {Host: "intranet", Methods: []string{"GET", "GET"}},
			{Host: "127.0.0.1"},
			{Host: "d.test", Addresses: []string{"169.254.0.0/16", "169.254.169.254", "1.1.1.1"}},
			{Host: "bad..host"}, {Host: "[::1]", Port: 8443},
		},
		Secrets: []Secret{
			{"K", constant("correct horse"), []string{"*.a.example", "other.example"}, "query key"},
			{Name: "bad name"},
			{"L", constant("correct horse"), []string{"e.test", "c.test", "[::1]", "[::1]:8443"}, "bearer"},
		},
	})
	want := []string{
		"rules[0].host: *.a.example does not match a.example itself",
		"rules[2].path: / is every path, as is leaving it out",
		"rules[3].scheme: without TLS",
		"rules[3].secrets_over_http: anybody",
		"rules[3].path: /x/ does not match /x itself",
		"rules[4].host: *.test does not match test itself",
		"rules[4].host: *.test is every name below a top-level domain",
		"rules[5].host: intranet has no dot",
		"rules[5].methods[1]: GET is there twice",
		"rules[6].host: 127.0.0.1 is a loopback address, and this rule grants it",
		"rules[7].addresses[0]: 169.254.0.0/16 does not grant 169.254.169.254",
		"rules[7].addresses[0]: 169.254.0.0/16 does not grant 169.254.170.2",
		"rules[7].addresses[0]: 169.254.0.0/16 does not grant 169.254.170.23",
		"rules[7].addresses[1]: 169.254.169.254 gives credentials",
		"rules[7].addresses[2]: 1.1.1.1 is public",
		"rules[9].host: ::1 is a loopback address",
		"secrets[0].hosts[0]: every host below a.example gets the secret",
		"secrets[0].hosts[1]: no rule allows other.example",
		"secrets[0].as: URLs are written into servers' logs",
		"secrets[2].hosts[2]: no rule allows [::1] at that port, so the secret is not used there; " +
			"for port 8443 write it behind a colon",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i].String(), want[i]) {
			t.Fatalf("warning %d of %q, not %q", i, got, want)
		}
	}
	if Lint(nil) != nil {
		t.Error("nothing has warnings")
	}
}
