// Github_issue opens issues on GitHub, with a token that its operator has and it never sees.
package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxTitle   = 256    // characters; GitHub's own
	maxBody    = 65_000 // characters; GitHub's own, less the mark
	maxLabels  = 20
	maxLabel   = 50 // characters
	maxExcerpt = 300
	recent     = 100 // issues among which one of the same key is looked for
)

// api is where GitHub listens, unless the operator's setting api_url says otherwise.
const api = "https://api.github.com"

func init() {
	pdk.Plugin("github_issue", "1.0.0")
	pdk.Needs(abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "api.github.com", Methods: []string{"GET", "POST"},
			Reason: "to open issues, and to see whether one is open already"}},
		Secrets: []abi.ValueNeed{{Name: "token",
			Description: "a GitHub token that may write issues, sent as a bearer token"}},
		Config: []abi.ValueNeed{{Name: "api_url", Default: api,
			Description: "the address of the API, for a GitHub of your own"}},
	})
	pdk.Register(pdk.Tool{
		Name: "create_issue",
		Description: "Open an issue in a GitHub repository. Say in the title what is wrong or wanted, in " +
			"the body how to see it. Under an idempotency key the same issue is opened once.",
	}, create)
}

func main() {}

// Input is the arguments of create_issue.
type Input struct {
	Repository string   `json:"repository" doc:"owner and name, e.g. octocat/hello-world"`
	Title      string   `json:"title"`
	Body       string   `json:"body,omitempty" doc:"Markdown"`
	Labels     []string `json:"labels,omitempty" doc:"labels that the repository has"`
}

// Output is the result of create_issue.
type Output struct {
	Number  int    `json:"number"`
	URL     string `json:"url" doc:"of the issue's page"`
	Existed bool   `json:"existed,omitempty" doc:"an earlier attempt had opened it"`
}

var repository = regexp.MustCompile(`^[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}$`)

func check(in Input) error {
	switch {
	case !repository.MatchString(in.Repository) || strings.HasSuffix(in.Repository, "/.") ||
		strings.HasSuffix(in.Repository, "/.."):
		return pdk.InvalidInput("/repository", "want owner/name, such as octocat/hello-world")
	case strings.TrimSpace(in.Title) == "" || utf8.RuneCountInString(in.Title) > maxTitle:
		return pdk.InvalidInput("/title", fmt.Sprintf("from 1 to %d characters", maxTitle))
	case utf8.RuneCountInString(in.Body) > maxBody:
		return pdk.InvalidInput("/body", fmt.Sprintf("at most %d characters", maxBody))
	case len(in.Labels) > maxLabels:
		return pdk.InvalidInput("/labels", fmt.Sprintf("at most %d", maxLabels))
	}
	for i, label := range in.Labels {
		if n := utf8.RuneCountInString(label); n == 0 || n > maxLabel {
			return pdk.InvalidInput("/labels/"+strconv.Itoa(i),
				fmt.Sprintf("from 1 to %d characters", maxLabel))
		}
	}
	return nil
}

func create(c *pdk.Call, in Input) (Output, error) {
	if err := check(in); err != nil {
		return Output{}, err
	}
	g, err := newClient(c, in.Repository)
	if err != nil {
		return Output{}, err
	}
	body := in.Body
	if c.Key != "" {
		mark := markOf(c.Key)
		if out, ok, err := g.find(mark); ok || err != nil {
			return out, err
		}
		body = strings.TrimSpace(body + "\n\n" + mark)
	}
	var made issue
	err = g.do("POST", "/issues", map[string]any{"title": in.Title, "body": body,
		"labels": in.Labels}, &made)
	return Output{Number: made.Number, URL: made.URL}, err
}

// markOf is a comment that readers of the issue do not see, by which it is found again.
func markOf(key string) string { return "<!-- key: " + url.QueryEscape(key) + " -->" }

// client speaks with GitHub about one repository.
type client struct {
	http pdk.HTTPClient
	base string
}

func newClient(c *pdk.Call, repository string) (*client, error) {
	base := api
	if _, err := c.Config("api_url", &base); err != nil {
		return nil, err
	}
	return &client{pdk.HTTP(c), strings.TrimSuffix(base, "/") + "/repos/" + repository}, nil
}

// issue is what GitHub tells of one.
type issue struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
	Body   string `json:"body"`
}

// find looks for a mark among the issues that were opened last.
func (g *client) find(mark string) (Output, bool, error) {
	var list []issue
	path := fmt.Sprintf("/issues?state=all&sort=created&direction=desc&per_page=%d", recent)
	if err := g.do("GET", path, nil, &list); err != nil {
		return Output{}, false, err
	}
	for _, i := range list {
		if strings.Contains(i.Body, mark) {
			return Output{Number: i.Number, URL: i.URL, Existed: true}, true, nil
		}
	}
	return Output{}, false, nil
}

func (g *client) do(method, path string, in, out any) error {
	r := &pdk.Request{Method: method, URL: g.base + path, Headers: []pdk.Header{
		{Name: "Accept", Value: "application/vnd.github+json"},
		{Name: "X-GitHub-Api-Version", Value: "2022-11-28"}}}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return err
		}
		r.Body = body
		r.Headers = append(r.Headers, pdk.Header{Name: "Content-Type", Value: "application/json"})
	}
	resp, err := g.http.Do(r)
	switch {
	case err != nil:
		return err
	case resp.Status < 200 || resp.Status > 299:
		return refused(resp)
	case resp.Truncated:
		return &pdk.Failure{Code: "too_large",
			Message: "GitHub's answer is longer than the host lets through"}
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return &pdk.Failure{Code: "bad_answer",
			Message: "GitHub's answer cannot be read: " + err.Error()}
	}
	return nil
}

// refused is an answer that is no success, with GitHub's own words.
func refused(resp *pdk.Response) error {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(resp.Body, &said) // what cannot be read has said nothing
	if runes := []rune(said.Message); len(runes) > maxExcerpt {
		said.Message = string(runes[:maxExcerpt]) + "…"
	}
	f := &pdk.Failure{Code: "github_" + strconv.Itoa(resp.Status),
		Permanent: resp.Status < 500 && resp.Status != 429,
		Message:   fmt.Sprintf("GitHub answered with status %d: %s", resp.Status, said.Message)}
	switch resp.Status {
	case 401:
		f.Code = "auth_required"
		f.Message += " (the operator's secret token is missing, wrong or expired)"
	case 403:
		f.Permanent = !strings.Contains(said.Message, "rate limit")
	case 404:
		f.Message += " (there is no such repository, or the token may not see it)"
	}
	return f
}
