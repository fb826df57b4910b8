package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"ponder/internal/guard"
)

// markdownRows returns Markdown as rows of at most width cells. Without colours, it keeps the
// marks and only wraps.
func markdownRows(source string, width int, s Style) (rows []string) {
	source = strings.Trim(strings.ReplaceAll(s.safeText(source), "\t", "    "), "\n")
	switch {
	case strings.TrimSpace(source) == "":
		return nil
	case s.Plain:
		rows = strings.Split(Wrap(emptyLines.ReplaceAllString(source, "\n\n"), width), "\n")
	default:
		m := markdown{[]byte(source), s}
		var err error
		rows, err = guard.Call(func() ([]string, error) {
			return m.blockRows(markdownParser().Parse(text.NewReader(m.source)), width), nil
		})
		if err != nil {
			rows = strings.Split(Wrap(source, width), "\n")
		}
	}
	for i, row := range rows {
		rows[i] = s.truncateCells(strings.TrimRight(row, " "), width)
	}
	return rows
}

// markdownParser returns a parser that takes HTML and references such as [1]: for text.
func markdownParser() parser.Parser {
	without := func(list []util.PrioritizedValue, priority int) []util.PrioritizedValue {
		return slices.DeleteFunc(list, func(v util.PrioritizedValue) bool { return v.Priority == priority })
	}
	return parser.NewParser(
		parser.WithBlockParsers(without(parser.DefaultBlockParsers(), 900)...),
		parser.WithInlineParsers(without(parser.DefaultInlineParsers(), 400)...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

var emptyLines = regexp.MustCompile(`\n\s*\n`)

// A markdown is a parsed text without control characters.
type markdown struct {
	source []byte
	style  Style
}

func (m markdown) blockRows(parent ast.Node, width int) (rows []string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && (n.HasBlankPreviousLines() || n.Kind() == east.KindTable) { // tables do not record blank lines
			rows = append(rows, "")
		}
		rows = append(rows, m.nodeRows(n, width)...)
	}
	return rows
}

func (m markdown) nodeRows(n ast.Node, width int) (rows []string) {
	s := m.style
	switch n := n.(type) {
	case *ast.Heading:
		rows = wrapRows(m.inlineText(n, lipgloss.NewStyle()), width)
		for i, row := range rows {
			rows[i] = s.paint(greenStyle().Bold(true), ansi.Strip(row))
		}
		return rows
	case *ast.Blockquote:
		bar := map[bool]string{false: "│ ", true: "> "}[s.ASCII]
		return prefixRows(bar, bar, m.blockRows(n, width-2), s)
	case *ast.List:
		return m.listRows(n, width)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		if n.Lines().Len() == 0 {
			return nil
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(n.Lines().Value(m.source)), "\n"), "\n") {
			for row := range strings.SplitSeq(ansi.Hardwrap(line, max(width-4, 1), true), "\n") {
				rows = append(rows, "    "+s.paint(brightStyle(), row))
			}
		}
		return rows
	case *ast.ThematicBreak:
		return []string{s.paint(faintStyle(), strings.Repeat(s.glyphSet().rule, min(width, 40)))}
	case *east.Table:
		return m.tableRows(n, width)
	}
	return wrapRows(m.inlineText(n, lipgloss.NewStyle()), width)
}

func (m markdown) listRows(n *ast.List, width int) (rows []string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := map[bool]string{false: "• ", true: string(n.Marker) + " "}[m.style.ASCII]
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if item.PreviousSibling() != nil && item.HasBlankPreviousLines() {
			rows = append(rows, "")
		}
		hang := strings.Repeat(" ", lipgloss.Width(mark))
		rows = append(rows, prefixRows(mark, hang, m.blockRows(item, width-len(hang)), m.style)...)
	}
	return rows
}

func (m markdown) tableRows(n *east.Table, width int) []string {
	t := table.New().BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		Border(lipgloss.Border{Top: m.style.glyphSet().rule}).BorderStyle(lipgloss.NewStyle().Faint(true)).
		StyleFunc(func(row, column int) lipgloss.Style {
			gap := map[bool]int{true: 2}[column < len(n.Alignments)-1]
			return lipgloss.NewStyle().PaddingRight(gap).Bold(row == table.HeaderRow)
		})
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, m.inlineText(cell, lipgloss.NewStyle()))
		}
		if row.Kind() == east.KindTableHeader {
			t.Headers(cells...)
		} else {
			t.Row(cells...)
		}
	}
	if lipgloss.Width(t.Render()) > width {
		t.Width(width)
	}
	return strings.Split(t.Render(), "\n")
}

// inlineText returns the text in a node in the surrounding style.
func (m markdown) inlineText(parent ast.Node, look lipgloss.Style) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(m.spanText(n, look))
	}
	return b.String()
}

