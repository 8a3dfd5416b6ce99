package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// hub plays GitHub.
type hub struct {
	issues []issue
	asked  []string
}

func (h *hub) respond(r *pdk.Request) (*pdk.Response, error) {
	h.asked = append(h.asked, r.Method+" "+r.URL)
	switch {
	case !strings.HasPrefix(r.URL, api+"/repos/octocat/hello-world/issues"):
		return answer(404, map[string]any{"message": "Not Found"})
	case r.Method == "GET":
		return answer(200, h.issues)
	}
	var in struct{ Title, Body string }
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return answer(400, map[string]any{"message": "Problems parsing JSON"})
	}
	n := len(h.issues) + 1
	made := issue{Number: n, Body: in.Body,
		URL: fmt.Sprintf("https://github.com/octocat/hello-world/issues/%d", n)}
	h.issues = slices.Insert(h.issues, 0, made)
	return answer(201, made)
}

func answer(status int, v any) (*pdk.Response, error) {
	body, err := json.Marshal(v)
	return &pdk.Response{Status: status, Body: body}, err
}

const args = `{"repository": "octocat/hello-world", "title": "It is broken", "body": "Look."}`

func TestCreate(t *testing.T) {
	h := &hub{}
	host := &pdktest.Host{Respond: h.respond}
	want := `{"number":1,"url":"https://github.com/octocat/hello-world/issues/1"}`
	if got, err := host.Call("create_issue", args); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if h.issues[0].Body != "Look." || len(h.asked) != 1 {
		t.Errorf("%+v, %q", h.issues, h.asked)
	}
}

// TestUnderAKey opens one issue, however often it is asked to.
func TestUnderAKey(t *testing.T) {
	h := &hub{}
	for _, step := range []struct{ key, want string }{
		{"a --> b", `{"number":1,"url":"https://github.com/octocat/hello-world/issues/1"}`},
		{"a --> b",
			`{"number":1,"url":"https://github.com/octocat/hello-world/issues/1","existed":true}`},
		{"a", `{"number":2,"url":"https://github.com/octocat/hello-world/issues/2"}`},
		{"a --> b",
			`{"number":1,"url":"https://github.com/octocat/hello-world/issues/1","existed":true}`},
	} {
		host := &pdktest.Host{Respond: h.respond, Key: step.key}
		if got, err := host.Call("create_issue", args); err != nil || got != step.want {
			t.Errorf("%s: %s, %v", step.key, got, err)
		}
	}
	if body := h.issues[1].Body; body != "Look.\n\n<!-- key: a+--%3E+b -->" {
		t.Errorf("%q", body)
	}
}

func TestOwnGitHub(t *testing.T) {
	var asked string
	host := &pdktest.Host{Config: map[string]any{"api_url": "https://git.example.org/api/v3/"},
		Respond: func(r *pdk.Request) (*pdk.Response, error) {
			asked = r.URL
			return answer(201, issue{Number: 7})
		}}
	if _, err := host.Call("create_issue", args); err != nil ||
		asked != "https://git.example.org/api/v3/repos/octocat/hello-world/issues" {
		t.Errorf("%s, %v", asked, err)
	}
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"no token":   {401, `{"message": "Bad credentials"}`, "auth_required true"},
		"forbidden":  {403, `{"message": "Resource not accessible"}`, "github_403 true"},
		"rate limit": {403, `{"message": "API rate limit exceeded"}`, "github_403 false"},
		"not there":  {404, `{"message": "Not Found"}`, "github_404 true"},
		"refused":    {422, `{"message": "Validation Failed"}`, "github_422 true"},
		"slow down":  {429, ``, "github_429 false"},
		"ill":        {502, `<html>`, "github_502 false"},
		"no answer":  {200, `{`, "bad_answer false"},
		"a long story": {500, `{"message": "` + strings.Repeat("x", maxExcerpt+1) + `"}`,
			"github_500 false"},
	} {
		host := &pdktest.Host{Respond: func(*pdk.Request) (*pdk.Response, error) {
			return &pdk.Response{Status: test.status, Body: []byte(test.body)}, nil
		}}
		_, err := host.Call("create_issue", args)
		f, ok := err.(*pdktest.Error).Err.(*pdk.Failure)
		if !ok || fmt.Sprint(f.Code, " ", f.Permanent) != test.want ||
			len(f.Message) > 2*maxExcerpt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pdktest.Call("create_issue", args); !strings.Contains(fmt.Sprint(err), "denied") {
		t.Errorf("not granted: %v", err)
	}
}

func TestLimits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ä", n) }
	in := func(change func(*Input)) Input {
		i := Input{Repository: "octocat/hello-world", Title: "It is broken"}
		change(&i)
		return i
	}
	for name, test := range map[string]struct{ at, past func(*Input) }{
		"title": {func(i *Input) { i.Title = long(maxTitle) },
			func(i *Input) { i.Title = long(maxTitle + 1) }},
		"no title": {func(i *Input) {}, func(i *Input) { i.Title = " " }},
		"body": {func(i *Input) { i.Body = long(maxBody) },
			func(i *Input) { i.Body = long(maxBody + 1) }},
		"label": {func(i *Input) { i.Labels = []string{long(maxLabel)} },
			func(i *Input) { i.Labels = []string{long(maxLabel + 1)} }},
		"labels": {func(i *Input) { i.Labels = slices.Repeat([]string{"l"}, maxLabels) },
			func(i *Input) { i.Labels = slices.Repeat([]string{"l"}, maxLabels+1) }},
		"repository": {func(i *Input) { i.Repository = "a-1/b.c_d" },
			func(i *Input) { i.Repository = "a/b/c" }},
		"dots": {func(i *Input) { i.Repository = "a/.b" },
			func(i *Input) { i.Repository = "a/.." }},
		"a query": {func(i *Input) { i.Repository = "a/b" },
			func(i *Input) { i.Repository = "a/b?c" }},
	} {
		if err := check(in(test.at)); err != nil {
			t.Errorf("%s: at the limit: %v", name, err)
		}
		if err := check(in(test.past)); err == nil {
			t.Errorf("%s: past the limit: no error", name)
		}
	}
}
