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

func findBlocks(tree *html.Node) []block {
	var w blockWalker
	w.walkNode(tree, false)
	w.flush(false)
	return w.blocks
}

type blockWalker struct {
	blocks []block
	open   block
	b      strings.Builder
}

func (w *blockWalker) walkNode(n *html.Node, pre bool) {
	switch n.Type {
	case html.TextNode:
		w.b.WriteString(n.Data)
		w.open.nodes = append(w.open.nodes, n)
		return
	case html.ElementNode:
		if hiddenTags[n.DataAtom] {
			return
		}
		pre = pre || n.DataAtom == atom.Pre
		if !inlineTags[n.DataAtom] {
			w.flush(pre)
			defer w.flush(pre)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walkNode(c, pre)
	}
}

// flush ends the open block. Preformatted blocks keep their lines.
func (w *blockWalker) flush(pre bool) {
	text := w.b.String()
	if pre {
		text = strings.Trim(text, "\n")
	} else {
		text = strings.Join(strings.Fields(text), " ")
	}
	if !isBlank(text) {
		w.open.text = text
		w.blocks = append(w.blocks, w.open)
	}
	w.open = block{}
	w.b.Reset()
}

// removeNodes removes a block and emptied elements from the tree.
func (b block) removeNodes() {
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

func splitWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' })
}

var (
	// hiddenTags elements have no text of the page.
	hiddenTags = atomSet(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Datalist, atom.Button, atom.Textarea, atom.Dialog,
		atom.Map, atom.Noembed, atom.Noframes, atom.Head, atom.Title)

	// inlineTags elements do not end a block.
	inlineTags = atomSet(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
		atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.S,
		atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr)
)
