package extract

import (
	"net/url"
	"ponder/internal/textkit"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
