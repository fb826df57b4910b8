package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the tree that the libraries are given: some of them need time in
// proportion to the square of it. Of 1,277 pages that people read half have 1,600
// nodes and are 17 deep, one in a hundred has 8,000 and is 52 deep, and the largest
// has 28,000.
const (
	maxDepth = 150     // elements within each other
	maxStyle = 24      // of these, such as <b> and <font>, which a parser opens again in each paragraph
	maxNodes = 30_000  // elements and texts
	maxText  = 1 << 20 // bytes of text
	maxData  = 1 << 18 // bytes of what is written for machines
	maxAttrs = 40      // attributes of an element
)

// bounded is a page that can be made into a tree, or is large.
type bounded struct {
	page  string
	about about
	large bool // too large for a tree; page is as it was
}

// bound drops the tags of a page that are too deep, and scripts. The text between
// them stays. It goes through the page once.
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
	style int  // how many of the open ones only change how letters look
	code  bool // in a script or a style sheet
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

// code reports whether an element holds a script or a style sheet, rather than
// what the page says of itself in JSON.
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

// write writes a tag, with not too many attributes.
func (b *bounder) write(t html.Token, raw string) {
	if len(t.Attr) <= maxAttrs {
		b.put(raw)
		return
	}
	t.Attr = t.Attr[:maxAttrs]
	b.put(t.String())
}

// start notes that an element begins, and reports whether it may.
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

// imply closes what an element closes that begins, such as a paragraph another.
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

// end notes that an element ends, with all that are still open in it. One that
// was never begun ends nothing.
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
	// void has no end tag.
	void = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)

	// styles are opened again by a parser in each block until they are closed.
	styles = set(atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U)

	// implied ends the one before it of its kind.
	implied = set(atom.P, atom.Li, atom.Td, atom.Th, atom.Tr, atom.Dt, atom.Dd, atom.Option, atom.Optgroup, atom.Thead, atom.Tbody, atom.Tfoot)

	// scope is what that does not reach out of.
	scope = set(atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.Section, atom.Article, atom.Blockquote, atom.Select)
)

func set(list ...atom.Atom) map[atom.Atom]bool {
	m := map[atom.Atom]bool{}
	for _, a := range list {
		m[a] = true
	}
	return m
}
