package session

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder"
)

// Markdown returns a session as a report: the answer, how sure it is, what was
// understood, what is open, what it rests on, how it was thought, what it cost.
func Markdown(v View) string {
	b := &strings.Builder{}
	s := v.Session
	fmt.Fprintf(b, "# %s\n\n", inText(clip(oneLine(s.Question), maxQuestion)))
	fmt.Fprintf(b, "%s\n", status(v))
	section(b, "Answer", answerOf(v))
	section(b, "Confidence over time", confidences(v))
	if last := lastSynthesis(v); last != nil {
		section(b, "Key insights", bullets(last.Insights))
	}
	section(b, "Open questions", openQuestions(v))
	section(b, "Questions explored", exploredQuestions(v))
	section(b, "Sources", sources(v))
	section(b, "The stream of thought", stream(v))
	section(b, "Cost", costs(s.Usage))
	section(b, "Notes", bullets(v.Notes))
	return b.String()
}

// section writes a section, if there is anything in it.
func section(b *strings.Builder, title, text string) {
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintf(b, "\n## %s\n\n%s\n", title, text)
	}
}

// status says in a line or two how the session went.
func status(v View) string {
	s, p := v.Session, v.Session.Progress
	parts := []string{fmt.Sprintf("**%s**", s.Status)}
	if s.StopReason != "" {
		parts[0] += ": " + inText(s.StopReason)
	}
	parts = append(parts, fmt.Sprintf("%s of thinking", span(p.Elapsed)),
		count(p.Thoughts, "thought"), count(p.Questions, "question"), strings.Replace(count(p.Syntheses, "synthesis"), "synthesiss", "syntheses", 1))
	if n := len(s.Confidence); n > 0 && s.Status == ponder.Completed {
		parts = append(parts, fmt.Sprintf("confidence %.2f", s.Confidence[n-1]))
	}
	if s.Model != "" {
		parts = append(parts, "model "+inText(s.Model))
	}
	text := strings.Join(parts, " · ")
	switch {
	case s.Metadata.WithoutModel && s.Usage.Calls == s.Usage.Failed:
		text += "\n\nThis was done without a model, from quotations."
	case s.Metadata.WithoutModel:
		text += "\n\nParts of this were done without a model; where, it says so."
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// span returns a time in minutes and seconds.
func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

func answerOf(v View) string {
	switch {
	case v.Session.Final != "":
		return markdown(v.Session.Final)
	case v.Session.Error != "":
		return "There is none: " + inText(v.Session.Error)
	}
	if last := lastSynthesis(v); last != nil {
		return "There is none yet. The understanding so far:\n\n" + markdown(last.Text)
	}
	return "There is none yet."
}

func lastSynthesis(v View) *Synthesis {
	if n := len(v.Syntheses); n > 0 {
		return &v.Syntheses[n-1]
	}
	return nil
}

func confidences(v View) string {
	var b strings.Builder
	for i, s := range v.Syntheses {
		if i == 0 {
			b.WriteString("| time | confidence | |\n|---:|---:|:---|\n")
		}
		fmt.Fprintf(&b, "| %s | %.2f | %s |\n", span(s.Offset), s.Confidence, strings.Repeat("█", int(unit(s.Confidence)*20+0.5)))
	}
	return b.String()
}

func bullets(list []string) string {
	var b strings.Builder
	for _, text := range list {
		b.WriteString("- " + inText(text) + "\n")
	}
	return b.String()
}

// openQuestions returns what the last synthesis says is open, and the questions
// that were not explored, the most urgent first.
func openQuestions(v View) string {
	var list []string
	if last := lastSynthesis(v); last != nil {
		list = slices.Clone(last.Remaining)
	}
	var open []Question
	for _, q := range v.Questions {
		if !q.Explored && !slices.Contains(list, q.Text) {
			open = append(open, q)
		}
	}
	slices.SortStableFunc(open, func(a, b Question) int { return b.Priority - a.Priority })
	for _, q := range open {
		list = append(list, fmt.Sprintf("%s (priority %d)", q.Text, q.Priority))
	}
	return bullets(list)
}

func exploredQuestions(v View) string {
	var b strings.Builder
	for _, q := range v.Questions {
		if q.Explored {
			fmt.Fprintf(&b, "- **%s**", inText(q.Text))
			if q.Insights != "" {
				b.WriteString(" " + inText(q.Insights))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// sources lists what is cited, with the quotations.
func sources(v View) string {
	var b strings.Builder
	for _, s := range v.Sources {
		if !s.Cited {
			continue
		}
		fmt.Fprintf(&b, "- **[%s]** ", s.ID)
		if s.Title != "" && s.Title != s.Source {
			b.WriteString(inText(s.Title) + ", ")
		}
		fmt.Fprintf(&b, "`%s`, bytes %d to %d\n  > %s\n", strings.ReplaceAll(s.Source, "`", "'"), s.Start, s.End, inText(oneLine(s.Quote)))
	}
	return b.String()
}

// stream lists the thoughts, under a line for each focus.
func stream(v View) string {
	var b strings.Builder
	focus := ""
	for i, t := range v.Thoughts {
		if t.Focus != focus || i == 0 {
			focus = t.Focus
			fmt.Fprintf(&b, "\n**%s**\n\n", inText(focus))
		}
		by := ""
		if t.Unaided {
			by = ", without a model"
		}
		fmt.Fprintf(&b, "- %s *%s* (%.2f%s) %s\n", span(t.Offset), t.Kind, t.Confidence, by, inText(oneLine(t.Text)))
	}
	return b.String()
}

// costs is a table of what each model used.
func costs(u Usage) string {
	if u.Calls == 0 {
		return "No model was asked."
	}
	var b strings.Builder
	b.WriteString("| model | calls | failed | tokens in | tokens out | USD |\n|:---|---:|---:|---:|---:|---:|\n")
	for _, m := range u.Models {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", inCell(m.Model), m.Calls, m.Failed, m.Input, m.Output, money(m.USD, m.Unpriced, m.Calls))
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d | %s |\n", u.Calls, u.Failed, u.Input, u.Output, money(u.USD, u.Unpriced, u.Calls))
	return b.String()
}

// money returns an amount. A price that is not known is not zero.
func money(usd float64, unpriced, calls int) string {
	switch {
	case unpriced > 0 && unpriced >= calls:
		return "unknown"
	case unpriced > 0:
		return fmt.Sprintf("%.4f + unknown", usd)
	}
	return fmt.Sprintf("%.4f", usd)
}

// inText returns foreign text for the middle of a line: no HTML.
func inText(text string) string { return withoutTags(oneLine(text)) }

// inCell returns it for a table.
func inCell(text string) string { return strings.ReplaceAll(inText(text), "|", "\\|") }

// markdown returns Markdown of a model with its headings below ours and without
// HTML outside of code.
func markdown(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		switch {
		case isFence(line):
			code = !code
		case !code:
			line = withoutTags(line)
			if strings.HasPrefix(line, "#") {
				line = "##" + line
			}
		}
		b.WriteString(line)
	}
	if code {
		b.WriteString("\n```")
	}
	return b.String()
}

// withoutTags makes the beginnings of HTML tags plain text, save in `code`.
func withoutTags(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(text, "`<")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + 1
		b.WriteString(text[:i])
		switch {
		case text[i] == '`' && (i == 0 || text[i-1] != '\\'):
			if n := strings.IndexByte(text[end:], '`'); n >= 0 {
				end += n + 1
			}
			b.WriteString(text[i:end])
		case text[i] == '<' && opensTag(text[end:]):
			b.WriteString("&lt;")
		default:
			b.WriteByte(text[i])
		}
		text = text[end:]
	}
}

// opensTag reports whether what follows a "<" makes it a tag.
func opensTag(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return r == '/' || r == '!' || r == '?' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
