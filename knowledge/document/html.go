package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ponder/internal/textkit/charset"
)

// HTML returns the visible content of a page without navigation. It streams tags and
// builds no tree, so deep nesting costs linear time.
func HTML(page []byte) (Content, error) {
	page, err := decodeHTML(page)
	if err != nil {
		return Content{}, err
	}
	return htmlText(page)
}

func htmlText(page []byte) (Content, error) {
	var best *pageReader
	for _, drop := range []map[atom.Atom]bool{pageFrameTags, nil} {
		p := &pageReader{drop: drop}
		if err := p.readTokens(page); err != nil {
			return Content{}, err
		}
		if best == nil || p.letters > 4*best.letters && best.letters < minLetters {
			best = p
		}
	}
	c := best.metadata
	c.Title, c.Blocks = best.pageTitle(), best.mainBlocks()
	return c, nil
}

// minLetters is the minimum text of a page. A page with less, and much more in menus
// and margins, includes those.
const minLetters = 200

func decodeHTML(page []byte) ([]byte, error) {
	text, err := charset.DecodeHTML(page)
	return escapeSequences.ReplaceAll([]byte(text), nil), err
}

var (
	invisibleTags = atomSet(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Datalist, atom.Button, atom.Textarea, atom.Dialog,
		atom.Map, atom.Noembed, atom.Noframes, atom.Rp, atom.Rt)

	pageFrameTags = atomSet(atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Menu)

	// inlineTags elements do not end a line.
	inlineTags = atomSet(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
		atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q,
		atom.Rb, atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup,
		atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr)

	// voidTags elements have no end tag.
	voidTags = atomSet(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)
)

func atomSet(list ...atom.Atom) map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for _, a := range list {
		set[a] = true
	}
	return set
}

type pageReader struct {
	drop           map[atom.Atom]bool
	blocks         []Block
	letters        int
	articleBlocks  []Block // blocks in an article or main element
	articleLetters int     // letters in within
	openArticles   int     // open article and main elements
	title          string
	firstHeading   string  // the first h1
	metadata       Content // author, date and language

	text    strings.Builder // open block
	kind    Kind
	level   int
	pre     int             // open pre elements
	row     bool            // in a table row
	skipped *skippedElement // the omitted element, or nil
}

func (p *pageReader) readTokens(page []byte) error {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.flushBlock()
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("read page: %w", err)
			}
			return nil
		case html.TextToken:
			if p.skipped == nil {
				p.text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.startTag(z, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.endTag(string(name))
		}
	}
}

func (p *pageReader) startTag(z *html.Tokenizer, closed bool) {
	raw, more := z.TagName()
	name, tag := string(raw), atom.Lookup(raw)
	if p.skipped != nil {
		if !p.skipped.startTag(name, tag, closed) {
			return
		}
		p.skipped = nil
	}
	if tag == atom.Meta || tag == atom.Html {
		p.readMeta(tag, z, more)
		more = false
	}
	if !voidTags[tag] && !closed && (invisibleTags[tag] || p.drop[tag] || more && isHidden(z)) {
		p.skipped = newSkippedElement(name, tag)
		if !inlineTags[tag] && !p.inRow(tag) {
			p.flushBlock()
		}
		return
	}
	p.openElement(tag)
}

func (p *pageReader) inRow(tag atom.Atom) bool { return p.row && tag != atom.Tr && tag != atom.Table }

func (p *pageReader) openElement(tag atom.Atom) {
	switch {
	case inlineTags[tag]:
		return
	case tag == atom.Br:
		p.text.WriteString(map[bool]string{true: "\n", false: " "}[p.pre > 0 || p.kind == Row])
		if p.pre == 0 && p.kind == Prose {
			p.flushBlock()
		}
		return
	case p.row && (tag == atom.Td || tag == atom.Th):
		if strings.TrimSpace(p.text.String()) != "" {
			p.text.WriteString(" | ")
		}
		return
	case p.inRow(tag):
		p.text.WriteByte(' ')
		return
	}
	p.flushBlock()
	switch tag {
	case atom.Article, atom.Main:
		p.openArticles++
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.kind, p.level = Heading, int(tag.String()[1]-'0')
	case atom.Li, atom.Dt, atom.Dd:
		p.kind = Item
	case atom.Tr:
		p.kind, p.row = Row, true
	case atom.Pre:
		p.kind = Code
		p.pre++
	case atom.Title:
		p.kind, p.level = Heading, 0
	}
}

