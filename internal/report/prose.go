package report

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"ponder/internal/textkit"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A block is a part of a text that stands on lines of its own.
type block struct {
	kind    blockKind
	level   int // of a heading; the first number of a list that is ordered
	ordered bool
	tight   bool     // a list without blank lines
	lang    string   // of code
	text    string   // code
	spans   []span   // of a paragraph, a heading, a cell
	blocks  []block  // of a list, an item, a quote, a table, a row
	align   []string // of the columns of a table: left, center, right or nothing
}

type blockKind int

const (
	paragraph blockKind = iota
	heading
	list
	item
	quote
	code
	rule
	table // of rows, of which the first is the head
	row
	cell
)

// A span is a part of a line.
type span struct {
	kind  spanKind
	text  string // plain text, code, where a link goes, the id that is cited
	spans []span // of emphasis, a link, a claim
}

type spanKind int

const (
	plain spanKind = iota
	codeSpan
	emphasis
	strong
	strike
	link
	cite
	softBreak
	hardBreak
	claimed // text is the number of a claim, and the spans are a part of it
	sign    // that of a claim, behind its last part
)

// Bounds on foreign text. What is larger is shown as plain text, what is deeper
// stands less deep.
const (
	maxProse = 256 << 10 // bytes
	maxDepth = 16
	maxURL   = 2000 // bytes
)

// A reader reads Markdown that is not trusted. HTML in it is text, links lead to
// the web or to a mailbox or nowhere, pictures become links, and references such
// as [1]: are not followed.
type reader struct {
	blocks, line parser.Parser
}

func newReader() *reader {
	inline := parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
	)
	return &reader{
		blocks: parser.NewParser(inline,
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
			parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
		),
		line: parser.NewParser(inline, parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000))),
	}
}

// prose reads a text of several paragraphs.
func (r *reader) prose(md string) []block {
	md = textkit.Clean(md)
	if len(md) > maxProse || tooTangled(md) {
		return plainly(md)
	}
	src := []byte(md)
	return translation{src}.blocks(r.blocks.Parse(text.NewReader(src)), 0)
}

// inline reads a text that stands in a line, such as a thought.
func (r *reader) inline(md string) []span {
	md = strings.Join(strings.Fields(textkit.Clean(md)), " ")
	if len(md) > maxProse || tooTangled(md) {
		return []span{{text: md}}
	}
	src := []byte(md)
	var spans []span
	for n := r.line.Parse(text.NewReader(src)).FirstChild(); n != nil; n = n.NextSibling() {
		spans = append(spans, translation{src}.spans(n, 0)...)
	}
	return spans
}

// Bounds on what a reader must match or open, of which no text that is meant to be
// read has as much: marks in a paragraph, and lists and quotes that begin on one
// line.
const (
	maxMarks = 1000
	maxOpens = 30
)

// tooTangled reports whether a text is made to keep a reader busy.
func tooTangled(md string) bool {
	marks := 0
	for line := range strings.Lines(md) {
		if strings.TrimSpace(line) == "" {
			marks = 0
		}
		for i := range len(line) {
			switch line[i] {
			case '[', ']', '*', '_', '~', '`', '<', '!':
				marks++
			}
		}
		if marks > maxMarks || opens(line) > maxOpens {
			return true
		}
	}
	return false
}

// opener is what begins a quote or an item of a list.
var opener = regexp.MustCompile(`^[ \t]*(?:>|[-+*]|\d{1,9}[.)])`)

// opens returns how many quotes and lists begin on a line, at most one more than
// there may be.
func opens(line string) (n int) {
	for n <= maxOpens {
		end := len(opener.FindString(line))
		if end == 0 {
			return n
		}
		n, line = n+1, line[end:]
	}
	return n
}

// plainly returns a text as paragraphs of plain text.
func plainly(md string) (list []block) {
	for p := range strings.SplitSeq(md, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			list = append(list, block{spans: []span{{text: p}}})
		}
	}
	return list
}

// A translation is made of the nodes of a source.
type translation struct{ src []byte }

// blocks translates the children of a node.
func (t translation) blocks(n ast.Node, depth int) (list []block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if depth >= maxDepth && c.Type() == ast.TypeBlock && c.FirstChild() != nil && c.FirstChild().Type() == ast.TypeBlock {
			list = append(list, t.shallow(c)...)
			continue
		}
		list = append(list, t.block(c, depth))
	}
	return list
}

