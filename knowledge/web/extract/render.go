package extract

import (
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ponder/internal/textkit"
)

const maxLinks = 1000

// maxCells limits rows times longest row; larger tables become text.
const maxCells = 20_000

func renderTree(tree *html.Node, a pageMetadata) (c Content) {
	if tree == nil {
		return c
	}
	flattenTree(tree)
	var text []string
	for _, b := range findBlocks(tree) {
		text = append(text, b.text)
	}
	c.Text = strings.TrimSpace(textkit.Visible(textkit.Prefix(strings.Join(text, "\n"), maxOut)))
	c.Markdown = c.Text
	c.Links = findLinks(tree, a.page)
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	if md, err := conv.ConvertNode(tree); err == nil {
		c.Markdown = strings.TrimSpace(textkit.Visible(textkit.Prefix(string(md), maxOut)))
		c.Truncated = len(md) > maxOut
	}
	return c
}

// cleanTree makes links absolute, and removes those outside the web and attributes that
// enlarge tables. It separates adjacent blocks, whose texts libraries may join.
func cleanTree(n *html.Node, page *url.URL) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "colspan" || a.Key == "rowspan" || a.Key == "start" && n.DataAtom == atom.Ol
	})
	for i, a := range n.Attr {
		if a.Key == "href" && n.DataAtom == atom.A {
			n.Attr[i].Val = ""
			if u := resolveURL(page, a.Val); u != nil && !strings.HasPrefix(strings.TrimSpace(a.Val), "#") {
				n.Attr[i].Val = u.String()
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		cleanTree(c, page)
		if c.Type == html.ElementNode && !inlineTags[c.DataAtom] && c.NextSibling != nil && c.NextSibling.Type == html.ElementNode {
			n.InsertBefore(&html.Node{Type: html.TextNode, Data: "\n"}, c.NextSibling)
		}
	}
}

func removePictures(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if isPicture(c) {
			n.RemoveChild(c)
		} else {
			removePictures(c)
		}
		c = next
	}
}

const maxCaption = 1000

// isPicture reports whether an element is a picture or a caption.
func isPicture(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Img, atom.Picture, atom.Figcaption:
		return true
	case 0, atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	class := strings.ToLower(attrValue(n, "class"))
	if n.DataAtom != atom.Figure && !strings.Contains(class, "caption") && !strings.Contains(class, "credit") {
		return false
	}
	size := 0
	for c := range n.Descendants() {
		switch c.DataAtom {
		case atom.Table, atom.Pre, atom.Blockquote:
			return false
		}
		if c.Type == html.TextNode {
			size += len(c.Data)
		}
	}
	return size <= maxCaption
}

// flattenTree turns empty links and too large tables into text.
func flattenTree(n *html.Node) {
	switch n.DataAtom {
	case atom.A:
		if attrValue(n, "href") == "" {
			n.DataAtom, n.Data, n.Attr = atom.Span, "span", nil
		}
	case atom.Table:
		if rows, cells := tableSize(n); rows*cells > maxCells {
			plainTable(n)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		flattenTree(c)
	}
}

// tableSize returns the number of rows and the longest row.
func tableSize(n *html.Node) (rows, cells int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r, k := tableSize(c)
		rows, cells = rows+r, max(cells, k)
		if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
			rows = max(rows, 1)
		}
	}
	if n.DataAtom == atom.Tr {
		k := 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				k++
			}
		}
		rows, cells = rows+1, max(cells, k)
	}
	return rows, cells
}

// plainTable turns a table into blocks.
func plainTable(n *html.Node) {
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup, atom.Col:
		n.DataAtom, n.Data = atom.Div, "div"
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		plainTable(c)
	}
}

func attrValue(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func findLinks(tree *html.Node, page *url.URL) (list []Link) {
	known := map[string]bool{}
	for n := range tree.Descendants() {
		if n.DataAtom != atom.A || len(list) >= maxLinks {
			continue
		}
		u := resolveURL(page, attrValue(n, "href"))
		if u == nil || known[u.String()] {
			continue
		}
		known[u.String()] = true
		var b strings.Builder
		for t := range n.Descendants() {
			if t.Type == html.TextNode {
				b.WriteString(t.Data)
			}
		}
		list = append(list, Link{u.String(), textkit.PrefixLine(b.String(), maxName)})
	}
	return list
}

func isBlank(s string) bool {
	return strings.TrimSpace(s) == ""
}

// readPlain reads a page with headings and items, but without scripts, menus and margins.
// It builds no tree.
func readPlain(page string, a pageMetadata) Content {
	c := Content{Title: a.title, Author: a.author, Site: a.site, Description: a.description, Language: a.language, Published: a.published, Plain: true}
	setIfEmpty(&c.Title, a.heading)
	for _, drop := range []map[atom.Atom]bool{boilerplateTags, nil} {
		p := plainReader{z: html.NewTokenizer(strings.NewReader(page)), drop: drop}
		p.z.SetMaxBuf(2 * MaxPage)
		p.readTokens()
		c.Text, c.Markdown = strings.TrimSpace(textkit.Visible(textkit.Prefix(p.text.String(), maxOut))), strings.TrimSpace(textkit.Visible(textkit.Prefix(p.markdown.String(), maxOut)))
		if len(c.Text) >= minDetectText {
			break
		}
	}
	return c
}

// boilerplateTags surrounds the text of a page.
var boilerplateTags = atomSet(atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Menu)

type plainReader struct {
	z    *html.Tokenizer
	drop map[atom.Atom]bool

	text, markdown strings.Builder

	open   strings.Builder // the open block
	prefix string          // Markdown prefix of the block
	skip   atom.Atom       // skipped element and its depth
	depth  int
}

func (p *plainReader) readTokens() {
	for {
		switch p.z.Next() {
		case html.ErrorToken:
			p.flush()
			return
		case html.TextToken:
			if p.skip == 0 && p.open.Len() < maxOut {
				p.open.Write(p.z.Text())
			}
		case html.StartTagToken:
			name, _ := p.z.TagName()
			p.startElement(atom.Lookup(name))
		case html.SelfClosingTagToken:
			name, _ := p.z.TagName()
			if tag := atom.Lookup(name); !inlineTags[tag] && p.skip == 0 {
				p.flush()
			}
		case html.EndTagToken:
			name, _ := p.z.TagName()
			p.endElement(atom.Lookup(name))
		}
	}
}

func (p *plainReader) startElement(tag atom.Atom) {
	switch {
	case p.skip != 0:
		if tag == p.skip {
			p.depth++
		}
		return
	case hiddenTags[tag] && tag != atom.Head || p.drop[tag]:
		p.skip, p.depth = tag, 1
	}
	if inlineTags[tag] {
		return
	}
	p.flush()
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.prefix = strings.Repeat("#", int(tag.String()[1]-'0')) + " "
	case atom.Li, atom.Dd:
		p.prefix = "- "
	}
}

func (p *plainReader) endElement(tag atom.Atom) {
	if p.skip != 0 {
		if tag == p.skip {
			if p.depth--; p.depth == 0 {
				p.skip = 0
			}
		}
		return
	}
	if !inlineTags[tag] {
		p.flush()
	}
}

func (p *plainReader) flush() {
	text := strings.Join(strings.Fields(p.open.String()), " ")
	prefix := p.prefix
	p.open.Reset()
	p.prefix = ""
	if text == "" || p.text.Len() > maxOut {
		return
	}
	p.text.WriteString(text + "\n")
	p.markdown.WriteString(prefix + text + "\n\n")
}
