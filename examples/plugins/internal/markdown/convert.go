// Package markdown makes Markdown of web pages, without what is not there to be read.
package markdown

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// What to do with links and images.
const (
	LinksKeep  = "keep"
	LinksText  = "text"
	ImagesKeep = "keep"
	ImagesAlt  = "alt"
	ImagesDrop = "drop"
)

// Options say what of a page is wanted.
type Options struct {
	Base          *url.URL // nil: relative links stay as they are
	Links, Images string   // LinksKeep or another; ImagesKeep or another
	MainOnly      bool
	Drop          []string // names of elements
}

// Page is a page made readable.
type Page struct{ Title, Markdown string }

// escaping turns a cleaned tree into Markdown in which text that looks like markup is escaped.
// Its time grows with the square of the opening brackets on a line; verbatim leaves text as it is,
// for pages with too many of them.
var (
	escaping = newRenderer()
	verbatim = newRenderer(converter.WithEscapeMode(converter.EscapeModeDisabled))
)

func newRenderer(opts ...func(*converter.Converter) error) *converter.Converter {
	return converter.NewConverter(append(opts, converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithHeaderPromotion(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		),
	))...)
}

// Convert makes Markdown of HTML, a page or a piece of one.
func Convert(source string, opts Options) (Page, error) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return Page{}, err
	}
	var p Page
	p.Title = textOf(find(doc, func(n *html.Node) bool { return n.Data == "title" }))
	c := cleaner{Options: opts}
	c.readBase(doc)
	root := doc
	if opts.MainOnly {
		root = mainPart(doc)
	}
	if err := c.clean(root, 0); err != nil {
		return Page{}, err
	}
	renderer := escaping
	if c.openBrackets > MaxOpenBrackets {
		renderer = verbatim
	}
	text, err := renderer.ConvertNode(root)
	if err != nil {
		return Page{}, fmt.Errorf("render: %w", err)
	}
	p.Markdown = string(text)
	return p, nil
}

// mainPart is the first main element, else the only article, else the whole page.
func mainPart(doc *html.Node) *html.Node {
	part := find(doc, func(n *html.Node) bool {
		return n.Data == "main" || attr(n, "role") == "main"
	})
	if part != nil {
		return part
	}
	articles := 0
	var article *html.Node
	find(doc, func(n *html.Node) bool {
		if n.Data == "article" {
			article = n
			articles++
		}
		return articles > 1
	})
	if articles == 1 {
		return article
	}
	return doc
}

// find gives the first element, in the order of the source, for which is holds.
func find(n *html.Node, is func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && is(d) {
			return d
		}
	}
	return nil
}

// textOf gives the text in n, with single blanks.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
