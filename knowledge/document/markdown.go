package document

import (
	"strings"
)

// Markdown returns the content of Markdown text without emphasis, links, tags and
// comments.
func Markdown(text string) Content {
	m := &markdownReader{}
	text = m.frontMatter(text)
	for line := range strings.Lines(text) {
		m.readLine(strings.TrimRight(line, "\r\n"))
	}
	m.flush()
	m.flushCode()
	c := m.metadata
	c.Title, c.Blocks = m.title, m.blocks
	return c
}

// maxFront is the maximum size of front matter in bytes.
const maxFront = 1 << 16

// A markdownReader reads lines. At most one of para and code is open.
type markdownReader struct {
	title    string
	metadata Content // front matter except the title
	blocks   []Block

	para  []string // lines of the open paragraph, item or table
	kind  Kind
	list  bool // in a list, deep indents are no code
	code  []string
	fence string // closing fence; "" if none is open
	skip  string // end mark of the skipped comment or script
}

// frontMatter reads title, author, date and language from YAML or TOML front matter,
// and returns the rest.
func (m *markdownReader) frontMatter(text string) string {
	for _, mark := range []string{"---", "+++"} {
		if !strings.HasPrefix(text, mark) || strings.TrimRight(firstLine(text), " \r\n") != mark {
			continue
		}
		end := strings.Index(text[:min(len(text), maxFront)], "\n"+mark)
		if end < 0 {
			return text
		}
		m.metadata.Tags = frontTags(text[:end])
		for line := range strings.Lines(text[:end]) {
			key, value, _ := strings.Cut(strings.Replace(line, "=", ":", 1), ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			switch strings.ToLower(strings.TrimSpace(key)) {
			case "title":
				m.title = value
			case "author", "authors", "by":
				m.metadata.Author = strings.Trim(value, `[]"' `)
			case "date", "published", "created", "pubdate":
				m.metadata.Published = parseDate(value)
			case "lang", "language":
				m.metadata.Language = value
			}
		}
		rest := text[end+1:]
		return rest[len(firstLine(rest)):]
	}
	return text
}

const maxTags = 64

// frontTags returns the tags of front matter: a list on one or several lines, or
// comma-separated.
func frontTags(front string) []string {
	var tags []string
	open := false
	for line := range strings.Lines(front) {
		line = strings.TrimSpace(line)
		item, listed := strings.CutPrefix(line, "- ")
		key, value, _ := strings.Cut(strings.Replace(line, "=", ":", 1), ":")
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case open && listed:
			value = item
		case key == "tags" || key == "keywords":
			open = true
		default:
			open = open && line == ""
			continue
		}
		for t := range strings.SplitSeq(strings.Trim(strings.TrimSpace(value), "[]"), ",") {
			if t = strings.Trim(t, "\"'# \t"); t != "" && len(tags) < maxTags {
				tags = append(tags, oneLine(t))
			}
		}
	}
	return tags
}

func (m *markdownReader) readLine(line string) {
	for m.skip != "" {
		end := indexFold(line, m.skip)
		if end < 0 {
			return
		}
		line, m.skip = line[end+len(m.skip):], ""
		if n := m.startSkip(strings.TrimSpace(line)); n > 0 {
			line = strings.TrimSpace(line)[n:]
		}
	}
	switch {
	case m.fence == "":
		m.readTextLine(line)
	case closesFence(stripBlockQuote(line), m.fence):
		m.flushCode()
	default:
		m.code = append(m.code, line)
	}
}

func closesFence(line, fence string) bool {
	s := strings.TrimSpace(line)
	return strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]) == ""
}

// readTextLine reads a line outside code.
func (m *markdownReader) readTextLine(line string) {
	body := stripBlockQuote(strings.ReplaceAll(line, "\t", "    "))
	s := strings.TrimLeft(body, " ")
	indent := len(body) - len(s)
	if indent >= 4 && s != "" && len(m.para) == 0 && !m.list {
		m.code = append(m.code, body[4:])
		return
	}
	if s == "" && len(m.code) > 0 {
		m.code = append(m.code, "")
		return
	}
	m.flushCode()
	if n := m.startSkip(s); n > 0 {
		m.readLine(s[n:])
		return
	}
	switch {
	case s == "":
		m.flush()
	case m.readHeading(s), m.startCode(s), m.readTableRow(s):
	case itemMarker(s) != "":
		m.flush()
		m.kind, m.list = Item, true
		m.para = append(m.para, stripTaskBox(stripItemMarker(s)))
	case isLinkDefinition(s):
		m.flush()
	default:
		m.list = m.list && (indent > 0 || len(m.para) > 0)
		m.para = append(m.para, s)
	}
}