func (p *pageReader) endTag(name string) {
	tag := atom.Lookup([]byte(name))
	if p.skipped != nil {
		with, before := p.skipped.endTag(name, tag)
		if with || before {
			p.skipped = nil
		}
		if !before {
			return
		}
	}
	switch {
	case inlineTags[tag] || tag == atom.Td || tag == atom.Th || p.inRow(tag):
		return
	case tag == atom.Pre && p.pre > 0:
		p.pre--
	}
	p.flushBlock()
	if (tag == atom.Article || tag == atom.Main) && p.openArticles > 0 {
		p.openArticles--
	}
}

func (p *pageReader) flushBlock() {
	b := Block{Kind: p.kind, Level: p.level, Text: p.text.String()}
	p.text.Reset()
	p.kind, p.level, p.row = Prose, 0, false
	if p.pre > 0 {
		p.kind = Code
	}
	line := oneLine(b.Text)
	switch {
	case line == "":
		return
	case b.Kind == Heading && b.Level == 0:
		p.title = cmp.Or(p.title, line)
		return
	case b.Kind == Heading && b.Level == 1 && p.firstHeading == "":
		p.firstHeading = line
	}
	p.letters += len(line)
	p.blocks = append(p.blocks, b)
	if p.openArticles > 0 {
		p.articleLetters += len(line)
		p.articleBlocks = append(p.articleBlocks, b)
	}
}

// mainBlocks returns the blocks of the article or main element, or all blocks if there is
// none or it is too small.
func (p *pageReader) mainBlocks() []Block {
	if p.articleLetters < minLetters || p.articleLetters < p.letters/4 {
		return p.blocks
	}
	if p.firstHeading != "" && !slices.ContainsFunc(p.articleBlocks, func(b Block) bool { return b.Level == 1 }) {
		return append([]Block{{Kind: Heading, Level: 1, Text: p.firstHeading}}, p.articleBlocks...)
	}
	return p.articleBlocks
}

// pageTitle returns the page title: the first heading if the title contains it, usually
// with the site name.
func (p *pageReader) pageTitle() string {
	if p.title == "" || p.firstHeading != "" && strings.Contains(p.title, p.firstHeading) {
		return p.firstHeading
	}
	return p.title
}

func isHidden(z *html.Tokenizer) bool {
	hide := false
	for {
		key, val, more := z.TagAttr()
		switch string(key) {
		case "hidden":
			hide = hide || string(val) != "until-found"
		case "aria-hidden":
			hide = hide || string(val) == "true"
		case "role":
			v := string(val)
			hide = hide || v == "navigation" || v == "menu" || v == "search" || v == "dialog" || v == "contentinfo"
		case "style":
			v := strings.ReplaceAll(strings.ToLower(string(val)), " ", "")
			hide = hide || strings.Contains(v, "display:none") || strings.Contains(v, "visibility:hidden")
		}
		if !more {
			return hide
		}
	}
}

// Metadata names for author and date.
var (
	authorNames = []string{"author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author", "citation_author"}
	dateNames   = []string{
		"article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created", "date", "pubdate", "publishdate",
		"parsely-pub-date", "sailthru.date", "citation_publication_date", "citation_date",
	}
)

