package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const token = `s3cr3t/T0ken+with"odd'<chars>&=`

// TestSecretIsSent shows what a server gets, and that the guest's URL and headers stay as they
// were.
func TestSecretIsSent(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+token))
	for _, c := range []struct{ as, value, want string }{
		{"bearer", token, "Authorization: Bearer " + token},
		{"basic", "user:" + token, "Authorization: " + basic},
		{"basic user", token, "Authorization: " + basic},
		{"header x-api-key", token, "X-Api-Key: " + token},
		{"query api_key", token, "/x?a=1&api_key=" + url.QueryEscape(token)},
	} {
		w := newWorld(t)
		saw := make(chan string, 1)
		port := w.https(func(_ http.ResponseWriter, r *http.Request) {
			saw <- fmt.Sprintf("%s\nAuthorization: %s\nX-Api-Key: %s\n", r.RequestURI,
				r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		})
		client := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
			{"TOKEN", constant(c.value), []string{"a.test:" + portText(port)}, c.as}}})
		resp := get(t, client, address("https", "a.test", port, "/x?a=1"))
		if got := <-saw; !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s: %q", c.as, got)
		}
		if resp.URL != address("https", "a.test", port, "/x?a=1") {
			t.Errorf("%s: %s", c.as, resp.URL)
		}
	}
}

// TestSecretOnlyForItsHosts shows that other hosts, ports and subdomains are sent nothing.
func TestSecretOnlyForItsHosts(t *testing.T) {
	w := newWorld(t)
	echo := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Had", fmt.Sprint(r.Header.Get("Authorization") != ""))
	}
	port, other := w.https(echo), w.https(echo)
	rules := []Rule{secure("a.test", port), secure("a.test", other), secure("b.test", port),
		secure("sub.a.test", port)}
	for _, c := range []struct{ host, had string }{
		{"a.test:" + portText(port), "true false false false"},
		{"a.test", "false false false false"}, // port 443
		{"*.a.test:" + portText(port), "false false false true"},
		{"b.test:" + portText(other), "false false false false"},
	} {
		client := w.client(Options{Rules: rules, Secrets: []Secret{
			{"TOKEN", constant(token), []string{c.host}, "bearer"}}})
		var had []string
		for _, r := range rules {
			resp := get(t, client, address("https", r.Host, r.Port, "/"))
			had = append(had, resp.header("X-Had"))
		}
		if got := strings.Join(had, " "); got != c.had {
			t.Errorf("%s: %s", c.host, got)
		}
	}
}

// TestSecretDoesNotFollow sends a client on to another origin in all ways, with everything that the
// server saw put into the location.
func TestSecretDoesNotFollow(t *testing.T) {
	for _, as := range []string{"bearer", "header X-Key", "query key"} {
		w := newWorld(t)
		var leaked atomic.Bool
		other := w.https(func(rw http.ResponseWriter, r *http.Request) {
			all := fmt.Sprint(r.RequestURI, r.Header)
			if strings.Contains(all, "s3cr3t") || r.Header.Get("Authorization") != "" {
				leaked.Store(true)
			}
		})
		port := w.https(func(rw http.ResponseWriter, r *http.Request) {
			to := address("https", "b.test", other, "/")
			switch r.URL.Path {
			case "/same-host-other-port":
				to = address("https", "a.test", other, "/")
			case "/subdomain":
				to = address("https", "sub.a.test", other, "/")
			case "/carry":
				to += "?" + r.URL.RawQuery + r.Header.Get("Authorization") + r.Header.Get("X-Key")
			case "/carry-encoded":
				to += "?x=" + base64.StdEncoding.EncodeToString([]byte(token))
			case "/carry-path":
				to += url.PathEscape(token)
			}
			rw.Header()["Location"] = []string{strings.ReplaceAll(to, " ", "")}
			rw.WriteHeader(http.StatusTemporaryRedirect)
		})
		c := w.client(Options{
			Rules: []Rule{secure("a.test", port), secure("a.test", other), secure("b.test", other),
				secure("sub.a.test", other)},
			Secrets: []Secret{{"TOKEN", constant(token), []string{"a.test:" + portText(port)}, as}}})
		for _, path := range []string{"/plain", "/same-host-other-port", "/subdomain"} {
			get(t, c, address("https", "a.test", port, path))
		}
		for _, path := range []string{"/carry", "/carry-encoded", "/carry-path"} {
			e := refused(t, c, &Request{URL: address("https", "a.test", port, path)}, Denied, "redirect")
			if strings.Contains(e.Error(), "s3cr3t") || e.Hop != 1 {
				t.Error(e)
			}
		}
		if leaked.Load() {
			t.Errorf("%s went to another origin", as)
		}
	}
}

