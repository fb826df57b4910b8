package document

import (
	"strings"
)

// Markdown returns the content of Markdown text without emphasis, links, tags and
// comments.
func Markdown(text string) Content {
	m := &markdown{}
	text = m.frontMatter(text)
	for line := range strings.Lines(text) {
		m.line(strings.TrimRight(line, "\r\n"))
	}
	m.flush()
	m.flushCode()
	c := m.about
	c.Title, c.Blocks = m.title, m.blocks
	return c
}

// maxFront is the maximum size of front matter in bytes.
const maxFront = 1 << 16

// A markdown reads lines. At most one of para and code is open.
type markdown struct {
	title  string
	about  Content // front matter except the title
	blocks []Block

	para  []string // lines of the open paragraph, item or table
	kind  Kind
	list  bool // in a list, deep indents are no code
	code  []string
	fence string // closing fence; "" if none is open
	skip  string // end mark of the skipped comment or script
}

// frontMatter reads title, author, date and language from YAML or TOML front matter,
// and returns the rest.
func (m *markdown) frontMatter(text string) string {
	for _, mark := range []string{"---", "+++"} {
		if !strings.HasPrefix(text, mark) || strings.TrimRight(firstLine(text), " \r\n") != mark {
			continue
		}
		end := strings.Index(text[:min(len(text), maxFront)], "\n"+mark)
		if end < 0 {
			return text
		}
		m.about.Tags = frontTags(text[:end])
		for line := range strings.Lines(text[:end]) {
			key, value, _ := strings.Cut(strings.Replace(line, "=", ":", 1), ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			switch strings.ToLower(strings.TrimSpace(key)) {
			case "title":
				m.title = value
			case "author", "authors", "by":
				m.about.Author = strings.Trim(value, `[]"' `)
			case "date", "published", "created", "pubdate":
				m.about.Published = parseDate(value)
			case "lang", "language":
				m.about.Language = value
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

func (m *markdown) line(line string) {
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
		m.open(line)
	case closes(unquote(line), m.fence):
		m.flushCode()
	default:
		m.code = append(m.code, line)
	}
}

func closes(line, fence string) bool {
	s := strings.TrimSpace(line)
	return strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]) == ""
}

// open reads a line outside code.
func (m *markdown) open(line string) {
	body := unquote(strings.ReplaceAll(line, "\t", "    "))
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
		m.line(s[n:])
		return
	}
	switch {
	case s == "":
		m.flush()
	case m.heading(s), m.startCode(s), m.row(s):
	case marker(s) != "":
		m.flush()
		m.kind, m.list = Item, true
		m.para = append(m.para, task(unmark(s)))
	case definition(s):
		m.flush()
	default:
		m.list = m.list && (indent > 0 || len(m.para) > 0)
		m.para = append(m.para, s)
	}
}

// heading reads an ATX heading, or turns the previous line into a heading.
func (m *markdown) heading(s string) bool {
	level := len(s) - len(strings.TrimLeft(s, "#"))
	if 1 <= level && level <= 6 && (level == len(s) || s[level] == ' ') {
		m.flush()
		title, _, _ := strings.Cut(strings.Trim(s[level:], " #"), "{#")
		m.add(Block{Kind: Heading, Level: level, Text: inline(title)})
		m.list = false
		return true
	}
	if len(m.para) == 1 && m.kind == Prose && (strings.Trim(s, "=") == "" || len(s) > 1 && strings.Trim(s, "-") == "") {
		m.add(Block{Kind: Heading, Level: 1 + b2i(s[0] == '-'), Text: inline(m.para[0])})
		m.para = nil
		return true
	}
	if ruled(s) && strings.ContainsRune("-*_", rune(s[0])) {
		m.flush()
		return true
	}
	return false
}

func (m *markdown) startCode(s string) bool {
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

// skipped are the marks around omitted text.
var skipped = [][2]string{{"<!--", "-->"}, {"<script", "</script>"}, {"<style", "</style>"}}

// startSkip returns the length of the mark of a comment or script at the start of s,
// or 0.
func (m *markdown) startSkip(s string) int {
	for _, mark := range skipped {
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

// row reads a table line. The second line identifies a table.
func (m *markdown) row(s string) bool {
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

func (m *markdown) flush() {
	lines, kind := m.para, m.kind
	m.para, m.kind = nil, Prose
	if kind == Row {
		for _, l := range lines {
			m.add(Block{Kind: Row, Text: cells(l)})
		}
		return
	}
	first := 0
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) && !hardBreak(lines[i-1]) && goesOn(lines[i-1], lines[i]) {
			continue
		}
		if first > 0 || i < len(lines) {
			kind = Item // one of several
		}
		m.add(Block{Kind: kind, Text: inline(strings.TrimSuffix(unwrap(lines[first:i]), `\`))})
		first = i
	}
}

func (m *markdown) flushCode() {
	if len(m.code) > 0 {
		m.add(Block{Kind: Code, Text: strings.Join(m.code, "\n")})
	}
	m.code, m.fence = nil, ""
}

func (m *markdown) add(b Block) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	if b.Kind == Heading && m.title == "" && len(m.blocks) == 0 {
		m.title = b.Text
	}
	m.blocks = append(m.blocks, b)
}

// cells returns a table row without outer bars.
func cells(row string) string {
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(row, " |"), "|") {
		out = append(out, strings.TrimSpace(inline(cell)))
	}
	return strings.Join(out, " | ")
}

// unquote removes block quote marks.
func unquote(line string) string {
	for {
		s := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(s, ">") || len(line)-len(s) > 3 {
			return line
		}
		line = strings.TrimPrefix(s[1:], " ")
	}
}

// task removes a task box: "[x] ".
func task(s string) string {
	if len(s) > 4 && s[0] == '[' && s[2] == ']' && s[3] == ' ' && strings.ContainsRune(" xX", rune(s[1])) {
		return s[4:]
	}
	return s
}

// definition reports whether a line defines a link: "[1]: http://...".
func definition(s string) bool {
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
