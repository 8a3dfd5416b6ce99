package markdown

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Limits of a page.
const (
	MaxNesting = 16  // lists and quotations inside each other; each one repeats its prefix on a line
	MaxSpan    = 100 // columns or rows of one table cell; wider ones count as one

	MaxOpenBrackets = 1000 // brackets without an end nearby, before text is no longer escaped
	nearby          = 200  // bytes
)

// noContent are elements that never hold text to read, beyond those that the renderer leaves out.
var noContent = []string{
	"audio", "button", "canvas", "dialog", "embed", "object", "select", "svg", "template", "video",
}

// linkSchemes are the schemes of URLs that are worth showing; "" is a relative one.
var linkSchemes = []string{"", "http", "https", "mailto", "tel", "ftp"}

// cleaner prepares a tree for the renderer.
type cleaner struct {
	Options
	openBrackets int // opening brackets without a closing one nearby
}

// readBase honours the page's own base element.
func (c *cleaner) readBase(doc *html.Node) {
	n := find(doc, func(n *html.Node) bool { return n.Data == "base" && attr(n, "href") != "" })
	if n == nil {
		return
	}
	href, err := url.Parse(strings.TrimSpace(attr(n, "href")))
	if err != nil {
		return
	}
	if c.Base != nil {
		href = c.Base.ResolveReference(href)
	}
	if href.Host != "" {
		c.Base = href
	}
}

// countBrackets looks for what the renderer takes long to escape.
func (c *cleaner) countBrackets(text string) {
	for {
		_, rest, found := strings.Cut(text, "[")
		if !found {
			return
		}
		if !strings.Contains(rest[:min(len(rest), nearby)], "]") {
			c.openBrackets++
		}
		text = rest
	}
}

// clean removes what is not to be read from below n and mends links, images and tables.
func (c *cleaner) clean(n *html.Node, nesting int) error {
	switch n.Data {
	case "blockquote", "ul", "ol":
		if nesting++; nesting > MaxNesting {
			return fmt.Errorf("more than %d lists and quotations inside each other", MaxNesting)
		}
	}
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Type == html.TextNode {
			c.countBrackets(child.Data)
		}
		if child.Type == html.ElementNode {
			if c.unwanted(child) {
				n.RemoveChild(child)
				child = next
				continue
			}
			if err := c.clean(child, nesting); err != nil {
				return err
			}
			c.mend(child)
		}
		child = next
	}
	return nil
}

// unwanted reports elements that are asked to be dropped, cannot be read, or are hidden: text that
// a person would not see is a way to talk to a model behind the person's back.
func (c *cleaner) unwanted(n *html.Node) bool {
	if slices.Contains(c.Drop, n.Data) || slices.Contains(noContent, n.Data) {
		return true
	}
	style := strings.ToLower(strings.Join(strings.Fields(attr(n, "style")), ""))
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }) ||
		strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func (c *cleaner) mend(n *html.Node) {
	switch n.Data {
	case "a":
		href, ok := c.resolve(attr(n, "href"))
		if !ok || href == "" || c.Links == LinksText {
			unwrap(n)
			return
		}
		setAttr(n, "href", href)
	case "img":
		src, ok := c.resolve(attr(n, "src"))
		switch {
		case c.Images == ImagesDrop:
			n.Parent.RemoveChild(n)
		case c.Images == ImagesAlt || !ok || src == "":
			alt := &html.Node{Type: html.TextNode, Data: attr(n, "alt")}
			n.Parent.InsertBefore(alt, n)
			n.Parent.RemoveChild(n)
		default:
			setAttr(n, "src", src)
		}
	case "td", "th":
		limitSpan(n)
	}
}

// resolve gives the address to show for a link. A link within the page stays as it is.
func (c *cleaner) resolve(link string) (string, bool) {
	link = strings.TrimSpace(link)
	if strings.HasPrefix(link, "#") {
		return link, true
	}
	u, err := url.Parse(link)
	if err != nil || !slices.Contains(linkSchemes, strings.ToLower(u.Scheme)) {
		return "", false
	}
	if c.Base == nil || link == "" {
		return link, true
	}
	return c.Base.ResolveReference(u).String(), true
}

// unwrap puts the children of n in its place.
func unwrap(n *html.Node) {
	for child := n.FirstChild; child != nil; child = n.FirstChild {
		n.RemoveChild(child)
		n.Parent.InsertBefore(child, n)
	}
	n.Parent.RemoveChild(n)
}

func setAttr(n *html.Node, key, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = value
		}
	}
}

// limitSpan drops column and row spans that would blow a table up.
func limitSpan(n *html.Node) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		if a.Key != "colspan" && a.Key != "rowspan" {
			return false
		}
		span, err := strconv.Atoi(strings.TrimSpace(a.Val))
		return err != nil || span < 1 || span > MaxSpan
	})
}
