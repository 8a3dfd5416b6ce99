// Fetch reads a page of the web: as Markdown if it is HTML, as it is if it is other text. Where it
// may go its operator decides.
package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/examples/plugins/internal/markdown"
	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxURLBytes  = 2048      // bytes of url
	maxHTMLBytes = 2 << 20   // bytes of a page that is converted
	maxChars     = 1_000_000 // characters of max_chars
	maxExcerpt   = 500       // characters of an error page that are told
)

func init() {
	pdk.Plugin("fetch", "1.0.0")
	pdk.Needs(abi.Needs{HTTP: []abi.HTTPNeed{{
		Host: abi.AnyHost, Methods: []string{"GET"},
		Reason: "to read the pages of hosts that you choose",
	}}})
	pdk.Register(pdk.Tool{
		Name: "fetch",
		Description: "Read a page of the web by its address. HTML becomes Markdown, other text stays as " +
			"it is. A long page comes in parts: call again with start set to the next of the result. " +
			"Only hosts that the operator allows can be reached.",
		Effect: pdk.Read,
	}, run)
}

func main() {}

// Input is the arguments of fetch.
type Input struct {
	URL      string `json:"url" doc:"the address, e.g. https://example.org/docs/"`
	MainOnly bool   `json:"main_only,omitempty" doc:"only the page's main or article element, if it has one: no menus or footers"`
	Start    int    `json:"start,omitempty" min:"0" doc:"leave out so many characters from the beginning: next of an earlier result"`
	MaxChars int    `json:"max_chars,omitempty" min:"1" max:"1000000" default:"20000" doc:"give at most so many characters"`
}

// Output is the result of fetch.
type Output struct {
	URL        string `json:"url" doc:"where the page was found, after redirects"`
	Title      string `json:"title,omitempty"`
	Type       string `json:"type" doc:"the media type that the server tells"`
	Text       string `json:"text"`
	TotalChars int    `json:"total_chars" doc:"characters of the whole text"`
	Next       int    `json:"next,omitempty" doc:"start of the part that follows; not there at the end"`
	Incomplete bool   `json:"incomplete,omitempty" doc:"the page is longer than the host lets through: its end is not in the text"`
}

func run(c *pdk.Call, in Input) (Output, error) {
	if err := check(in); err != nil {
		return Output{}, err
	}
	resp, err := pdk.HTTP(c).Do(&pdk.Request{URL: in.URL, Headers: []pdk.Header{
		{Name: "Accept", Value: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1"}}})
	if err != nil {
		return Output{}, err
	}
	page, err := read(resp, in)
	switch {
	case err != nil:
		return Output{}, err
	case resp.Status < 200 || resp.Status > 299:
		return Output{}, &pdk.Failure{Code: "http_status",
			Permanent: resp.Status < 500 && resp.Status != 429,
			Message: fmt.Sprintf("the server answered with status %d: %s", resp.Status,
				excerpt(page.Text, maxExcerpt))}
	}
	return part(page, in)
}

func check(in Input) error {
	u, err := url.Parse(in.URL)
	switch {
	case len(in.URL) > maxURLBytes:
		return pdk.InvalidInput("/url",
			fmt.Sprintf("%d bytes, at most %d", len(in.URL), maxURLBytes))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return pdk.InvalidInput("/url",
			"not an absolute http or https URL such as https://example.org/docs/")
	case in.Start < 0:
		return pdk.InvalidInput("/start", "less than 0")
	case in.MaxChars < 1 || in.MaxChars > maxChars:
		return pdk.InvalidInput("/max_chars", fmt.Sprintf("from 1 to %d", maxChars))
	}
	return nil
}

// read makes text of an answer.
func read(resp *pdk.Response, in Input) (Output, error) {
	kind, charset := mediaType(pdk.HeaderOf(resp.Headers, "Content-Type"), resp.Body)
	out := Output{URL: resp.URL, Type: kind, Incomplete: resp.Truncated}
	if out.URL == "" {
		out.URL = in.URL
	}
	if !isText(kind) {
		return out, &pdk.Failure{Code: "not_text", Permanent: true,
			Message: fmt.Sprintf("the page is %s, which cannot be read as text", kind)}
	}
	text, ok := decode(resp.Body, charset, resp.Truncated)
	if !ok {
		return out, &pdk.Failure{Code: "unknown_charset", Permanent: true,
			Message: fmt.Sprintf("the page is written in %s, which is not known here", charset)}
	}
	if !slices.Contains(htmlTypes, kind) {
		out.Text = text
		return out, nil
	}
	if len(text) > maxHTMLBytes {
		text, out.Incomplete = strings.ToValidUTF8(text[:maxHTMLBytes], ""), true
	}
	opts := markdown.Options{Links: markdown.LinksKeep, Images: markdown.ImagesAlt,
		MainOnly: in.MainOnly}
	opts.Base, _ = url.Parse(out.URL)
	page, err := markdown.Convert(text, opts)
	if err != nil {
		return out, &pdk.Failure{Code: "bad_html", Message: err.Error(), Permanent: true}
	}
	out.Title, out.Text = page.Title, page.Markdown
	return out, nil
}

// part cuts out what was asked for.
func part(page Output, in Input) (Output, error) {
	page.TotalChars = utf8.RuneCountInString(page.Text)
	if in.Start > page.TotalChars {
		return Output{}, pdk.InvalidInput("/start",
			fmt.Sprintf("the text has %d characters", page.TotalChars))
	}
	rest := page.Text
	for range in.Start {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	text, cut := markdown.Cut(rest, in.MaxChars)
	page.Text = text
	if cut {
		page.Next = in.Start + utf8.RuneCountInString(text)
	}
	return page, nil
}

func excerpt(text string, max int) string {
	short, cut := markdown.Cut(strings.Join(strings.Fields(text), " "), max)
	if cut {
		short += "…"
	}
	return short
}
