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
	for _, drop := range []map[atom.Atom]bool{furniture, nil} {
		p := &pageReader{drop: drop}
		if err := p.read(page); err != nil {
			return Content{}, err
		}
		if best == nil || p.letters > 4*best.letters && best.letters < minLetters {
			best = p
		}
	}
	c := best.about
	c.Title, c.Blocks = best.name(), best.main()
	return c, nil
}

// minLetters is the minimum text of a page. A page with less, and much more in menus
// and margins, includes those.
const minLetters = 200

func decodeHTML(page []byte) ([]byte, error) {
	text, err := charset.DecodeHTML(page)
	return sequences.ReplaceAll([]byte(text), nil), err
}

var (
	unseen = atoms(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Datalist, atom.Button, atom.Textarea, atom.Dialog,
		atom.Map, atom.Noembed, atom.Noframes, atom.Rp, atom.Rt)

	furniture = atoms(atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Menu)

	// inText elements do not end a line.
	inText = atoms(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
		atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q,
		atom.Rb, atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup,
		atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr)

	// void elements have no end tag.
	void = atoms(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)
)

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for _, a := range list {
		set[a] = true
	}
	return set
}

type pageReader struct {
	drop    map[atom.Atom]bool
	blocks  []Block
	letters int
	within  []Block // blocks in an article or main element
	inside  int     // letters in within
	parts   int     // open article and main elements
	title   string
	head    string  // the first h1
	about   Content // author, date and language

	text  strings.Builder // open block
	kind  Kind
	level int
	pre   int   // open pre elements
	row   bool  // in a table row
	skip  *skip // the omitted element, or nil
}

func (p *pageReader) read(page []byte) error {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.flush()
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("read page: %w", err)
			}
			return nil
		case html.TextToken:
			if p.skip == nil {
				p.text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(string(name))
		}
	}
}

func (p *pageReader) start(z *html.Tokenizer, closed bool) {
	raw, more := z.TagName()
	name, tag := string(raw), atom.Lookup(raw)
	if p.skip != nil {
		if !p.skip.start(name, tag, closed) {
			return
		}
		p.skip = nil
	}
	if tag == atom.Meta || tag == atom.Html {
		p.meta(tag, z, more)
		more = false
	}
	if !void[tag] && !closed && (unseen[tag] || p.drop[tag] || more && hidden(z)) {
		p.skip = newSkip(name, tag)
		if !inText[tag] && !p.inRow(tag) {
			p.flush()
		}
		return
	}
	p.begin(tag)
}

func (p *pageReader) inRow(tag atom.Atom) bool { return p.row && tag != atom.Tr && tag != atom.Table }

