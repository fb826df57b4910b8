package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ponder/internal/textkit"
)

type speller struct {
	numbers *numbering
}

// belowOurs is the level shift of foreign headings.
const belowOurs = 2

// blocks returns the lines of blocks, separated by blank lines except in tight lists.
func (w speller) blocks(all []block, tight bool) (lines []string) {
	other := false // adjacent lists alternate their marks, else they would merge
	for i, b := range all {
		close := tight && (b.kind == list || b.kind == code)
		if i > 0 && !close {
			lines = append(lines, "")
		}
		other = i > 0 && b.kind == list && all[i-1].kind == list && !other
		if b.kind == list {
			lines = append(lines, w.list(b, other)...)
			continue
		}
		lines = append(lines, w.block(b)...)
	}
	return lines
}

func (w speller) block(b block) []string {
	switch b.kind {
	case heading:
		return []string{strings.Repeat("#", min(b.level+belowOurs, 6)) + " " + w.oneLine(b.spans)}
	case quote:
		return behind("> ", "> ", w.blocks(b.blocks, false))
	case code:
		return fenced(b)
	case rule:
		return []string{"* * *"}
	case table:
		return w.table(b)
	case paragraph:
		return strings.Split(atLineStarts(w.spans(b.spans)), "\n")
	}
	return w.blocks(b.blocks, false)
}

// behind prefixes lines; the first gets its own prefix.
func behind(first, prefix string, lines []string) []string {
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

func (w speller) list(b block, other bool) (lines []string) {
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
		lines = append(lines, behind(mark, strings.Repeat(" ", len(mark)), w.blocks(it.blocks, b.tight))...)
	}
	return lines
}

func fenced(b block) []string {
	fence := strings.Repeat("`", max(3, longestRun(b.text, '`')+1))
	lines := append([]string{fence + b.lang}, strings.Split(b.text, "\n")...)
	return append(lines, fence)
}

func longestRun(s string, letter rune) (most int) {
	n := 0
	for _, r := range s {
		if n++; r != letter {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

func (w speller) table(b block) (lines []string) {
	for i, r := range b.blocks {
		var cells []string
		for _, c := range r.blocks {
			cells = append(cells, strings.ReplaceAll(w.oneLine(c.spans), "|", `\|`))
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

// oneLine writes spans without line breaks.
func (w speller) oneLine(list []span) string {
	return strings.TrimSpace(strings.NewReplacer("\\\n", " ", "\n", " ").Replace(w.spans(list)))
}

// spans writes the content of a line and keeps line breaks.
func (w speller) spans(list []span) string {
	var b strings.Builder
	for i, s := range list {
		switch s.kind {
		case plain:
			b.WriteString(escaped(s.text))
		case codeSpan:
			b.WriteString(ticked(s.text))
		case emphasis:
			b.WriteString(marked("*", w.spans(s.spans)))
		case strong:
			b.WriteString(marked("**", w.spans(s.spans)))
		case strike:
			b.WriteString(marked("~~", w.spans(s.spans)))
		case link:
			fmt.Fprintf(&b, "[%s](<%s>)", w.spans(s.spans), s.text)
		case cite:
			if end := b.String(); end != "" && !strings.HasSuffix(end, " ") && !strings.HasSuffix(end, "\n") && !strings.HasSuffix(end, "]") {
				b.WriteByte(' ')
			}
			number := fmt.Sprintf("[%d]", w.numbers.of[s.text])
			if i+1 < len(list) && strings.IndexAny(list[i+1].text, "([:") == 0 {
				number = escaped(number) // else a link would start
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

// marked adds emphasis inside surrounding blanks, as Markdown requires.
func marked(mark, text string) string {
	bare := strings.TrimSpace(text)
	if bare == "" {
		return text
	}
	i := strings.Index(text, bare)
	return text[:i] + mark + bare + mark + text[i+len(bare):]
}

func ticked(text string) string {
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

// escaped returns plain text as Markdown.
func escaped(text string) string {
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

// atLineStarts escapes line starts, so that each line stays a paragraph.
func atLineStarts(text string) string {
	text = indent.ReplaceAllString(text, "")
	text = opening.ReplaceAllString(text, `\$1`)
	return numbered.ReplaceAllString(text, `$1\$2`)
}

func inText(text string) string { return escaped(textkit.OneLine(text)) }

func inCell(text string) string { return strings.ReplaceAll(inText(text), "|", `\|`) }
