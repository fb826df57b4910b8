package report

import (
	"fmt"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/session"
)

// longStream is how many thoughts are shown without being folded.
const longStream = 12

// Markdown returns a session as a report in Markdown. It is made for readers of
// every kind: where tables and details are not known, it reads as text.
func Markdown(v session.View) string {
	w := &markdownWriter{doc: newDocument(v), read: newReader()}
	w.speller = speller{w.doc.numbers}
	w.write()
	return w.b.String()
}

type markdownWriter struct {
	speller
	doc  *document
	read *reader
	b    strings.Builder
}

func (w *markdownWriter) write() {
	d := w.doc
	fmt.Fprintf(&w.b, "# %s\n\n", inText(d.Title))
	if d.Question != "" {
		fmt.Fprintf(&w.b, "%s\n\n", strings.Join(behind("> ", "> ", w.blocks(d.numbers.blocks(plainly(d.Question)), false)), "\n"))
	}
	w.section("Answer", w.answer())
	w.section("How it was reached", inText(d.Account))
	w.section("Confidence over time", w.chart())
	w.section("Key insights", w.insights())
	w.section("What is still open", w.open())
	w.section("Questions", w.tree())
	w.section("Sources", w.sources(d.Sources, len(d.AlsoRead) == 0))
	w.section("Also read", w.sources(d.AlsoRead, true))
	w.section("How understanding evolved", w.syntheses())
	w.section("Corrections", w.corrections())
	w.section("Steering", w.steering())
	w.section("The stream of thought", w.stream())
	w.section("Cost", w.costs())
	w.section("Notes", w.notes())
	if d.Colophon != "" {
		fmt.Fprintf(&w.b, "\n---\n\n%s\n", atLineStarts(inText(d.Colophon)))
	}
}

// section writes a section, if there is anything in it.
func (w *markdownWriter) section(title, text string) {
	if text = strings.Trim(text, "\n"); strings.TrimSpace(text) == "" {
		return
	}
	if title != "Answer" || w.doc.Question != "" {
		w.b.WriteByte('\n')
	}
	fmt.Fprintf(&w.b, "## %s\n\n%s\n", title, text)
}

// line returns Markdown of a model for the middle of a line.
func (w *markdownWriter) line(md string) string {
	return w.spans(w.doc.numbers.spans(w.read.inline(md)))
}

// prose returns Markdown of a model as paragraphs, each line behind a prefix.
func (w *markdownWriter) prose(md, prefix string) string {
	lines := w.blocks(w.doc.numbers.blocks(w.read.prose(md)), false)
	return strings.Join(behind(prefix, prefix, lines), "\n")
}

func (w *markdownWriter) answer() string {
	d := w.doc
	parts := []string{marked("*", inText(d.Lead))}
	for _, text := range []string{d.Remark, d.NoAnswer} {
		if text != "" {
			parts = append(parts, atLineStarts(inText(text)))
		}
	}
	if d.AnswerMD != "" {
		parts = append(parts, w.prose(d.AnswerMD, ""))
	}
	return strings.Join(parts, "\n\n")
}

func (w *markdownWriter) chart() string {
	c := w.doc.Chart
	if c == nil {
		return ""
	}
	return "```text\n" + c.text() + "```\n\n" + c.words()
}

func (w *markdownWriter) insights() string {
	var b strings.Builder
	for _, text := range w.doc.InsightsMD {
		fmt.Fprintf(&b, "- %s\n", atLineStarts(w.line(text)))
	}
	return b.String()
}

func (w *markdownWriter) open() string {
	var b strings.Builder
	for _, o := range w.doc.Open {
		var marks []string
		if o.Priority > 0 {
			marks = append(marks, fmt.Sprintf("priority %d", o.Priority))
		}
		if o.Mark != "" {
			marks = append(marks, inText(o.Mark))
		}
		fmt.Fprintf(&b, "- %s%s\n", atLineStarts(w.line(o.TextMD)), inBrackets(marks))
	}
	return b.String()
}

