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

type bounded struct {
	page  string
	about about
	large bool // too large for a tree; page is unchanged
}

// bound drops too deep tags and scripts in one pass.
func bound(page string) bounded {
	b := bounder{z: html.NewTokenizer(strings.NewReader(page))}
	b.z.SetMaxBuf(2 * MaxPage)
	for {
		kind := b.z.Next()
		if kind == html.ErrorToken {
			break
		}
		b.token(kind)
	}
	if b.large() {
		return bounded{page: page, about: b.about, large: true}
	}
	return bounded{page: b.out.String(), about: b.about}
}

type bounder struct {
	z     *html.Tokenizer
	out   strings.Builder
	open  []atom.Atom
	style int // number of open styles
	code  bool
	nodes int
	size  int // bytes of text
	about about
}

func (b *bounder) large() bool { return b.nodes > maxNodes || b.size > maxText }

func (b *bounder) token(kind html.TokenType) {
	raw := string(b.z.Raw())
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		t := b.z.Token()
		b.about.tag(t)
		b.code = code(t)
		if b.start(t.DataAtom) {
			b.write(t, raw)
		}
	case html.EndTagToken:
		name, _ := b.z.TagName()
		b.about.end()
		b.end(atom.Lookup(name))
		b.code = false
		b.put(raw)
	case html.TextToken:
		if b.code || len(b.open) > 0 && b.open[len(b.open)-1] == atom.Script && len(raw) > maxData {
			return
		}
		b.nodes += 1 + b.style
		b.size += len(raw)
		b.about.text(raw)
		b.put(raw)
	}
}

// code reports scripts and style sheets, but not JSON metadata.
func code(t html.Token) bool {
	if t.DataAtom != atom.Script {
		return t.DataAtom == atom.Style
	}
	return !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool {
		return a.Key == "type" && strings.Contains(strings.ToLower(a.Val), "json")
	})
}

func (b *bounder) put(s string) {
	if !b.large() {
		b.out.WriteString(s)
	}
}

func (b *bounder) write(t html.Token, raw string) {
	if len(t.Attr) <= maxAttrs {
		b.put(raw)
		return
	}
	t.Attr = t.Attr[:maxAttrs]
	b.put(t.String())
}

// start reports whether to keep the element.
func (b *bounder) start(tag atom.Atom) bool {
	b.imply(tag)
	b.nodes += 1 + b.style
	switch {
	case void[tag]:
		return true
	case len(b.open) >= maxDepth, styles[tag] && b.style >= maxStyle:
		return false
	}
	b.open = append(b.open, tag)
	if styles[tag] {
		b.style++
	}
	return true
}

// imply closes elements that the new one ends, such as a paragraph.
func (b *bounder) imply(tag atom.Atom) {
	if !implied[tag] {
		return
	}
	for i := len(b.open) - 1; i >= 0 && i >= len(b.open)-8; i-- {
		if b.open[i] == tag {
			b.close(i)
			return
		}
		if scope[b.open[i]] {
			return
		}
	}
}

// end also closes open elements inside. Unmatched tags do nothing.
func (b *bounder) end(tag atom.Atom) {
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i] == tag {
			b.close(i)
			return
		}
	}
}

func (b *bounder) close(from int) {
	for _, tag := range b.open[from:] {
		if styles[tag] {
			b.style--
		}
	}
	b.open = b.open[:from]
}

var (
	void = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)

	// styles are reopened by parsers in each block.
	styles = set(atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U)

	// implied elements end the previous one of their kind,
	implied = set(atom.P, atom.Li, atom.Td, atom.Th, atom.Tr, atom.Dt, atom.Dd, atom.Option, atom.Optgroup, atom.Thead, atom.Tbody, atom.Tfoot)

	// but not across a scope.
	scope = set(atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.Section, atom.Article, atom.Blockquote, atom.Select)
)

func set(list ...atom.Atom) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, a := range list {
		m[a] = true
	}
	return m
}