func (p *pageReader) readMeta(tag atom.Atom, z *html.Tokenizer, more bool) {
	attrs := map[string]string{}
	for more {
		var key, val []byte
		if key, val, more = z.TagAttr(); len(val) <= maxMeta {
			attrs[string(key)] = string(val)
		}
	}
	if tag == atom.Html {
		p.metadata.Language = cmp.Or(p.metadata.Language, attrs["lang"], attrs["xml:lang"])
		return
	}
	name := strings.ToLower(cmp.Or(attrs["name"], attrs["property"], attrs["itemprop"]))
	value := oneLine(attrs["content"])
	for _, n := range authorNames {
		if n == name && p.metadata.Author == "" && !strings.HasPrefix(value, "http") && len(value) <= 200 {
			p.metadata.Author = value
		}
	}
	for _, n := range dateNames {
		if n == name && p.metadata.Published.IsZero() {
			p.metadata.Published = parseDate(value)
		}
	}
}

type skippedElement struct {
	open    []string       // the omitted element first
	count   map[string]int // by name
	endRule endTagRule
}

// An endTagRule is the rule for an optional end tag. One of these elements ends it,
// unless inside one of those; the end of its parent ends it too.
type endTagRule struct{ endedBy, unlessInside map[atom.Atom]bool }

var (
	itemEndRule         = endTagRule{atomSet(atom.Li), atomSet(atom.Ul, atom.Ol, atom.Menu, atom.Dir)}
	termEndRule         = endTagRule{atomSet(atom.Dt, atom.Dd), atomSet(atom.Dl)}
	tableSectionEndRule = endTagRule{atomSet(atom.Thead, atom.Tbody, atom.Tfoot), atomSet(atom.Table)}
	rowEndRule          = endTagRule{atomSet(atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atomSet(atom.Table)}
	cellEndRule         = endTagRule{atomSet(atom.Td, atom.Th, atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atomSet(atom.Table)}
	rubyEndRule         = endTagRule{atomSet(atom.Rt, atom.Rp, atom.Rb, atom.Rtc), atomSet(atom.Ruby)}

	optionalEndTags = map[atom.Atom]endTagRule{
		atom.P: {atomSet(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details, atom.Dialog,
			atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
			atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol,
			atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Td, atom.Th, atom.Tr, atom.Ul), atomSet(atom.Button, atom.Object)},
		atom.Li: itemEndRule, atom.Dt: termEndRule, atom.Dd: termEndRule,
		atom.Thead: tableSectionEndRule, atom.Tbody: tableSectionEndRule, atom.Tfoot: tableSectionEndRule, atom.Tr: rowEndRule, atom.Td: cellEndRule, atom.Th: cellEndRule,
		atom.Option: {atomSet(atom.Option, atom.Optgroup), atomSet(atom.Select, atom.Datalist)},
		atom.Rt:     rubyEndRule, atom.Rp: rubyEndRule,
	}
)

func newSkippedElement(name string, tag atom.Atom) *skippedElement {
	s := &skippedElement{count: map[string]int{}, endRule: optionalEndTags[tag]}
	s.push(name)
	return s
}

func (s *skippedElement) push(name string) {
	s.open = append(s.open, name)
	s.count[name]++
}

// startTag handles a start tag. It reports whether the omitted element ended before it.
func (s *skippedElement) startTag(name string, tag atom.Atom, closed bool) bool {
	if s.endRule.endedBy[tag] && !s.isNested() {
		return true
	}
	if !closed && !voidTags[tag] {
		s.push(name)
	}
	return false
}

func (s *skippedElement) isNested() bool {
	for tag := range s.endRule.unlessInside {
		if s.count[tag.String()] > 0 {
			return true
		}
	}
	return false
}

// endTag handles an end tag. It reports whether the omitted element ended with it, or
// before it as the parent's end.
func (s *skippedElement) endTag(name string, tag atom.Atom) (with, before bool) {
	if s.count[name] == 0 {
		return false, s.endRule.endedBy != nil && !voidTags[tag] && tag != atom.P && (!inlineTags[tag] || tag == atom.Ruby)
	}
	for {
		last := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.count[last]--
		if last == name {
			return len(s.open) == 0, false
		}
	}
}