// readHeading reads an ATX heading, or turns the previous line into a heading.
func (m *markdownReader) readHeading(s string) bool {
	level := len(s) - len(strings.TrimLeft(s, "#"))
	if 1 <= level && level <= 6 && (level == len(s) || s[level] == ' ') {
		m.flush()
		title, _, _ := strings.Cut(strings.Trim(s[level:], " #"), "{#")
		m.addBlock(Block{Kind: Heading, Level: level, Text: stripInlineMarks(title)})
		m.list = false
		return true
	}
	if len(m.para) == 1 && m.kind == Prose && (strings.Trim(s, "=") == "" || len(s) > 1 && strings.Trim(s, "-") == "") {
		m.addBlock(Block{Kind: Heading, Level: 1 + boolToInt(s[0] == '-'), Text: stripInlineMarks(m.para[0])})
		m.para = nil
		return true
	}
	if isRule(s) && strings.ContainsRune("-*_", rune(s[0])) {
		m.flush()
		return true
	}
	return false
}

func (m *markdownReader) startCode(s string) bool {
	if !strings.HasPrefix(s, "```") && !strings.HasPrefix(s, "~~~") {
		return false
	}
	fence := s[:len(s)-len(strings.TrimLeft(s, s[:1]))]
	if strings.Contains(s[len(fence):], "`") {
		return false
	}
	m.flush()
	m.fence = fence
	return true
}

// skipMarks are the marks around omitted text.
var skipMarks = [][2]string{{"<!--", "-->"}, {"<script", "</script>"}, {"<style", "</style>"}}

// startSkip returns the length of the mark of a comment or script at the start of s,
// or 0.
func (m *markdownReader) startSkip(s string) int {
	for _, mark := range skipMarks {
		if len(s) >= len(mark[0]) && strings.EqualFold(s[:len(mark[0])], mark[0]) {
			m.flush()
			m.skip = mark[1]
			return len(mark[0])
		}
	}
	return 0
}

// indexFold is strings.Index without case.
func indexFold(s, sub string) int {
	for i := 0; ; i++ {
		n := strings.Index(s[i:], sub[:2])
		if n < 0 || len(s)-i-n < len(sub) {
			return -1
		}
		if i += n; strings.EqualFold(s[i:i+len(sub)], sub) {
			return i
		}
	}
}

// readTableRow reads a table line. The second line identifies a table.
func (m *markdownReader) readTableRow(s string) bool {
	if !strings.Contains(s, "|") {
		if m.kind == Row {
			m.flush()
		}
		return false
	}
	if strings.Trim(s, "|:- ") == "" && len(m.para) == 1 && m.kind == Prose && strings.Contains(m.para[0], "|") {
		m.kind = Row
		return true
	}
	if m.kind == Row {
		m.para = append(m.para, s)
	}
	return m.kind == Row
}

func (m *markdownReader) flush() {
	lines, kind := m.para, m.kind
	m.para, m.kind = nil, Prose
	if kind == Row {
		for _, l := range lines {
			m.addBlock(Block{Kind: Row, Text: formatCells(l)})
		}
		return
	}
	first := 0
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) && !hardBreak(lines[i-1]) && continuesLine(lines[i-1], lines[i]) {
			continue
		}
		if first > 0 || i < len(lines) {
			kind = Item // one of several
		}
		m.addBlock(Block{Kind: kind, Text: stripInlineMarks(strings.TrimSuffix(joinWrapped(lines[first:i]), `\`))})
		first = i
	}
}

func (m *markdownReader) flushCode() {
	if len(m.code) > 0 {
		m.addBlock(Block{Kind: Code, Text: strings.Join(m.code, "\n")})
	}
	m.code, m.fence = nil, ""
}

func (m *markdownReader) addBlock(b Block) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	if b.Kind == Heading && m.title == "" && len(m.blocks) == 0 {
		m.title = b.Text
	}
	m.blocks = append(m.blocks, b)
}

// formatCells returns a table row without outer bars.
func formatCells(row string) string {
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(row, " |"), "|") {
		out = append(out, strings.TrimSpace(stripInlineMarks(cell)))
	}
	return strings.Join(out, " | ")
}

// stripBlockQuote removes block quote marks.
func stripBlockQuote(line string) string {
	for {
		s := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(s, ">") || len(line)-len(s) > 3 {
			return line
		}
		line = strings.TrimPrefix(s[1:], " ")
	}
}

// stripTaskBox removes a task box: "[x] ".
func stripTaskBox(s string) string {
	if len(s) > 4 && s[0] == '[' && s[2] == ']' && s[3] == ' ' && strings.ContainsRune(" xX", rune(s[1])) {
		return s[4:]
	}
	return s
}

// isLinkDefinition reports whether a line defines a link: "[1]: http://...".
func isLinkDefinition(s string) bool {
	name, rest, ok := strings.Cut(s, "]: ")
	return ok && strings.HasPrefix(name, "[") && !strings.HasPrefix(name, "[^") && !strings.Contains(strings.TrimSpace(rest), " ")
}

func hardBreak(line string) bool {
	return strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