// shallow returns the text below a node that is too deep.
func (t translation) shallow(n ast.Node) (list []block) {
	_ = ast.Walk(n, func(c ast.Node, in bool) (ast.WalkStatus, error) {
		if in && c.Type() == ast.TypeBlock && (c.FirstChild() == nil || c.FirstChild().Type() == ast.TypeInline) {
			list = append(list, t.block(c, maxDepth))
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return list
}

func (t translation) block(n ast.Node, depth int) block {
	switch n := n.(type) {
	case *ast.Heading:
		return block{kind: heading, level: n.Level, spans: t.spans(n, depth)}
	case *ast.List:
		return block{kind: list, ordered: n.IsOrdered(), level: n.Start, tight: n.IsTight, blocks: t.blocks(n, depth+1)}
	case *ast.ListItem:
		return block{kind: item, blocks: t.blocks(n, depth+1)}
	case *ast.Blockquote:
		return block{kind: quote, blocks: t.blocks(n, depth+1)}
	case *ast.FencedCodeBlock:
		return block{kind: code, lang: language(string(n.Language(t.src))), text: t.lines(n)}
	case *ast.CodeBlock:
		return block{kind: code, text: t.lines(n)}
	case *ast.ThematicBreak:
		return block{kind: rule}
	case *east.Table:
		b := block{kind: table, blocks: t.blocks(n, depth+1)}
		for _, a := range n.Alignments {
			b.align = append(b.align, strings.TrimPrefix(a.String(), "none"))
		}
		return b
	case *east.TableHeader, *east.TableRow:
		return block{kind: row, blocks: t.blocks(n, depth+1)}
	case *east.TableCell:
		return block{kind: cell, spans: t.spans(n, depth)}
	}
	return block{spans: t.spans(n, depth)}
}

// language returns the language of code, if it is a word.
func language(s string) string {
	ok := regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,30}$`).MatchString(s)
	if !ok {
		return ""
	}
	return s
}

func (t translation) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(t.src))
	}
	return strings.TrimRight(b.String(), "\n")
}

// spans translates the children of a node. Text that stands together is one span.
func (t translation) spans(n ast.Node, depth int) (list []span) {
	add := func(s span) {
		if k := len(list) - 1; s.kind == plain && k >= 0 && list[k].kind == plain {
			list[k].text += s.text
			return
		}
		if s.kind != plain || s.text != "" {
			list = append(list, s)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		for _, s := range t.span(c, depth+1) {
			add(s)
		}
	}
	return list
}

func (t translation) span(n ast.Node, depth int) []span {
	if depth > 2*maxDepth {
		return nil
	}
	switch n := n.(type) {
	case *ast.Text:
		s := []span{{text: resolved(n.Value(t.src))}}
		switch {
		case n.HardLineBreak():
			s = append(s, span{kind: hardBreak})
		case n.SoftLineBreak():
			s = append(s, span{kind: softBreak})
		}
		return s
	case *ast.String:
		return []span{{text: resolved(n.Value)}}
	case *ast.CodeSpan:
		var b bytes.Buffer
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if x, ok := c.(*ast.Text); ok {
				b.Write(x.Value(t.src))
			}
		}
		return []span{{kind: codeSpan, text: strings.ReplaceAll(b.String(), "\n", " ")}}
	case *ast.Emphasis:
		kind := emphasis
		if n.Level >= 2 {
			kind = strong
		}
		return []span{{kind: kind, spans: t.spans(n, depth)}}
	case *east.Strikethrough:
		return []span{{kind: strike, spans: t.spans(n, depth)}}
	case *ast.Link:
		return linked(t.spans(n, depth), string(n.Destination))
	case *ast.Image:
		return linked(append([]span{{text: "image: "}}, t.spans(n, depth)...), string(n.Destination))
	case *ast.AutoLink:
		label, to := textkit.Clean(string(n.Label(t.src))), string(n.URL(t.src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(to, "mailto:") {
			to = "mailto:" + to
		}
		return linked([]span{{text: label}}, to)
	}
	return t.spans(n, depth)
}

// resolved returns text with its escapes and entities resolved, and nothing in it
// that these brought in and a terminal would obey.
func resolved(b []byte) string {
	b = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b)))
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(textkit.Clean(string(b)))
}

// linked returns a link, or the text of one that must not be followed and where
// it would have led.
func linked(label []span, to string) []span {
	to = resolved([]byte(to))
	if safe, ok := safeURL(to); ok {
		return []span{{kind: link, text: safe, spans: unlinked(label)}}
	}
	if to = strings.Join(strings.Fields(to), " "); to != "" && len(to) <= maxURL {
		label = append(label, span{text: " (" + to + ")"})
	}
	return label
}

// unlinked returns spans without the links in them.
func unlinked(spans []span) (list []span) {
	for _, s := range spans {
		s.spans = unlinked(s.spans)
		if s.kind == link {
			list = append(list, s.spans...)
			continue
		}
		list = append(list, s)
	}
	return list
}

// safeURL returns an address that a report may link to, in its normal form: of
// the web or of a mailbox.
func safeURL(s string) (string, bool) {
	if len(s) > maxURL || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", false
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" || u.User != nil {
			return "", false
		}
	case "mailto":
		if !strings.Contains(u.Opaque, "@") {
			return "", false
		}
	default:
		return "", false
	}
	return strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C", "`", "%60", `"`, "%22", "|", "%7C").Replace(u.String()), true
}
