package report

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"ponder/internal/guard"
	"ponder/internal/links"
	"ponder/internal/textkit"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

type block struct {
	kind    blockKind
	level   int
	ordered bool
	tight   bool // no blank lines between items
	lang    string
	text    string
	spans   []span   // of a paragraph, a heading, a cell
	blocks  []block  // of a list, an item, a quote, a table, a row
	align   []string // by column: left, center, right or empty
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
	table // rows; the first is the head
	row
	cell
)

type span struct {
	kind  spanKind
	text  string // text, code, URL or cited id
	spans []span
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
	claimed // text is a claim's number, spans its part
	sign    // the claim's sign, after its last part
)

// Limits of foreign text. Longer text stays plain, deeper nesting is flattened.
const (
	maxProse = 256 << 10 // bytes
	maxDepth = 16
	maxURL   = 2000 // bytes
)

// A reader parses untrusted Markdown. HTML stays text, links lead only to known addresses of the
// web or to a mailbox, pictures become links, and references such as [1]: are ignored.
type reader struct {
	blocks, line parser.Parser
	known        links.Set
}

func newReader(known links.Set) *reader {
	inline := parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
	)
	return &reader{
		known: known,
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

func (r *reader) parseProse(md string) []block {
	md = links.Text(textkit.Clean(md), r.known)
	if len(md) > maxProse || isTooComplex(md) {
		return plainBlocks(md)
	}
	src := []byte(md)
	list, err := guard.Call(func() ([]block, error) {
		return nodeConverter{src}.convertBlocks(r.blocks.Parse(text.NewReader(src)), 0), nil
	})
	if err != nil {
		return plainBlocks(md)
	}
	return list
}

func (r *reader) parseInline(md string) []span {
	md = links.Text(strings.Join(strings.Fields(textkit.Clean(md)), " "), r.known)
	if len(md) > maxProse || isTooComplex(md) {
		return []span{{text: md}}
	}
	src := []byte(md)
	spans, err := guard.Call(func() (spans []span, err error) {
		for n := r.line.Parse(text.NewReader(src)).FirstChild(); n != nil; n = n.NextSibling() {
			spans = append(spans, nodeConverter{src}.convertSpans(n, 0)...)
		}
		return spans, nil
	})
	if err != nil {
		return []span{{text: md}}
	}
	return spans
}

// Limits against slow parsing, beyond legitimate text: marks in a paragraph, and nested blocks
// on a line.
const (
	maxMarks = 1000
	maxOpens = 30
)

// isTooComplex reports whether a text exceeds the limits.
func isTooComplex(md string) bool {
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
		if marks > maxMarks || countOpeners(line) > maxOpens {
			return true
		}
	}
	return false
}

// opener matches the start of a quote or an item.
var opener = regexp.MustCompile(`^[ \t]*(?:>|[-+*]|\d{1,9}[.)])`)

func countOpeners(line string) (n int) {
	for n <= maxOpens {
		end := len(opener.FindString(line))
		if end == 0 {
			return n
		}
		n, line = n+1, line[end:]
	}
	return n
}

func plainBlocks(md string) (list []block) {
	for p := range strings.SplitSeq(md, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			list = append(list, block{spans: []span{{text: p}}})
		}
	}
	return list
}

// A nodeConverter converts parsed nodes of a source.
type nodeConverter struct{ src []byte }

func (t nodeConverter) convertBlocks(n ast.Node, depth int) (list []block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if depth >= maxDepth && c.Type() == ast.TypeBlock && c.FirstChild() != nil && c.FirstChild().Type() == ast.TypeBlock {
			list = append(list, t.flattenBlocks(c)...)
			continue
		}
		list = append(list, t.convertBlock(c, depth))
	}
	return list
}

