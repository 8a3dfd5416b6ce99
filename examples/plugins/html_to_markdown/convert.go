package main

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
	linksKeep  = "keep"
	linksText  = "text"
	imagesKeep = "keep"
	imagesAlt  = "alt"
	imagesDrop = "drop"
)

type options struct {
	base          *url.URL // nil: relative links stay as they are
	links, images string
	mainOnly      bool
	drop          []string // names of elements
}

type page struct{ title, markdown string }

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

func convert(source string, opts options) (page, error) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return page{}, err
	}
	var p page
	p.title = textOf(find(doc, func(n *html.Node) bool { return n.Data == "title" }))
	c := cleaner{options: opts}
	c.readBase(doc)
	root := doc
	if opts.mainOnly {
		root = mainPart(doc)
	}
	if err := c.clean(root, 0); err != nil {
		return page{}, err
	}
	renderer := escaping
	if c.openBrackets > maxOpenBrackets {
		renderer = verbatim
	}
	text, err := renderer.ConvertNode(root)
	if err != nil {
		return page{}, fmt.Errorf("render: %w", err)
	}
	p.markdown = string(text)
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
