package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ponder/internal/textkit"
)

type markdownEncoder struct {
	numbers *citationNumbers
}

// headingShift is the level shift of foreign headings.
const headingShift = 2

// encodeBlocks returns the lines of blocks, separated by blank lines except in tight lists.
func (w markdownEncoder) encodeBlocks(all []block, tight bool) (lines []string) {
	other := false // adjacent lists alternate their marks, else they would merge
	for i, b := range all {
		close := tight && (b.kind == list || b.kind == code)
		if i > 0 && !close {
			lines = append(lines, "")
		}
		other = i > 0 && b.kind == list && all[i-1].kind == list && !other
		if b.kind == list {
			lines = append(lines, w.encodeList(b, other)...)
			continue
		}
		lines = append(lines, w.encodeBlock(b)...)
	}
	return lines
}

func (w markdownEncoder) encodeBlock(b block) []string {
	switch b.kind {
	case heading:
		return []string{strings.Repeat("#", min(b.level+headingShift, 6)) + " " + w.encodeLine(b.spans)}
	case quote:
		return prefixLines("> ", "> ", w.encodeBlocks(b.blocks, false))
	case code:
		return fenceCode(b)
	case rule:
		return []string{"* * *"}
	case table:
		return w.encodeTable(b)
	case paragraph:
		return strings.Split(escapeLineStarts(w.encodeSpans(b.spans)), "\n")
	}
	return w.encodeBlocks(b.blocks, false)
}

// prefixLines prefixes lines; the first gets its own prefix.
func prefixLines(first, prefix string, lines []string) []string {
	out := make([]string, max(1, len(lines)))
	for i := range out {
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		if i == 0 {
			out[i] = strings.TrimRight(first+text, " ")
		} else {
			out[i] = strings.TrimRight(prefix+text, " ")
		}
	}
	return out
}

func (w markdownEncoder) encodeList(b block, other bool) (lines []string) {
	bullet, after := "- ", ". "
	if other {
		bullet, after = "* ", ") "
	}
	for i, it := range b.blocks {
		mark := bullet
		if b.ordered {
			mark = strconv.Itoa(min(b.level+i, 999_999_999)) + after
		}
		if i > 0 && !b.tight {
			lines = append(lines, "")
		}
		lines = append(lines, prefixLines(mark, strings.Repeat(" ", len(mark)), w.encodeBlocks(it.blocks, b.tight))...)
	}
	return lines
}

func fenceCode(b block) []string {
	fence := strings.Repeat("`", max(3, longestRun(b.text, '`')+1))
	lines := append([]string{fence + b.lang}, strings.Split(b.text, "\n")...)
	return append(lines, fence)
}

func longestRun(s string, letter rune) (longest int) {
	n := 0
	for _, r := range s {
		if n++; r != letter {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

func (w markdownEncoder) encodeTable(b block) (lines []string) {
	for i, r := range b.blocks {
		var cells []string
		for _, c := range r.blocks {
			cells = append(cells, strings.ReplaceAll(w.encodeLine(c.spans), "|", `\|`))
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		if i == 0 {
			marks := make([]string, len(b.align))
			for j, a := range b.align {
				marks[j] = map[string]string{"left": ":---", "center": ":---:", "right": "---:"}[a]
				if marks[j] == "" {
					marks[j] = "---"
				}
			}
			lines = append(lines, "| "+strings.Join(marks, " | ")+" |")
		}
	}
	return lines
}

// encodeLine writes spans without line breaks.
func (w markdownEncoder) encodeLine(list []span) string {
	return strings.TrimSpace(strings.NewReplacer("\\\n", " ", "\n", " ").Replace(w.encodeSpans(list)))
}

// encodeSpans writes the content of a line and keeps line breaks.
func (w markdownEncoder) encodeSpans(list []span) string {
	var b strings.Builder
	for i, s := range list {
		switch s.kind {
		case plain:
			b.WriteString(escapeMarkdown(s.text))
		case codeSpan:
			b.WriteString(quoteCode(s.text))
		case emphasis:
			b.WriteString(wrapMark("*", w.encodeSpans(s.spans)))
		case strong:
			b.WriteString(wrapMark("**", w.encodeSpans(s.spans)))
		case strike:
			b.WriteString(wrapMark("~~", w.encodeSpans(s.spans)))
		case link:
			fmt.Fprintf(&b, "[%s](<%s>)", w.encodeSpans(s.spans), s.text)
		case cite:
			if end := b.String(); end != "" && !strings.HasSuffix(end, " ") && !strings.HasSuffix(end, "\n") && !strings.HasSuffix(end, "]") {
				b.WriteByte(' ')
			}
			number := fmt.Sprintf("[%d]", w.numbers.numberByID[s.text])
			if i+1 < len(list) && strings.IndexAny(list[i+1].text, "([:") == 0 {
				number = escapeMarkdown(number) // else a link would start
			}
			b.WriteString(number)
		case softBreak:
			b.WriteByte('\n')
		case hardBreak:
			b.WriteString("\\\n")
		}
	}
	return b.String()
}

// wrapMark adds emphasis inside surrounding blanks, as Markdown requires.
func wrapMark(mark, text string) string {
	bare := strings.TrimSpace(text)
	if bare == "" {
		return text
	}
	i := strings.Index(text, bare)
	return text[:i] + mark + bare + mark + text[i+len(bare):]
}

func quoteCode(text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// special matches characters with a meaning within a line; "_" has none between letters.
var special = regexp.MustCompile("[\\\\`*\\[\\]~]|\\b_\\B|\\B_\\b|\\B_\\B|<[A-Za-z/!?]|&(?:#|[A-Za-z])")

// escapeMarkdown returns plain text as Markdown.
func escapeMarkdown(text string) string {
	return special.ReplaceAllStringFunc(text, func(s string) string {
		switch s[0] {
		case '<':
			return "&lt;" + s[1:]
		case '&':
			return "&amp;" + s[1:]
		}
		return `\` + s
	})
}

// indent matches indentation, which would make code.
var indent = regexp.MustCompile(`(?m)^[ \t]+`)

// opening matches characters with a meaning at the start of a line.
var opening = regexp.MustCompile(`(?m)^(#{1,6}(?:\s|$)|>|[-+=|:])`)

// numbered matches the start of an ordered list.
var numbered = regexp.MustCompile(`(?m)^(\d{1,9})([.)])`)

// escapeLineStarts escapes line starts, so that each line stays a paragraph.
func escapeLineStarts(text string) string {
	text = indent.ReplaceAllString(text, "")
	text = opening.ReplaceAllString(text, `\$1`)
	return numbered.ReplaceAllString(text, `$1\$2`)
}

func escapeText(text string) string { return escapeMarkdown(textkit.OneLine(text)) }

func escapeCell(text string) string { return strings.ReplaceAll(escapeText(text), "|", `\|`) }