func inBrackets(marks []string) string {
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// stateMarks are the signs of states, which read without colour.
var stateMarks = map[session.QuestionState]string{
	session.Open: "○", session.Exploring: "◐", session.Explored: "●", session.Dropped: "✕",
}

// maxIndent bounds how deep lists are nested.
const maxIndent = 6

func (w *markdownWriter) tree() string {
	if len(w.doc.Tree) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("● explored · ◐ being explored · ○ open · ✕ dropped\n\n")
	for _, n := range w.doc.Tree {
		indent := strings.Repeat("  ", min(n.Depth, maxIndent))
		text := w.line(n.Text)
		if n.State == session.Dropped {
			text = "~~" + text + "~~"
		}
		fmt.Fprintf(&b, "%s- %s %s *%s*\n", indent, stateMarks[n.State], text, inText(strings.Join(append([]string{string(n.State)}, questionMarks(n.Question)...), ", ")))
		if n.Insights != "" {
			fmt.Fprintf(&b, "\n%s  %s\n\n", indent, atLineStarts(w.line(n.Insights)))
		}
	}
	return b.String()
}

// sources lists what is cited, with the quotations; the last list says how much is not.
func (w *markdownWriter) sources(list []source, last bool) string {
	var b strings.Builder
	for _, s := range list {
		mark := fmt.Sprintf("%d. ", s.N)
		parts := []string{}
		if s.Title != "" {
			parts = append(parts, "**"+inText(s.Title)+"**")
		}
		switch {
		case s.URL != "":
			parts = append(parts, "<"+s.URL+">")
		case s.Earlier:
			parts = append(parts, inText(s.Where))
		default:
			parts = append(parts, ticked(textkit.OneLine(s.Where)))
		}
		for _, text := range []string{s.Place, s.Mark} {
			if text != "" {
				parts = append(parts, inText(text))
			}
		}
		lines := []string{strings.Join(parts, ", ")}
		if quote := textkit.OneLine(s.Quote); quote != "" {
			lines = append(lines, "", "> "+atLineStarts(escaped(quote)))
		}
		b.WriteString(strings.Join(behind(mark, strings.Repeat(" ", len(mark)), lines), "\n") + "\n")
	}
	if n := w.doc.Uncited; n > 0 && last && b.Len() > 0 {
		fmt.Fprintf(&b, "\n%s found and not cited.\n", count(n, "more passage was", "more passages were"))
	}
	return b.String()
}

func (w *markdownWriter) syntheses() string {
	var b strings.Builder
	for i, s := range w.doc.Syntheses {
		parts := append([]string{"**" + clock(s.Offset) + "**"}, synthesisMarks(s, inText(s.Trend), inText(basis(s.Basis)))...)
		b.WriteString(strings.Join(parts, " · ") + "\n\n")
		if s.Final && i == len(w.doc.Syntheses)-1 {
			b.WriteString("> The answer above.\n\n")
			continue
		}
		b.WriteString(w.prose(s.Text, "> ") + "\n\n")
	}
	return b.String()
}

func (w *markdownWriter) corrections() string {
	var b strings.Builder
	for _, c := range w.doc.Corrections {
		fmt.Fprintf(&b, "- %s **%s** %s", clock(c.Offset), inText(c.ID), inText(c.Text))
		if n := len(c.Against); n > 0 {
			fmt.Fprintf(&b, " (%s it)", count(n, "later thought contradicts", "later thoughts contradict"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *markdownWriter) steering() string {
	var b strings.Builder
	for i, s := range w.doc.Steering {
		if i == 0 {
			b.WriteString("| time | wish | what came of it |\n|---:|:---|:---|\n")
		}
		wish, outcome := steerLine(s)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", clock(s.Offset), inCell(wish), inCell(outcome))
	}
	return b.String()
}

// stream lists the thoughts, under a line for each focus.
func (w *markdownWriter) stream() string {
	n := len(w.doc.View.Thoughts)
	if n == 0 {
		return ""
	}
	var b strings.Builder
	if n > longStream {
		fmt.Fprintf(&b, "<details>\n<summary>%s</summary>\n", count(n, "thought", "thoughts"))
	}
	for _, st := range w.doc.Stream {
		fmt.Fprintf(&b, "\n%s\n\n", marked("**", atLineStarts(w.line(st.FocusMD))))
		for _, t := range st.Thoughts {
			marks := thoughtMarks(t)
			if !t.Assumed {
				marks = append([]string{two(t.Confidence)}, marks...)
			}
			for i, m := range marks {
				marks[i] = inText(m)
			}
			fmt.Fprintf(&b, "- %s *%s*%s %s\n", clock(t.Offset), inText(t.Kind), inBrackets(marks), w.line(t.Text))
		}
	}
	if n > longStream {
		b.WriteString("\n</details>\n")
	}
	return b.String()
}

// costs is a table of what each model used.
func (w *markdownWriter) costs() string {
	if len(w.doc.Costs) == 0 {
		return "No model was asked."
	}
	var b strings.Builder
	b.WriteString("| model | calls | failed | tokens in | tokens out | cost |\n|:---|---:|---:|---:|---:|---:|\n")
	for _, r := range w.doc.Costs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", inCell(r.Model), r.Calls, r.Failed, r.Input, r.Output, r.Cost)
	}
	return b.String()
}

func (w *markdownWriter) notes() string {
	var b strings.Builder
	for _, text := range w.doc.Notes {
		fmt.Fprintf(&b, "- %s\n", atLineStarts(inText(text)))
	}
	return b.String()
}
