package session

import (
	"ponder/internal/textkit"
	"regexp"
	"strings"
)

// laidOut returns an answer whose records are laid out in another way as labelled lines:
// the rows of a table, elements of XML, and lines whose ends are written as \n or <br>.
// The head is the label of the records.
func laidOut(text string, all labels, head string) string {
	text = lineEnds(text, all)
	if strings.Contains(strings.ToLower(text), "<"+head) {
		text = element.ReplaceAllStringFunc(text, func(tag string) string { return elementLines(tag, all, head) })
	}
	if !strings.Contains(text, "|") {
		return text
	}
	var b strings.Builder
	var heads []string // of the table at hand
	for line := range strings.Lines(text) {
		cells, ok := row(line)
		switch {
		case !ok:
			heads = nil
			b.WriteString(line)
		case heads == nil && headed(cells, all, head):
			heads = cells
		case heads == nil:
			b.WriteString(line)
		case strings.Trim(line, "|-: \n\r\t") != "":
			b.WriteString("---\n")
			for i, cell := range cells[:min(len(cells), len(heads))] {
				b.WriteString(heads[i] + ": " + cell + "\n")
			}
		}
	}
	return b.String()
}

// row returns the cells of a row of a table.
func row(line string) (cells []string, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) < 3 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil, false
	}
	for cell := range strings.SplitSeq(line[1:len(line)-1], "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells, true
}

// headed reports whether a table with such a first row has records.
func headed(cells []string, all labels, head string) bool {
	for _, cell := range cells {
		if name, ok := all.of(textkit.TruncateBytes(cell, maxHead)); ok && name == head {
			return true
		}
	}
	return false
}

// lineEnds returns text with line ends where they are written as <br>, or, before a
// label, as \n; and with bold type of LaTeX as that of Markdown.
func lineEnds(text string, all labels) string {
	if strings.Contains(text, "<br") {
		text = breaks.ReplaceAllString(text, "\n")
	}
	if strings.Contains(text, `\textbf`) {
		text = bold.ReplaceAllString(text, "**$1**")
	}
	if strings.Contains(text, "\n") || !strings.Contains(text, `\n`) {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, `\n`) {
		_, _, _, ok := labelled(part, all)
		switch {
		case i == 0:
		case ok || part == "" || strings.HasPrefix(part, "---"):
			b.WriteByte('\n')
		default:
			b.WriteString(`\n`)
		}
		b.WriteString(part)
	}
	return b.String()
}

var (
	bold   = regexp.MustCompile(`\\textbf\{([^{}\n]{0,60})\}`)
	breaks = regexp.MustCompile(`<br\s{0,4}/?>`)

	// element matches the begin or end of an element of XML.
	element = regexp.MustCompile(`<(/?)([A-Za-z_]{2,20})((?:\s{1,4}[A-Za-z_]{2,20}="[^"<>]{0,200}")*)\s{0,4}/?>`)

	attribute = regexp.MustCompile(`([A-Za-z_]{2,20})="([^"<>]{0,200})"`)
)

// elementLines returns a tag of XML as labels.
func elementLines(tag string, all labels, head string) string {
	m := element.FindStringSubmatch(tag)
	name, ok := all.of(m[2])
	switch {
	case !ok && m[2] != "text" && m[2] != "content":
		return tag
	case !ok:
		return " "
	case m[1] != "":
		return "\n"
	}
	lines := "\n"
	if name == head {
		lines = "\n---\n"
	}
	for _, a := range attribute.FindAllStringSubmatch(m[3], 8) {
		lines += a[1] + ": " + a[2] + "\n"
	}
	return lines + m[2] + ": "
}
