package report

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"ponder/internal/textkit"
	"ponder/mode/session"
)

//go:embed page.tmpl research.tmpl
var markdownFiles embed.FS

var markdowns = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(funcs).Funcs(template.FuncMap{
		"text": escapeText, "cell": escapeCell, "item": sourceItem, "brackets": bracketMarks, "nodeMarks": nodeMarks, "sureMarks": sureMarks, "why": claimReason,
		"starts":    func(text string) string { return escapeLineStarts(escapeText(text)) },
		"emphasis":  func(text string) string { return wrapMark("*", escapeText(text)) },
		"commas":    func(list []string) string { return strings.Join(list, ", ") },
		"indent":    func(depth int) string { return strings.Repeat("  ", min(depth, maxIndent)) },
		"stateMark": func(s session.QuestionState) string { return stateMarks[s] },
	}).ParseFS(markdownFiles, "*.tmpl"))
})

// Markdown returns a session as Markdown that also reads well as plain text.
func Markdown(v session.View) string {
	d := newDocument(v)
	w := &sessionMarkdown{markdown{markdownEncoder: markdownEncoder{d.numbers}, read: newReader(sessionAddresses(v)), first: d.Question == ""}, d}
	w.report = w
	return w.executeTemplate("session")
}

// Markdown returns the report as Markdown. A final comment has the JSON form: see
// [ReadResearch].
func (r Research) Markdown() ([]byte, error) {
	r.fillEmptyLists()
	f := newResearchDocument(&r)
	w := &researchMarkdown{markdown{markdownEncoder: markdownEncoder{f.numbers}, read: newReader(r.knownAddresses())}, f}
	w.report = w
	return embedReport(w.executeTemplate("research")+"\n", commentOpens, &r, commentCloses, "\n")
}

type markdown struct {
	markdownEncoder
	read   *reader
	report any
	first  bool // no text between title and answer
}

type sessionMarkdown struct {
	markdown
	*document
}

type researchMarkdown struct {
	markdown
	*researchDocument
}

// executeTemplate executes a template. It panics on an error, which is a bug of this package.
func (m *markdown) executeTemplate(name string) string {
	var b strings.Builder
	if err := markdowns().ExecuteTemplate(&b, name, m.report); err != nil {
		panic(fmt.Errorf("write a report: %w", err))
	}
	return b.String()
}

func (m *markdown) Section(title, name string) string {
	return m.formatSection(title, m.executeTemplate(name))
}

func (m *markdown) formatSection(title, text string) string {
	if text = strings.Trim(text, "\n"); strings.TrimSpace(text) == "" {
		return ""
	}
	text = fmt.Sprintf("## %s\n\n%s\n", title, text)
	if m.first && title == "Answer" {
		return text
	}
	return "\n" + text
}

// Line returns a model's Markdown for the middle of a line.
func (m *markdown) Line(md string) string {
	return m.encodeSpans(m.numbers.splitSpans(m.read.parseInline(md)))
}

// Item returns a model's Markdown for the start of an item.
func (m *markdown) Item(md string) string { return escapeLineStarts(m.Line(md)) }

// Strong returns a model's Markdown as an emphasised line.
func (m *markdown) Strong(md string) string { return wrapMark("**", m.Item(md)) }

// Prose returns a model's Markdown as paragraphs with a prefix on each line.
func (m *markdown) Prose(md, prefix string) string {
	return m.prefixBlocks(prefix, m.numbers.splitBlocks(m.read.parseProse(md)))
}

func (w *sessionMarkdown) Quoted(text string) string {
	return w.prefixBlocks("> ", w.markdown.numbers.splitBlocks(plainBlocks(text)))
}

func (w *researchMarkdown) Quoted(text string) string {
	return w.prefixBlocks("> ", plainBlocks(textkit.Clean(text)))
}

func (m *markdown) prefixBlocks(prefix string, blocks []block) string {
	return strings.Join(prefixLines(prefix, prefix, m.encodeBlocks(blocks, false)), "\n")
}

// List returns a section of sources with the number of uncited ones.
func (w *sessionMarkdown) List(title string, list []source, uncited int) string {
	var b strings.Builder
	for _, s := range list {
		path, facts := s.Where, dropEmpty(s.Place, s.Mark)
		if s.Earlier {
			path, facts = "", dropEmpty(s.Where, s.Mark)
		}
		b.WriteString(sourceItem(s.N, s.Title, s.URL, path, facts, s.Quote, nil) + "\n")
	}
	if uncited > 0 {
		fmt.Fprintf(&b, "\n%s found but not cited.\n", textkit.Count(uncited, "more passage was", "more passages were"))
	}
	return w.formatSection(title, b.String())
}

// sourceItem formats a source as a list item.
func sourceItem(n int, title, address, path string, facts []string, quote string, more []string) string {
	var parts []string
	if title != "" {
		parts = append(parts, "**"+escapeText(title)+"**")
	}
	if address != "" {
		parts = append(parts, "<"+address+">")
	} else if path != "" {
		parts = append(parts, quoteCode(textkit.OneLine(path)))
	}
	for _, text := range facts {
		parts = append(parts, escapeText(text))
	}
	lines := []string{escapeLineStarts(strings.Join(parts, ", "))}
	if quote = textkit.OneLine(quote); quote != "" {
		lines = append(lines, "", "> "+escapeLineStarts(escapeMarkdown(quote)))
	}
	for _, text := range more {
		lines = append(lines, "", escapeLineStarts(escapeText(text)))
	}
	mark := fmt.Sprintf("%d. ", n)
	return strings.Join(prefixLines(mark, strings.Repeat(" ", len(mark)), lines), "\n")
}

func bracketMarks(marks []string) string {
	if len(marks) == 0 {
		return ""
	}
	return " (" + escapeText(strings.Join(marks, ", ")) + ")"
}

// stateMarks are signs that need no colour.
var stateMarks = map[session.QuestionState]string{
	session.Open: "○", session.Exploring: "◐", session.Explored: "●", session.Dropped: "✕",
}

// maxIndent bounds the nesting of lists.
const maxIndent = 6

// claimReason returns the reason of a claim's status, and the model that judged it.
func claimReason(c Claim) string {
	text := textkit.OneLine(c.Reason)
	if c.Judge != "" {
		text = strings.TrimPrefix(text+"; asked: "+textkit.OneLine(c.Judge), "; ")
	}
	return text
}
