// Html_to_markdown turns a web page into Markdown, so that an agent reads its text, links and
// tables for a tenth of the tokens.
package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/markdown"
	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxHTMLBytes = 2 << 20   // bytes of the page
	maxChars     = 1_000_000 // characters of Markdown
	maxURLBytes  = 2048      // bytes of base_url
	maxDropped   = 50        // names in drop
)

func init() {
	pdk.Plugin("html_to_markdown", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "html_to_markdown",
		Description: "Convert HTML to Markdown with headings, lists, links, tables and code. Use " +
			"it on a fetched page before reading it. Scripts, styles, forms and hidden elements " +
			"are left out; links are made absolute with base_url.",
		Effect: pdk.Read,
	}, run)
}

func main() {}

// Input is the arguments of html_to_markdown.
type Input struct {
	HTML     string   `json:"html" doc:"a whole page or a fragment"`
	BaseURL  string   `json:"base_url,omitempty" doc:"address of the page, to make relative links absolute, e.g. https://example.org/docs/"`
	Links    string   `json:"links,omitempty" enum:"keep,text" default:"keep" doc:"keep: as Markdown links; text: only their text"`
	Images   string   `json:"images,omitempty" enum:"keep,alt,drop" default:"alt" doc:"keep: as Markdown images; alt: only their description; drop: nothing"`
	MainOnly bool     `json:"main_only,omitempty" doc:"only the page's main or article element, if it has one: no menus or footers"`
	Drop     []string `json:"drop,omitempty" doc:"names of elements to leave out with all they hold, e.g. nav, aside, footer"`
	MaxChars int      `json:"max_chars,omitempty" min:"1" max:"1000000" default:"100000" doc:"cut the Markdown after so many characters"`
}

// Output is the result of html_to_markdown.
type Output struct {
	Markdown   string `json:"markdown"`
	Title      string `json:"title,omitempty" doc:"the page's title element"`
	TotalChars int    `json:"total_chars" doc:"characters of the whole Markdown"`
	Truncated  bool   `json:"truncated" doc:"the Markdown was cut at max_chars"`
}

func run(_ *pdk.Call, in Input) (Output, error) {
	opts, err := optionsOf(in)
	if err != nil {
		return Output{}, err
	}
	page, err := markdown.Convert(in.HTML, opts)
	if err != nil {
		return Output{}, &pdk.Failure{Code: "bad_html", Message: err.Error(), Permanent: true}
	}
	out := Output{Title: page.Title, TotalChars: utf8.RuneCountInString(page.Markdown)}
	out.Markdown, out.Truncated = markdown.Cut(page.Markdown, in.MaxChars)
	return out, nil
}

// optionsOf checks the arguments.
func optionsOf(in Input) (markdown.Options, error) {
	if len(in.HTML) > maxHTMLBytes {
		return markdown.Options{}, pdk.InvalidInput("/html",
			fmt.Sprintf("%d bytes, at most %d", len(in.HTML), maxHTMLBytes))
	}
	if in.MaxChars < 1 || in.MaxChars > maxChars {
		return markdown.Options{}, pdk.InvalidInput("/max_chars", fmt.Sprintf("from 1 to %d", maxChars))
	}
	if len(in.Drop) > maxDropped {
		return markdown.Options{}, pdk.InvalidInput("/drop", fmt.Sprintf("at most %d names", maxDropped))
	}
	opts := markdown.Options{Links: in.Links, Images: in.Images, MainOnly: in.MainOnly}
	if !slices.Contains([]string{markdown.LinksKeep, markdown.LinksText}, opts.Links) {
		return markdown.Options{}, pdk.InvalidInput("/links", "keep or text")
	}
	if !slices.Contains([]string{markdown.ImagesKeep, markdown.ImagesAlt, markdown.ImagesDrop}, opts.Images) {
		return markdown.Options{}, pdk.InvalidInput("/images", "keep, alt or drop")
	}
	for _, name := range in.Drop {
		opts.Drop = append(opts.Drop, strings.ToLower(strings.Trim(name, "<>/ ")))
	}
	var err error
	opts.Base, err = baseURL(in.BaseURL)
	return opts, err
}

func baseURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) > maxURLBytes {
		return nil, pdk.InvalidInput("/base_url",
			fmt.Sprintf("%d bytes, at most %d", len(s), maxURLBytes))
	}
	base, err := url.Parse(s)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, pdk.InvalidInput("/base_url",
			"not an absolute http or https URL such as https://example.org/docs/")
	}
	return base, nil
}