// TestSecretComesBack shows that a secret is put in again where a redirect leads back, and that a
// parameter which the server repeated is not sent twice.
func TestSecretComesBack(t *testing.T) {
	w := newWorld(t)
	var query atomic.Value
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			http.Redirect(rw, r, "/x/?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
		query.Store(r.URL.RawQuery)
	})
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"TOKEN", constant(token), []string{"a.test:" + portText(port)}, "query key"}}})
	resp := get(t, c, address("https", "a.test", port, "/x?a=1"))
	if got := query.Load(); got != "a=1&key="+url.QueryEscape(token) {
		t.Error(got)
	}
	if resp.URL != address("https", "a.test", port, "/x/?a=1") {
		t.Error(resp.URL)
	}
}

// TestGuestCannotSetSecret is about guests that want to say where a secret stands.
func TestGuestCannotSetSecret(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	hosts := []string{"a.test:" + portText(port)}
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"A", constant(token), hosts, "bearer"}, {"B", constant(token), hosts, "header X-Key"},
		{"C", constant(token), hosts, "query key"}}})
	for _, h := range []Header{{"authorization", "x"}, {"AUTHORIZATION", ""}, {"X-Key", "x"},
		{"x_key", "x"},
		{"Range", "bytes=0-1"}, {"range", "bytes=1-2"}, {"If-Range", "x"}} {
		e := refused(t, c, &Request{URL: address("https", "a.test", port, "/"), Headers: []Header{h}},
			Denied, "header")
		if e.Sent {
			t.Error(e)
		}
	}
	for _, q := range []string{"key=x", "a=1&key", "KEY=x", "%6bey=x", "a=1;key=x", "key[]=x",
		"&&key=", "+key=1",
		"k%65y%5B0%5D=1"} {
		refused(t, c, &Request{URL: address("https", "a.test", port, "/?"+q)}, Denied, "query")
	}
}

// TestSecretOverHTTP shows that a secret goes over http only where a rule has the word for it.
func TestSecretOverHTTP(t *testing.T) {
	w := newWorld(t)
	plain := w.http(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Had", fmt.Sprint(r.Header.Get("Authorization") != ""))
	})
	tls := w.https(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, address("http", "a.test", plain, "/"), http.StatusFound)
	})
	rule := local("a.test", plain)
	opts := Options{Rules: []Rule{rule, secure("a.test", tls)}, Secrets: []Secret{{"TOKEN",
		constant(token),
		[]string{"a.test:" + portText(plain), "a.test:" + portText(tls)}, "bearer"}}}
	c := w.client(opts)
	e := refused(t, c, &Request{URL: address("http", "a.test", plain, "/")}, Denied, "secret")
	if e.Sent || !strings.Contains(e.Fix, "secrets_over_http = true") {
		t.Error(e)
	}
	refused(t, c, &Request{URL: address("https", "a.test", tls, "/")}, Denied, "secret")
	opts.Rules[0] = parseRule(t, e.Fix)
	for _, u := range []string{address("http", "a.test", plain, "/"), address("https", "a.test", tls,
		"/")} {
		if resp := get(t, w.client(opts), u); resp.header("X-Had") != "true" {
			t.Errorf("%+v", resp)
		}
	}
	opts.Rules = append([]Rule{rule}, opts.Rules...)
	get(t, w.client(opts), address("http", "a.test", plain, "/")) // under the second rule
	opts.Secrets[0].From = constant("short")
	e = refused(t, w.client(opts), &Request{URL: address("http", "a.test", plain, "/")}, Denied, "secret")
	if !strings.Contains(e.Detail, "shorter") || e.Fix != "" {
		t.Errorf("another rule cannot mend it: %v", e)
	}
}