func (p *pageReader) begin(tag atom.Atom) {
	switch {
	case inText[tag]:
		return
	case tag == atom.Br:
		p.text.WriteString(map[bool]string{true: "\n", false: " "}[p.pre > 0 || p.kind == Row])
		if p.pre == 0 && p.kind == Prose {
			p.flush()
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
	p.flush()
	switch tag {
	case atom.Article, atom.Main:
		p.parts++
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

func (p *pageReader) end(name string) {
	tag := atom.Lookup([]byte(name))
	if p.skip != nil {
		with, before := p.skip.end(name, tag)
		if with || before {
			p.skip = nil
		}
		if !before {
			return
		}
	}
	switch {
	case inText[tag] || tag == atom.Td || tag == atom.Th || p.inRow(tag):
		return
	case tag == atom.Pre && p.pre > 0:
		p.pre--
	}
	p.flush()
	if (tag == atom.Article || tag == atom.Main) && p.parts > 0 {
		p.parts--
	}
}

func (p *pageReader) flush() {
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
	case b.Kind == Heading && b.Level == 1 && p.head == "":
		p.head = line
	}
	p.letters += len(line)
	p.blocks = append(p.blocks, b)
	if p.parts > 0 {
		p.inside += len(line)
		p.within = append(p.within, b)
	}
}

// main returns the blocks of the article or main element, or all blocks if there is
// none or it is too small.
func (p *pageReader) main() []Block {
	if p.inside < minLetters || p.inside < p.letters/4 {
		return p.blocks
	}
	if p.head != "" && !slices.ContainsFunc(p.within, func(b Block) bool { return b.Level == 1 }) {
		return append([]Block{{Kind: Heading, Level: 1, Text: p.head}}, p.within...)
	}
	return p.within
}

// name returns the page title: the first heading if the title contains it, usually
// with the site name.
func (p *pageReader) name() string {
	if p.title == "" || p.head != "" && strings.Contains(p.title, p.head) {
		return p.head
	}
	return p.title
}

func hidden(z *html.Tokenizer) bool {
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

func (p *pageReader) meta(tag atom.Atom, z *html.Tokenizer, more bool) {
	attrs := map[string]string{}
	for more {
		var key, val []byte
		if key, val, more = z.TagAttr(); len(val) <= maxMeta {
			attrs[string(key)] = string(val)
		}
	}
	if tag == atom.Html {
		p.about.Language = cmp.Or(p.about.Language, attrs["lang"], attrs["xml:lang"])
		return
	}
	name := strings.ToLower(cmp.Or(attrs["name"], attrs["property"], attrs["itemprop"]))
	value := oneLine(attrs["content"])
	for _, n := range authorNames {
		if n == name && p.about.Author == "" && !strings.HasPrefix(value, "http") && len(value) <= 200 {
			p.about.Author = value
		}
	}
	for _, n := range dateNames {
		if n == name && p.about.Published.IsZero() {
			p.about.Published = parseDate(value)
		}
	}
}

type skip struct {
	open    []string       // the omitted element first
	count   map[string]int // by name
	implied implied
}

// An implied is the rule for an optional end tag. One of these elements ends it,
// unless inside one of those; the end of its parent ends it too.
type implied struct{ by, inside map[atom.Atom]bool }

var (
	ofList  = implied{atoms(atom.Li), atoms(atom.Ul, atom.Ol, atom.Menu, atom.Dir)}
	ofTerms = implied{atoms(atom.Dt, atom.Dd), atoms(atom.Dl)}
	ofParts = implied{atoms(atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofRows  = implied{atoms(atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofCells = implied{atoms(atom.Td, atom.Th, atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot), atoms(atom.Table)}
	ofRuby  = implied{atoms(atom.Rt, atom.Rp, atom.Rb, atom.Rtc), atoms(atom.Ruby)}

	optional = map[atom.Atom]implied{
		atom.P: {atoms(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details, atom.Dialog,
			atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
			atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol,
			atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Td, atom.Th, atom.Tr, atom.Ul), atoms(atom.Button, atom.Object)},
		atom.Li: ofList, atom.Dt: ofTerms, atom.Dd: ofTerms,
		atom.Thead: ofParts, atom.Tbody: ofParts, atom.Tfoot: ofParts, atom.Tr: ofRows, atom.Td: ofCells, atom.Th: ofCells,
		atom.Option: {atoms(atom.Option, atom.Optgroup), atoms(atom.Select, atom.Datalist)},
		atom.Rt:     ofRuby, atom.Rp: ofRuby,
	}
)

func newSkip(name string, tag atom.Atom) *skip {
	s := &skip{count: map[string]int{}, implied: optional[tag]}
	s.push(name)
	return s
}

func (s *skip) push(name string) {
	s.open = append(s.open, name)
	s.count[name]++
}

// start handles a start tag. It reports whether the omitted element ended before it.
func (s *skip) start(name string, tag atom.Atom, closed bool) bool {
	if s.implied.by[tag] && !s.within() {
		return true
	}
	if !closed && !void[tag] {
		s.push(name)
	}
	return false
}

func (s *skip) within() bool {
	for tag := range s.implied.inside {
		if s.count[tag.String()] > 0 {
			return true
		}
	}
	return false
}

// end handles an end tag. It reports whether the omitted element ended with it, or
// before it as the parent's end.
func (s *skip) end(name string, tag atom.Atom) (with, before bool) {
	if s.count[name] == 0 {
		return false, s.implied.by != nil && !void[tag] && tag != atom.P && (!inText[tag] || tag == atom.Ruby)
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
