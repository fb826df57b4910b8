package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds on the tree, since some libraries need quadratic time. Of 1,277 real pages the
// median has 1,600 nodes and depth 17, the 99th percentile 8,000 and 52, the largest
// 28,000.
const (
	maxDepth = 150     // nested elements
	maxStyle = 24      // nested <b>, <font> and so on, which parsers reopen in each paragraph
	maxNodes = 30_000  // elements and texts
	maxText  = 1 << 20 // bytes
	maxData  = 1 << 18 // bytes of JSON
	maxAttrs = 40      // per element
)

type boundedPage struct {
	page     string
	metadata pageMetadata
	large    bool // too large for a tree; page is unchanged
}

// boundPage drops too deep tags and scripts in one pass.
func boundPage(page string) boundedPage {
	b := bounder{z: html.NewTokenizer(strings.NewReader(page))}
	b.z.SetMaxBuf(2 * MaxPage)
	for {
		kind := b.z.Next()
		if kind == html.ErrorToken {
			break
		}
		b.addToken(kind)
	}
	if b.isLarge() {
		return boundedPage{page: page, metadata: b.metadata, large: true}
	}
	return boundedPage{page: b.out.String(), metadata: b.metadata}
}

type bounder struct {
	z        *html.Tokenizer
	out      strings.Builder
	open     []atom.Atom
	style    int // number of open styles
	code     bool
	nodes    int
	size     int // bytes of text
	metadata pageMetadata
}

func (b *bounder) isLarge() bool { return b.nodes > maxNodes || b.size > maxText }

func (b *bounder) addToken(kind html.TokenType) {
	raw := string(b.z.Raw())
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		t := b.z.Token()
		b.metadata.readTag(t)
		b.code = isCode(t)
		if b.startElement(t.DataAtom) {
			b.writeTag(t, raw)
		}
	case html.EndTagToken:
		name, _ := b.z.TagName()
		b.metadata.endElement()
		b.endElement(atom.Lookup(name))
		b.code = false
		b.writeRaw(raw)
	case html.TextToken:
		if b.code || len(b.open) > 0 && b.open[len(b.open)-1] == atom.Script && len(raw) > maxData {
			return
		}
		b.nodes += 1 + b.style
		b.size += len(raw)
		b.metadata.readText(raw)
		b.writeRaw(raw)
	}
}

// isCode reports scripts and style sheets, but not JSON metadata.
func isCode(t html.Token) bool {
	if t.DataAtom != atom.Script {
		return t.DataAtom == atom.Style
	}
	return !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool {
		return a.Key == "type" && strings.Contains(strings.ToLower(a.Val), "json")
	})
}

func (b *bounder) writeRaw(s string) {
	if !b.isLarge() {
		b.out.WriteString(s)
	}
}

func (b *bounder) writeTag(t html.Token, raw string) {
	if len(t.Attr) <= maxAttrs {
		b.writeRaw(raw)
		return
	}
	t.Attr = t.Attr[:maxAttrs]
	b.writeRaw(t.String())
}

// startElement reports whether to keep the element.
func (b *bounder) startElement(tag atom.Atom) bool {
	b.closeImplied(tag)
	b.nodes += 1 + b.style
	switch {
	case voidTags[tag]:
		return true
	case len(b.open) >= maxDepth, styleTags[tag] && b.style >= maxStyle:
		return false
	}
	b.open = append(b.open, tag)
	if styleTags[tag] {
		b.style++
	}
	return true
}

// closeImplied closes elements that the new one ends, such as a paragraph.
func (b *bounder) closeImplied(tag atom.Atom) {
	if !impliedEndTags[tag] {
		return
	}
	for i := len(b.open) - 1; i >= 0 && i >= len(b.open)-8; i-- {
		if b.open[i] == tag {
			b.closeFrom(i)
			return
		}
		if scopeTags[b.open[i]] {
			return
		}
	}
}

// endElement also closes open elements inside. Unmatched tags do nothing.
func (b *bounder) endElement(tag atom.Atom) {
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i] == tag {
			b.closeFrom(i)
			return
		}
	}
}

func (b *bounder) closeFrom(from int) {
	for _, tag := range b.open[from:] {
		if styleTags[tag] {
			b.style--
		}
	}
	b.open = b.open[:from]
}

var (
	voidTags = atomSet(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)

	// styleTags are reopened by parsers in each block.
	styleTags = atomSet(atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U)

	// impliedEndTags elements end the previous one of their kind,
	impliedEndTags = atomSet(atom.P, atom.Li, atom.Td, atom.Th, atom.Tr, atom.Dt, atom.Dd, atom.Option, atom.Optgroup, atom.Thead, atom.Tbody, atom.Tfoot)

	// but not across a scope.
	scopeTags = atomSet(atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.Section, atom.Article, atom.Blockquote, atom.Select)
)

func atomSet(list ...atom.Atom) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, a := range list {
		m[a] = true
	}
	return m
}