func TestSecretErrors(t *testing.T) {
	hosts := []string{"a.test"}
	ok := Secret{"OK", constant(token), hosts, "header X-Ok"}
	for _, c := range []struct {
		secret Secret
		field  string
		detail string
	}{
		{Secret{"", constant(token), hosts, "bearer"}, "name", "letters"},
		{Secret{"a b", constant(token), hosts, "bearer"}, "name", "letters"},
		{Secret{"a]", constant(token), hosts, "bearer"}, "name", "letters"},
		{Secret{"é", constant(token), hosts, "bearer"}, "name", "letters"},
		{Secret{strings.Repeat("a", maxSecretName+1), constant(token), hosts, "bearer"}, "name",
			"letters"},
		{Secret{"OK", constant(token), hosts, "bearer"}, "name", "twice"},
		{Secret{"T", nil, hosts, "bearer"}, "from", "missing"},
		{Secret{"T", constant(token), nil, "bearer"}, "hosts", "nowhere"},
		{Secret{"T", constant(token), []string{"*"}, "bearer"}, "hosts[0]", "every host"},
		{Secret{"T", constant(token), []string{"a.test", "b.test:0"}, "bearer"}, "hosts[1]", "port"},
		{Secret{"T", constant(token), []string{"https://a.test"}, "bearer"}, "hosts[0]", "port"},
		{Secret{"T", constant(token), hosts, ""}, "as", "none of"},
		{Secret{"T", constant(token), hosts, "Bearer"}, "as", "none of"},
		{Secret{"T", constant(token), hosts, "bearer x"}, "as", "behind bearer"},
		{Secret{"T", constant(token), hosts, "basic a:b"}, "as", "colon"},
		{Secret{"T", constant(token), hosts, "header"}, "as", "no header's name"},
		{Secret{"T", constant(token), hosts, "header Host"}, "as", "host's to set"},
		{Secret{"T", constant(token), hosts, "header X: y"}, "as", "no header's name"},
		{Secret{"T", constant(token), hosts, "query"}, "as", "parameter"},
		{Secret{"T", constant(token), hosts, "query a&b"}, "as", "parameter"},
		{Secret{"T", constant(token), hosts, "header x-ok"}, "as", "secret OK goes"},
		{Secret{"T", constant(token), []string{"*.test"}, "header x-ok"}, "as", "secret OK goes"},
	} {
		_, err := New(&Options{Secrets: []Secret{ok, c.secret}})
		e := (*ConfigError)(nil)
		if !errors.As(err, &e) || e.Field != "secrets[1]."+c.field || !strings.Contains(e.Detail,
			c.detail) {
			t.Errorf("%+v: %v", c.secret, err)
		}
	}
	fine := []Secret{ok, {"T", constant(token), []string{"b.test"}, "header X-Ok"},
		{"U", constant(token), []string{"a.test:444", "*.a.test", "[::1]:8", "10.0.0.1"}, "header X-Ok"}}
	if _, err := New(&Options{Secrets: fine}); err != nil {
		t.Error(err)
	}
}