func (m markdown) spanText(n ast.Node, look lipgloss.Style) string {
	s := m.style
	switch n := n.(type) {
	case *ast.Text:
		end := ""
		if n.SoftLineBreak() || n.HardLineBreak() {
			end = "\n" // models break lines deliberately
		}
		return s.paint(look, string(util.UnescapePunctuations(n.Value(m.source)))) + end
	case *ast.String:
		return s.paint(look, string(n.Value))
	case *ast.CodeSpan:
		return s.paint(brightStyle(), strings.ReplaceAll(m.rawText(n), "\n", " "))
	case *ast.Emphasis:
		if before, in := m.rawText(n.PreviousSibling()), m.rawText(n); n.Level == 1 && before != "" && in != "" {
			last, _ := utf8.DecodeLastRuneInString(before)
			if first, _ := utf8.DecodeRuneInString(in); unicode.IsDigit(last) && unicode.IsDigit(first) { // 2*3*4
				return s.paint(look, "*"+in+"*")
			}
		}
		if n.Level == 2 {
			look = look.Bold(true)
		} else {
			look = look.Italic(true)
		}
	case *ast.Link:
		url, label := s.safeLine(string(n.Destination)), m.rawText(n)
		if label == url || label == "" {
			return s.paint(brightStyle(), url)
		}
		return m.inlineText(n, look) + " " + s.paint(faintStyle(), "("+url+")")
	case *ast.AutoLink:
		return s.paint(brightStyle(), s.safeLine(string(n.URL(m.source))))
	case *ast.Image:
		return s.paint(faintStyle(), "[image: "+m.rawText(n)+"] ("+s.safeLine(string(n.Destination))+")")
	}
	return m.inlineText(n, look)
}

func (m markdown) rawText(n ast.Node) string {
	if n == nil {
		return ""
	}
	if t, ok := n.(*ast.Text); ok {
		return string(t.Value(m.source))
	}
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(m.rawText(c))
	}
	return b.String()
}

func prefixRows(first, next string, rows []string, s Style) []string {
	if first = s.paint(faintStyle(), first); strings.TrimSpace(next) != "" {
		next = s.paint(faintStyle(), next)
	}
	return strings.Split(first+strings.Join(rows, "\n"+next), "\n")
}

// wrapRows breaks coloured text into rows of at most width cells, between words if possible.
func wrapRows(text string, width int) (rows []string) {
	width = max(width, 1)
	for line := range strings.SplitSeq(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), width, ""), "\n") {
		if line = strings.TrimRight(line, " "); lipgloss.Width(line) > width {
			line = ansi.Hardwrap(line, width, false)
		}
		rows = append(rows, strings.Split(line, "\n")...)
	}
	return rows
}

// maxGrowingBytes bounds the part of a growing text that is redrawn, in bytes.
const maxGrowingBytes = 4000

var (
	fence  = regexp.MustCompile("^(?:```+[^`]*|~~~+.*)$")
	bullet = regexp.MustCompile(`^(?:[-*+]|\d{1,9}[.)]) `)
)

// splitStable splits growing Markdown into a part that later text cannot change, and the rest. It
// splits at empty lines, list items, headings and lines of code; without colours at each line.
func splitStable(source string, s Style) (done, rest string) {
	if end := strings.LastIndexByte(source, '\n') + 1; s.Plain && end > 0 {
		return source[:end], source[end:]
	}
	cut, mark, opening := 0, "", ""
	item, free := false, false // the part is a list item; the next line starts a part
	for at := 0; at < len(source); {
		line, _, whole := strings.Cut(source[at:], "\n")
		next := min(len(source), at+len(line)+1)
		switch {
		case mark != "":
			if whole && strings.HasPrefix(line, mark) && strings.Trim(line, " `~") == "" {
				mark, free = "", true
			}
		case strings.TrimSpace(line) == "":
			free = true
		case line[0] != ' ' && line[0] != '\t':
			starts := bullet.MatchString(line)
			if free || item && starts || fence.MatchString(line) {
				cut = at
			}
			if cut == at {
				item = starts
			}
			free = strings.HasPrefix(line, "#")
			if whole && fence.MatchString(line) {
				opening, mark = source[at:next], line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
			}
		default:
			free = false
		}
		at = next
	}
	if end := strings.LastIndexByte(source, '\n') + 1; mark != "" && end > cut+len(opening) {
		return source[:end] + mark, opening + source[end:]
	} else if mark != "" && len(source) > maxGrowingBytes {
		end = len(strings.ToValidUTF8(source[:maxGrowingBytes], ""))
		return source[:end] + "\n" + mark, opening + source[end:]
	}
	if cut == 0 && len(source) > maxGrowingBytes {
		if cut = strings.LastIndexAny(source[:maxGrowingBytes], " \n") + 1; cut == 0 {
			cut = len(strings.ToValidUTF8(source[:maxGrowingBytes], ""))
		}
	}
	return source[:cut], source[cut:]
}
