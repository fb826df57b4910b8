package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A block is a run of text, such as a paragraph.
type block struct {
	text  string
	nodes []*html.Node
}

func blocks(tree *html.Node) []block {
	var w walker
	w.walk(tree, false)
	w.flush(false)
	return w.blocks
}

type walker struct {
	blocks []block
	open   block
	b      strings.Builder
}

func (w *walker) walk(n *html.Node, pre bool) {
	switch n.Type {
	case html.TextNode:
		w.b.WriteString(n.Data)
		w.open.nodes = append(w.open.nodes, n)
		return
	case html.ElementNode:
		if unseen[n.DataAtom] {
			return
		}
		pre = pre || n.DataAtom == atom.Pre
		if !inText[n.DataAtom] {
			w.flush(pre)
			defer w.flush(pre)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walk(c, pre)
	}
}

// flush ends the open block. Preformatted blocks keep their lines.
func (w *walker) flush(pre bool) {
	text := w.b.String()
	if pre {
		text = strings.Trim(text, "\n")
	} else {
		text = strings.Join(strings.Fields(text), " ")
	}
	if !blank(text) {
		w.open.text = text
		w.blocks = append(w.blocks, w.open)
	}
	w.open = block{}
	w.b.Reset()
}

// remove removes a block and emptied elements from the tree.
func (b block) remove() {
	for _, n := range b.nodes {
		for p := n.Parent; p != nil; p = n.Parent {
			p.RemoveChild(n)
			if p.FirstChild != nil || p.Parent == nil {
				break
			}
			n = p
		}
	}
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' })
}

var (
	// unseen elements have no text of the page.
	unseen = set(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Datalist, atom.Button, atom.Textarea, atom.Dialog,
		atom.Map, atom.Noembed, atom.Noframes, atom.Head, atom.Title)

	// inText elements do not end a block.
	inText = set(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
		atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.S,
		atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr)
)
