package extract

import (
	"net/url"
	"ponder/internal/textkit"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Readings are better without links: what has many of them is taken for a menu by
// those who see them. So they are put back when the text is chosen.

// A span is a link in a block, from one letter of it to another. Blanks do not
// count, since readings have them differently.
type span struct {
	start, end int
	url        string
}

// linked returns the links of the blocks of a page that have some, by their text.
func linked(doc *html.Node) map[string][]span {
	m := map[string][]span{}
	for _, b := range blocks(doc) {
		var list []span
		at := 0
		for _, n := range b.nodes {
			end := at + letters(n.Data)
			if to := target(n); to != "" && end > at {
				if k := len(list) - 1; k >= 0 && list[k].end == at && list[k].url == to {
					list[k].end = end
				} else {
					list = append(list, span{at, end, to})
				}
			}
			at = end
		}
		if list != nil {
			m[b.text] = list
		}
	}
	return m
}

// target returns the address that a text node links to, or "".
func target(n *html.Node) string {
	for p := n.Parent; p != nil && inText[p.DataAtom]; p = p.Parent {
		if p.DataAtom == atom.A {
			return attr(p, "href")
		}
	}
	return ""
}

// letters returns how many letters of a text are no blanks.
func letters(s string) (n int) {
	for _, r := range s {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// relink puts links back into a tree that has none.
func relink(tree *html.Node, links map[string][]span) {
	for _, b := range blocks(tree) {
		list := links[b.text]
		at := 0
		for _, n := range b.nodes {
			end := at + letters(n.Data)
			for _, s := range list {
				if s.start < end && s.end > at && n != nil {
					n = wrap(n, max(s.start, at)-at, min(s.end, end)-at, s.url)
					at = min(s.end, end)
				}
			}
			at = end
		}
	}
}

// wrap makes the letters of a text node from start to end a link, and returns the
// node of those that follow it.
func wrap(n *html.Node, start, end int, to string) *html.Node {
	i, j := index(n.Data, start), index(n.Data, end-1)
	if _, size := utf8.DecodeRuneInString(n.Data[j:]); size > 0 {
		j += size
	}
	before, inside, after := n.Data[:i], n.Data[i:j], n.Data[j:]
	a := &html.Node{Type: html.ElementNode, Data: "a", DataAtom: atom.A, Attr: []html.Attribute{{Key: "href", Val: to}}}
	a.AppendChild(&html.Node{Type: html.TextNode, Data: inside})
	rest := &html.Node{Type: html.TextNode, Data: after}
	n.Parent.InsertBefore(a, n.NextSibling)
	n.Parent.InsertBefore(rest, a.NextSibling)
	n.Data = before
	return rest
}

// index returns the byte at which a letter of a text stands, blanks not counted.
func index(s string, letter int) int {
	for i, r := range s {
		if unicode.IsSpace(r) {
			continue
		}
		if letter == 0 {
			return i
		}
		letter--
	}
	return len(s)
}

// links returns the links of a tree.
func links(tree *html.Node, page *url.URL) (list []Link) {
	known := map[string]bool{}
	for n := range tree.Descendants() {
		if n.DataAtom != atom.A || len(list) >= maxLinks {
			continue
		}
		u := resolve(page, attr(n, "href"))
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