// TestSecretValues shows which values are used. What is not says why, without the value.
func TestSecretValues(t *testing.T) {
	w := newWorld(t)
	port := w.https(hello)
	for _, c := range []struct {
		as, value string
		detail    string // "" is used
	}{
		{"bearer", strings.Repeat("x", MinSecret), ""},
		{"bearer", strings.Repeat("x", MinSecret-1), "shorter than 8 bytes"},
		{"bearer", "", "shorter"},
		{"bearer", strings.Repeat("xY", MaxSecret/2), ""},
		{"bearer", strings.Repeat("xY", MaxSecret/2) + "z", "longer than 8192 bytes"},
		{"bearer", "secret\r\nX-Y: z", "control"},
		{"bearer", "secret\nvalue", "control"},
		{"bearer", "secret\x00value", "control"},
		{"bearer", "secret\tvalue", "control"},
		{"bearer", " secretvalue", "space"},
		{"bearer", "secret TOKEN", "its own name"},
		{"basic", "nocolonhere", "user:password"},
		{"basic", "longusername:short", "password is shorter"},
		{"basic", "u:longenough", ""},
		{"basic u", "longenough", ""},
		{"bearer", "pässwörd", ""},
	} {
		limits := Limits{Headers: 64 << 10}
		client := w.client(Options{Rules: []Rule{secure("a.test", port)}, Limits: limits,
			Secrets: []Secret{
				{"TOKEN", constant(c.value), []string{"a.test:" + portText(port)}, c.as}}})
		url := address("https", "a.test", port, "/")
		if c.detail == "" {
			get(t, client, url)
			continue
		}
		e := refused(t, client, &Request{URL: url}, Denied, "secret")
		if !strings.Contains(e.Detail, "the secret TOKEN cannot be used") || e.Sent ||
			!strings.Contains(e.Detail, c.detail) ||
			len(c.value) > 5 && c.detail != "its own name" && strings.Contains(e.Error(), c.value) {
			t.Errorf("%q: %v", c.value, e)
		}
	}
}

// TestSecretLifetime shows how long a value is kept, and that the one before is still scrubbed.
func TestSecretLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		from := func(context.Context) (string, error) {
			if asked++; asked == 2 {
				return "", errors.New("not now")
			}
			return fmt.Sprint("generation-", asked), nil
		}
		c, err := New(&Options{Secrets: []Secret{{"T", from, []string{"a.test"}, "bearer"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		value := func() string {
			v, err := c.secrets[0].get(t.Context(), c.learn)
			if err != nil {
				v = err.Error()
			}
			return v
		}
		got := []string{value()}
		for _, wait := range []time.Duration{SecretLifetime - 1, 1, 0, SecretLifetime - 1} {
			time.Sleep(wait)
			got = append(got, value())
		}
		want := []string{"generation-1", "generation-1", "not now", "generation-3", "generation-3"}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if s := c.Scrub("generation-1 generation-2 generation-3"); s != "[secret T] generation-2 [secret T]" {
			t.Error(s)
		}
		for asked < maxKnown+2 { // the first is forgotten with the fifth
			time.Sleep(SecretLifetime)
			value()
		}
		if s := c.Scrub("generation-1 generation-3"); s != "generation-1 [secret T]" {
			t.Error(s)
		}
	})
}

// TestSecretIsAskedOnce has many requests that need a value at the same time, and one that gives
// up.
func TestSecretIsAskedOnce(t *testing.T) {
	w := newWorld(t)
	port := w.https(hello)
	var asked atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	from := func(context.Context) (string, error) {
		asked.Add(1)
		close(entered)
		<-release
		return token, nil
	}
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"TOKEN", from, []string{"a.test:" + portText(port)}, "bearer"}}})
	req := &Request{URL: address("https", "a.test", port, "/")}
	errs := make(chan error)
	for range 8 {
		go func() { _, err := c.Do(t.Context(), req); errs <- err }()
	}
	<-entered
	e := refused(t, c, &Request{URL: req.URL, Timeout: time.Millisecond}, Timeout, "time")
	if e.Sent {
		t.Error(e)
	}
	close(release)
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}