func (t nodeConverter) flattenBlocks(n ast.Node) (list []block) {
	_ = ast.Walk(n, func(c ast.Node, in bool) (ast.WalkStatus, error) {
		if in && c.Type() == ast.TypeBlock && (c.FirstChild() == nil || c.FirstChild().Type() == ast.TypeInline) {
			list = append(list, t.convertBlock(c, maxDepth))
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return list
}

func (t nodeConverter) convertBlock(n ast.Node, depth int) block {
	switch n := n.(type) {
	case *ast.Heading:
		return block{kind: heading, level: n.Level, spans: t.convertSpans(n, depth)}
	case *ast.List:
		return block{kind: list, ordered: n.IsOrdered(), level: n.Start, tight: n.IsTight, blocks: t.convertBlocks(n, depth+1)}
	case *ast.ListItem:
		return block{kind: item, blocks: t.convertBlocks(n, depth+1)}
	case *ast.Blockquote:
		return block{kind: quote, blocks: t.convertBlocks(n, depth+1)}
	case *ast.FencedCodeBlock:
		return block{kind: code, lang: codeLanguage(string(n.Language(t.src))), text: t.codeText(n)}
	case *ast.CodeBlock:
		return block{kind: code, text: t.codeText(n)}
	case *ast.ThematicBreak:
		return block{kind: rule}
	case *east.Table:
		b := block{kind: table, blocks: t.convertBlocks(n, depth+1)}
		for _, a := range n.Alignments {
			b.align = append(b.align, strings.TrimPrefix(a.String(), "none"))
		}
		return b
	case *east.TableHeader, *east.TableRow:
		return block{kind: row, blocks: t.convertBlocks(n, depth+1)}
	case *east.TableCell:
		return block{kind: cell, spans: t.convertSpans(n, depth)}
	}
	return block{spans: t.convertSpans(n, depth)}
}

func codeLanguage(s string) string {
	ok := regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,30}$`).MatchString(s)
	if !ok {
		return ""
	}
	return s
}

func (t nodeConverter) codeText(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(t.src))
	}
	return strings.TrimRight(b.String(), "\n")
}

// convertSpans converts the children of a node and joins adjacent text.
func (t nodeConverter) convertSpans(n ast.Node, depth int) (list []span) {
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
		for _, s := range t.convertSpan(c, depth+1) {
			add(s)
		}
	}
	return list
}

func (t nodeConverter) convertSpan(n ast.Node, depth int) []span {
	if depth > 2*maxDepth {
		return nil
	}
	switch n := n.(type) {
	case *ast.Text:
		s := []span{{text: resolveEscapes(n.Value(t.src))}}
		switch {
		case n.HardLineBreak():
			s = append(s, span{kind: hardBreak})
		case n.SoftLineBreak():
			s = append(s, span{kind: softBreak})
		}
		return s
	case *ast.String:
		return []span{{text: resolveEscapes(n.Value)}}
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
		return []span{{kind: kind, spans: t.convertSpans(n, depth)}}
	case *east.Strikethrough:
		return []span{{kind: strike, spans: t.convertSpans(n, depth)}}
	case *ast.Link:
		return linkSpans(t.convertSpans(n, depth), string(n.Destination))
	case *ast.Image:
		return linkSpans(append([]span{{text: "image: "}}, t.convertSpans(n, depth)...), string(n.Destination))
	case *ast.AutoLink:
		label, to := textkit.Clean(string(n.Label(t.src))), string(n.URL(t.src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(to, "mailto:") {
			to = "mailto:" + to
		}
		return linkSpans([]span{{text: label}}, to)
	}
	return t.convertSpans(n, depth)
}

// resolveEscapes resolves escapes and entities, then removes control characters.
func resolveEscapes(b []byte) string {
	b = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b)))
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(textkit.Clean(string(b)))
}

// linkSpans returns a link. For an unsafe target it returns the text with the address.
func linkSpans(label []span, to string) []span {
	to = resolveEscapes([]byte(to))
	if safe, ok := safeURL(to); ok {
		return []span{{kind: link, text: safe, spans: stripLinks(label)}}
	}
	if to = strings.Join(strings.Fields(to), " "); to != "" && len(to) <= maxURL {
		label = append(label, span{text: " (" + to + ")"})
	}
	return label
}

// stripLinks returns spans without links.
func stripLinks(spans []span) (list []span) {
	for _, s := range spans {
		s.spans = stripLinks(s.spans)
		if s.kind == link {
			list = append(list, s.spans...)
			continue
		}
		list = append(list, s)
	}
	return list
}

// safeURL returns the normal form of a web or mail address, and false for others.
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
