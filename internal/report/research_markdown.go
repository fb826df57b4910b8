package report

import (
	"fmt"
	"ponder/internal/textkit"
	"strings"
)

// Markdown returns the report as Markdown. At its end is a comment with the report in
// its JSON form: see [ReadResearch].
func (r Research) Markdown() ([]byte, error) {
	r.fill()
	f := newFinding(&r)
	w := &researchWriter{markdownWriter{doc: &document{numbers: f.numbers, Question: "."}, read: newReader()}, f}
	w.speller = speller{f.numbers}
	w.write()
	return sealed(w.b.String()+"\n", commentOpens, &r, commentCloses, "\n")
}

// A researchWriter writes a report of research as Markdown.
type researchWriter struct {
	markdownWriter
	f *finding
}

func (w *researchWriter) write() {
	f := w.f
	fmt.Fprintf(&w.b, "# %s\n", inText(f.title))
	if f.asked != "" {
		fmt.Fprintf(&w.b, "\n%s\n", strings.Join(behind("> ", "> ", w.blocks(plainly(textkit.Clean(f.asked)), false)), "\n"))
	}
	fmt.Fprintf(&w.b, "\n%s\n", marked("*", inText(f.lead())))
	for _, text := range []string{f.remark(), f.noAnswer()} {
		if text != "" {
			fmt.Fprintf(&w.b, "\n%s\n", atLineStarts(inText(text)))
		}
	}
	w.section("Answer", w.prose(f.numbered(f.Answer), ""))
	w.section("What has changed", w.since())
	w.section("Where sources disagree", w.conflicts())
	w.section("What could not be confirmed", w.lines(f.unconfirmed()))
	w.section("Claims", w.claims())
	w.section("Sources", w.sources())
	w.section("What was searched", w.queries())
	w.section("Steering", w.steering())
	w.section("Cost", w.cost())
	w.section("Notes", w.lines(f.Notes))
	fmt.Fprintf(&w.b, "\n---\n\n%s\n", atLineStarts(inText(f.colophon())))
}

// lines returns a list of plain texts.
func (w *researchWriter) lines(list []string) string {
	var b strings.Builder
	for _, text := range list {
		fmt.Fprintf(&b, "- %s\n", atLineStarts(inText(text)))
	}
	return b.String()
}

func (w *researchWriter) since() string {
	d := w.f.Since
	if d == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", atLineStarts(inText(d.says())))
	for _, part := range []struct {
		name string
		list []string
	}{{"New", d.New}, {"Gone", d.Gone}} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n%s", part.name, w.lines(part.list))
		}
	}
	for i, c := range d.Changed {
		if i == 0 {
			b.WriteString("\n| was | is |\n|:---|:---|\n")
		}
		was, now := c.line()
		fmt.Fprintf(&b, "| %s | %s |\n", inCell(was), inCell(now))
	}
	return b.String()
}

func (w *researchWriter) conflicts() string {
	var b strings.Builder
	for i, c := range w.f.Conflicts {
		if i == 0 {
			b.WriteString("| about | what is said | by how many | sources |\n|:---|:---|:---|:---|\n")
		}
		for j, s := range c.Sides {
			what := ""
			if j == 0 {
				what = about(c)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", inCell(what), inCell(s.Value), inCell(voices(s)), w.refs(w.f.refs(s.Quotes)))
		}
	}
	return b.String()
}

// refs returns the numbers of passages.
func (f *finding) refs(list []Passage) []int { return f.cites(Claim{Quotes: list}) }

// refs writes numbers as citations.
func (w *researchWriter) refs(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = fmt.Sprintf("[%d]", n)
	}
	return strings.Join(parts, " ")
}

func (w *researchWriter) claims() string {
	var b strings.Builder
	for i, c := range w.f.Claims {
		if i == 0 {
			b.WriteString("| claim | status | sources | why |\n|:---|:---|:---|:---|\n")
		}
		known, sign := status(c.Status)
		why := textkit.OneLine(c.Reason)
		if c.Judge != "" {
			why = strings.TrimPrefix(why+"; asked: "+textkit.OneLine(c.Judge), "; ")
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s |\n", inCell(c.Text), sign, known, w.refs(w.f.cites(c)), inCell(why))
	}
	if b.Len() > 0 {
		var legend []string
		for _, s := range statuses {
			legend = append(legend, s.sign+" "+s.name+": "+s.means)
		}
		fmt.Fprintf(&b, "\n%s\n", strings.Join(legend, " · "))
	}
	return b.String()
}

// sources lists what is cited, with where it is from and how good it is.
func (w *researchWriter) sources() string {
	var b strings.Builder
	for i, e := range w.f.cited {
		mark := fmt.Sprintf("%d. ", i+1)
		var parts []string
		if title := textkit.OneLine(e.Title); title != "" && title != e.Source {
			parts = append(parts, "**"+inText(textkit.TruncateWords(title, 200))+"**")
		}
		if url, path := where(e); url != "" {
			parts = append(parts, "<"+url+">")
		} else {
			parts = append(parts, ticked(path))
		}
		for _, text := range facts(e) {
			parts = append(parts, inText(text))
		}
		lines := []string{atLineStarts(strings.Join(parts, ", "))}
		if quote := textkit.OneLine(e.Quote); quote != "" {
			lines = append(lines, "", "> "+atLineStarts(escaped(quote)))
		}
		for _, text := range []string{strings.Join(quality(e), "; "), foundBy(e), hashes(e)} {
			if text != "" {
				lines = append(lines, "", atLineStarts(inText(text)))
			}
		}
		b.WriteString(strings.Join(behind(mark, strings.Repeat(" ", len(mark)), lines), "\n") + "\n")
	}
	if n := w.f.uncited; n > 0 {
		fmt.Fprintf(&b, "\n%s found and not cited.\n", count(n, "more passage was", "more passages were"))
	}
	return b.String()
}

func (w *researchWriter) queries() string {
	var b strings.Builder
	for i, q := range w.f.Queries {
		if i == 0 {
			b.WriteString("| round | query | asked | found |\n|---:|:---|:---|---:|\n")
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %d |\n", q.Round, inCell(q.Text), inCell(q.asked()), q.Found)
	}
	return b.String()
}

func (w *researchWriter) steering() string {
	var b strings.Builder
	for i, s := range w.f.Steering {
		if i == 0 {
			b.WriteString("| time | wish | what came of it |\n|---:|:---|:---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", clock(s.At), inCell(s.Wish), inCell(s.outcome()))
	}
	return b.String()
}

// outcome says what came of a wish.
func (w Wished) outcome() string {
	switch {
	case w.Refused:
		return "refused: " + w.Effect
	case w.Effect == "":
		return "not acknowledged"
	}
	return w.Effect
}

func (w *researchWriter) cost() string {
	w.doc.Costs = w.f.costRows()
	return w.costs()
}
