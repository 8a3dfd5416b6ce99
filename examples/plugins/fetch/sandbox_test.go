//go:build !wasip1

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/sandbox"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
)

func TestInTheSandbox(t *testing.T) {
	rule, opts := sandbox.Serve(t, "docs.test", func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(rw, r, "/new", http.StatusMovedPermanently)
		case "/new":
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, `<title>Guide</title><h1>Guide</h1><p>Go <a href="on">on</a>.`)
		case "/away":
			http.Redirect(rw, r, "http://elsewhere.test/", http.StatusFound)
		}
	})
	opts.Rules = []egress.Rule{rule}
	m := sandbox.Plugin(t, host.Grants{HTTP: sandbox.Client(t, opts)}, nil)
	base := fmt.Sprintf("http://docs.test:%d", rule.Port)
	got, err := sandbox.Call(t, m, "fetch", fmt.Sprintf(`{"url": "%s/old"}`, base), "")
	want := fmt.Sprintf(`{"url":"%s/new","title":"Guide","type":"text/html","text":"# Guide\n\nGo [on](%s/on).","total_chars":%d}`,
		base, base, len("# Guide\n\nGo [on](/on).")+len(base))
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for _, url := range []string{base + "/away", "http://elsewhere.test/",
		"http://169.254.169.254/"} {
		_, err := sandbox.Call(t, m, "fetch", fmt.Sprintf(`{"url": %q}`, url), "")
		if !strings.HasPrefix(fmt.Sprint(err), "denied: ") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRefused(t *testing.T) {
	if got := sandbox.Refused(t, "fetch"); !strings.HasSuffix(got,
		"wasmagent allow fetch --http HOST") {
		t.Error(got)
	}
}
