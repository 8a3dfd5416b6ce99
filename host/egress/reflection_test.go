package egress

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestReflection is a server that shows what it was sent, in all the ways that are looked for.
func TestReflection(t *testing.T) {
	b64, b64url := base64.StdEncoding, base64.URLEncoding
	encoded, _ := json.Marshal(token)
	ways := map[string]string{
		"plain":        "x" + token + "y",
		"twice":        token + token,
		"base64":       b64.EncodeToString([]byte(token)),
		"base64 +1":    b64.EncodeToString([]byte("a" + token)),
		"base64 +2":    b64.EncodeToString([]byte("ab" + token + "c")),
		"base64url":    b64url.EncodeToString([]byte("user:" + token)),
		"raw base64":   base64.RawURLEncoding.EncodeToString([]byte(token)),
		"query":        url.QueryEscape(token),
		"path":         url.PathEscape(token),
		"query base64": url.QueryEscape(b64.EncodeToString([]byte("us:" + token))),
		"hex":          hex.EncodeToString([]byte(token)),
		"HEX":          strings.ToUpper(hex.EncodeToString([]byte(token))),
		"JSON":         string(encoded),
		"Go":           fmt.Sprintf("%q", token),
		"HTML":         html.EscapeString(token),
		"reversed":     reversed(token),
		"upper":        strings.ToUpper(token),
		"lower":        strings.ToLower(token),
	}
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		text := ways[r.URL.Query().Get("way")]
		rw.Header().Set("X-Echo", text)
		rw.Header().Set("Set-Cookie", "a="+text)
		rw.Header().Set("Etag", `"`+text+`"`)
		rw.WriteHeader(http.StatusInternalServerError)
		for i := range len(text) { // one chunk a byte
			_, _ = rw.Write([]byte{text[i]})
			rw.(http.Flusher).Flush()
		}
	})
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"TOKEN", constant(token), []string{"a.test:" + portText(port)}, "bearer"}}})
	for way, text := range ways {
		resp := get(t, c, address("https", "a.test", port, "/?way="+url.QueryEscape(way)))
		all := fmt.Sprint(resp.Headers, string(resp.Body))
		if strings.Count(all, "[secret TOKEN]") < 4 {
			t.Errorf("%s: %s", way, all)
		}
		for i := range len(text) - 12 { // nothing as long as this is left of it
			if strings.Contains(all, text[i:i+12]) {
				t.Errorf("%s: %q is in %s", way, text[i:i+12], all)
			}
		}
		if scrubbed := c.Scrub("log: " + text); !strings.Contains(scrubbed, "[secret TOKEN]") {
			t.Errorf("%s: %s", way, scrubbed)
		}
	}
}

// TestReflectionInErrors is a server that answers with the secret in place of HTTP.
func TestReflectionInErrors(t *testing.T) {
	w := newWorld(t)
	for _, answer := range []string{"%s\r\n\r\n", "HTTP/1.1 %s\r\n\r\n",
		"HTTP/1.1 200 OK\r\n%s\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\nx",
		"HTTP/1.1 302 Found\r\nLocation: http://%s/\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: http://%s@b.test/\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: http://%s.b.test/\r\n\r\n"} {
		for _, value := range []string{token, "OnlyLetters", `quo"ted\secret`} {
			port := w.raw(fmt.Sprintf(answer, value))
			rule := local("a.test", port)
			rule.SecretsOverHTTP = true
			c := w.client(Options{Rules: []Rule{rule}, Secrets: []Secret{
				{"TOKEN", constant(value), []string{"a.test:" + portText(port)}, "bearer"}}})
			_, err := c.Do(t.Context(), &Request{URL: address("http", "a.test", port, "/")})
			if err == nil {
				t.Errorf("%q: no error", answer)
				continue
			}
			for _, text := range []string{fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err),
				fmt.Sprintf("%#v", err), fmt.Sprint(errors.Unwrap(err))} {
				text = strings.ToLower(strings.ReplaceAll(text, `\`, ""))
				if strings.Contains(text, strings.ToLower(strings.ReplaceAll(value, `\`, ""))) {
					t.Errorf("%q: %s", answer, text)
				}
			}
		}
	}
}

// TestReflectionInHeaderNames has a secret that is a header's name.
func TestReflectionInHeaderNames(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("x-"+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "1")
	})
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"TOKEN", constant("plainLetters123"), []string{"a.test:" + portText(port)}, "bearer"}}})
	resp := get(t, c, address("https", "a.test", port, "/"))
	if all := strings.ToLower(fmt.Sprint(resp.Headers)); strings.Contains(all, "plainletters123") {
		t.Error(all)
	}
}

// TestGrownBody has a limit that the body keeps, and not what stands for the secret in it.
func TestGrownBody(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "tokenABC")
	})
	for limit, want := range map[int64]string{9: "[secret T", 10: "[secret T]"} {
		c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Limits: Limits{Response: limit},
			Secrets: []Secret{{"T", constant("tokenABC"), []string{"a.test:" + portText(port)}, "bearer"}}})
		resp := get(t, c, address("https", "a.test", port, "/"))
		if string(resp.Body) != want || resp.Truncated != (limit == 9) {
			t.Errorf("%d: %q %v", limit, resp.Body, resp.Truncated)
		}
	}
}

// TestPasswordAlone shows that a password is looked for without its user.
func TestPasswordAlone(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		_, _ = io.WriteString(rw, password)
	})
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Secrets: []Secret{
		{"T", constant("user:" + token), []string{"a.test:" + portText(port)}, "basic"}}})
	resp := get(t, c, address("https", "a.test", port, "/"))
	if string(resp.Body) != "[secret T]" {
		t.Errorf("%s", resp.Body)
	}
}

// TestCutInSecret has the limit on a body in the middle of a secret: no beginning of it is left.
func TestCutInSecret(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw,
			"12345"+token+"6")
	})
	for limit := int64(1); limit < int64(len(token))+8; limit++ {
		c := w.client(Options{Rules: []Rule{secure("a.test", port)}, Limits: Limits{Response: limit},
			Secrets: []Secret{{"T", constant(token), []string{"a.test:" + portText(port)}, "bearer"}}})
		resp := get(t, c, address("https", "a.test", port, "/"))
		whole := "12345[secret T]6"
		want := whole[:min(limit, 5)]
		if limit >= int64(len(token))+5 {
			want = whole[:min(int64(len(whole)), limit-int64(len(token))+10)]
		}
		if string(resp.Body) != want || resp.Truncated != (limit < int64(len(token))+6) {
			t.Errorf("%d: %q %v, not %q", limit, resp.Body, resp.Truncated, want)
		}
	}
}
