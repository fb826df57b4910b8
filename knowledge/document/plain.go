package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// minWrapWidth is the minimum width of a line that was wrapped at the margin, in columns.
// East Asian wide letters take two.
const minWrapWidth = 45

// Plain returns the content of plain text: paragraphs, standalone lines, list items,
// and headings without markup.
func Plain(text string) Content {
	var c Content
	for _, para := range splitParagraphs(text) {
		c.Blocks = append(c.Blocks, plainBlocks(para)...)
	}
	if len(c.Blocks) > 0 && c.Blocks[0].Kind == Heading {
		c.Title = c.Blocks[0].Text
	}
	return c
}

func splitParagraphs(text string) [][]string {
	var out [][]string
	var para []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n\f\v"); line != "" {
			para = append(para, line)
			continue
		}
		if para != nil {
			out, para = append(out, para), nil
		}
	}
	if para != nil {
		out = append(out, para)
	}
	return out
}

func plainBlocks(lines []string) []Block {
	if len(lines) == 2 && isRule(lines[1]) {
		return []Block{{Kind: Heading, Level: 1 + boolToInt(lines[1][0] != '='), Text: lines[0]}}
	}
	if len(lines) == 1 && isHeadingLine(lines[0]) {
		return []Block{{Kind: Heading, Level: 2, Text: lines[0]}}
	}
	out := itemBlocks(lines)
	if len(out) == 1 && !startsItem(lines[0]) {
		out[0].Kind = Prose
	}
	return out
}

func itemBlocks(lines []string) []Block {
	var out []Block
	first := 0
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) && !isRule(lines[i]) && continuesLine(lines[i-1], lines[i]) {
			continue
		}
		if !isRule(lines[first]) {
			text := joinWrapped(append([]string{stripItemMarker(lines[first])}, lines[first+1:i]...))
			out = append(out, Block{Kind: Item, Text: text})
		}
		first = i
	}
	return out
}

func continuesLine(before, line string) bool {
	if isRule(before) || startsItem(line) || startsWithLabel(line) || strings.HasPrefix(line, "\u3000") {
		return false
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(line, " \t\"'(“‘"))
	return unicode.IsLower(first) || isWrapped(before)
}

func isWrapped(line string) bool {
	columns := 0
	for _, r := range line {
		if columns += 1 + boolToInt(isWideRune(r)); columns >= minWrapWidth {
			return true
		}
	}
	return false
}

func isWideRune(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// joinWrapped joins continued lines, without a space in scripts that use none.
func joinWrapped(lines []string) string {
	var b strings.Builder
	solid := func(r rune) bool { return isWideRune(r) && !unicode.Is(unicode.Hangul, r) }
	for i, line := range lines {
		if i > 0 && solid(lastRune(lines[i-1])) && solid(firstRune(strings.TrimLeft(line, " \t"))) {
			line = strings.TrimLeft(line, " \t")
		} else if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

func isRule(line string) bool {
	s := strings.ReplaceAll(line, " ", "")
	return len(s) >= 3 && strings.ContainsRune("=-~*_#+", rune(s[0])) && strings.Trim(s, s[:1]) == ""
}

// isHeadingLine reports whether a single line is a heading: short, with a capital or number
// first, and no sentence.
func isHeadingLine(line string) bool {
	s := strings.TrimSpace(line)
	first, _ := utf8.DecodeRuneInString(s)
	if n := utf8.RuneCountInString(s); n < 3 || n > 80 || startsItem(line) || !unicode.IsUpper(first) && !unicode.IsDigit(first) {
		return false
	}
	if strings.Contains(s, ". ") && !unicode.IsDigit(first) || strings.ContainsAny(s, ",;\t|=@") {
		return false
	}
	return !strings.ContainsRune(".:,;!?…\"'”)", lastRune(s)) && len(strings.Fields(s)) <= 10
}

// startsItem reports whether a line begins an item: "- ", "2) ", "[2026-01-02 ...".
func startsItem(line string) bool { return len(itemMarker(line)) > 0 || startsWithDate(line) }

// itemMarker returns the item mark of a line with its space, or "".
func itemMarker(line string) string {
	s := strings.TrimLeft(line, " \t")
	for _, m := range []string{"- ", "* ", "+ ", "• ", "– ", "— ", "· ", "‣ ", "◦ "} {
		if strings.HasPrefix(s, m) {
			return m
		}
	}
	i := 0
	for i < len(s) && i < 4 && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	if i == 0 && len(s) > 2 && 'a' <= s[0] && s[0] <= 'z' && s[1] == ')' {
		i = 1
	}
	if i > 0 && i+1 < len(s) && (s[i] == '.' || s[i] == ')') && s[i+1] == ' ' {
		return s[:i+2]
	}
	return ""
}

func stripItemMarker(line string) string {
	m := itemMarker(line)
	if m == "" || '0' <= m[0] && m[0] <= '9' || m[1] == ')' {
		return line
	}
	return strings.TrimLeft(line, " \t")[len(m):]
}

func startsWithDate(line string) bool {
	s := strings.TrimLeft(line, " \t[(")
	if len(s) < 5 || s[0] < '0' || s[0] > '9' {
		return false
	}
	shape := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, s[:min(len(s), 10)])
	return strings.HasPrefix(shape, "00:00") || strings.HasPrefix(shape, "0000-00-00") || strings.HasPrefix(shape, "0000/00/00")
}

func startsWithLabel(line string) bool {
	label, rest, ok := strings.Cut(line, ": ")
	if !ok || rest == "" || len(label) > 40 || label == "" {
		return false
	}
	fields := strings.Fields(label)
	for _, w := range fields {
		if !unicode.IsUpper(firstRune(w)) {
			return false
		}
	}
	return len(fields) > 0 && len(fields) <= 3
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
