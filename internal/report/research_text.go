package report

import (
	"fmt"
	"strings"

	"ponder/internal/textkit"
)

// Text returns the answer for a terminal: citations, sources, conflicts, unconfirmed points and
// changes.
func (r Research) Text() string {
	f := newResearchDocument(&r)
	w := &textWriter{f: f}
	if f.Since != nil {
		w.writeSince(f.Since)
	}
	w.b.WriteString(strings.TrimSpace(w.answerText()) + "\n")
	w.writeSources()
	w.writeConflicts()
	w.writeList("Not confirmed", f.Unconfirmed())
	return strings.TrimRight(w.b.String(), "\n")
}

type textWriter struct {
	f *researchDocument
	b strings.Builder
}

func (w *textWriter) answerText() string {
	return citation.ReplaceAllStringFunc(textkit.Clean(w.f.Numbered()), func(s string) string {
		var b strings.Builder
		for _, id := range sourceID.FindAllString(s, -1) {
			if n := w.f.numbers.numberByID[id]; n > 0 {
				fmt.Fprintf(&b, "[%d]", n)
			}
		}
		if b.Len() == 0 {
			return s
		}
		return b.String()
	})
}

const (
	maxTextQuote = 240
	maxListed    = 12 // of each kind; the report is complete
)

func (w *textWriter) writeSources() {
	if len(w.f.Cited) == 0 {
		return
	}
	w.b.WriteString("\nSources\n")
	for i, e := range w.f.Cited {
		line := textkit.TruncateWords(textkit.OneLine(e.Evidence.Title), 100)
		if line != "" && line != e.Path && line != e.Address {
			line += ", "
		} else {
			line = ""
		}
		line += e.Address + e.Path
		if !e.Published.IsZero() {
			line += ", " + formatDate(e.Published)
		}
		if e.Section != "" {
			line += ", " + textkit.TruncateWords(textkit.OneLine(e.Section), 80)
		}
		fmt.Fprintf(&w.b, "  [%d] %s\n      \"%s\"\n", i+1, line, textkit.TruncateWords(textkit.OneLine(e.Quote), maxTextQuote))
	}
	if n := w.f.Uncited; n > 0 {
		fmt.Fprintf(&w.b, "  %s found but not cited\n", textkit.Count(n, "more passage was", "more passages were"))
	}
}

func (w *textWriter) writeConflicts() {
	for i, c := range w.f.Conflicts[:min(len(w.f.Conflicts), maxListed)] {
		if i == 0 {
			w.b.WriteString("\nConflicts between sources\n")
		}
		fmt.Fprintf(&w.b, "  %s\n", conflictSubject(c))
		for _, s := range c.Sides {
			var refs strings.Builder
			for _, n := range w.f.Refs(s.Quotes) {
				fmt.Fprintf(&refs, "[%d]", n)
			}
			fmt.Fprintf(&w.b, "    - %s: %s %s\n", textkit.TruncateWords(textkit.OneLine(s.Value), 160), voicesText(s), refs.String())
		}
	}
}

func (w *textWriter) writeList(name string, items []string) {
	if len(items) == 0 {
		return
	}
	w.b.WriteString("\n" + name + "\n")
	for _, it := range items[:min(len(items), maxListed)] {
		fmt.Fprintf(&w.b, "  - %s\n", textkit.TruncateWords(textkit.OneLine(it), 300))
	}
	if n := len(items) - maxListed; n > 0 {
		fmt.Fprintf(&w.b, "  and %d more\n", n)
	}
}

func (w *textWriter) writeSince(d *Since) {
	w.b.WriteString(d.summaryLine() + "\n")
	for _, l := range d.listDifferences() {
		sign := l.Sign
		if l.Title != "New" && l.Title != "Removed" {
			w.b.WriteString("  " + l.Title + "\n")
		}
		for _, text := range l.Items[:min(len(l.Items), maxListed)] {
			fmt.Fprintf(&w.b, "  %s %s\n", sign, textkit.TruncateWords(textkit.OneLine(text), 240))
		}
	}
	for _, c := range d.Changed[:min(len(d.Changed), maxListed)] {
		c = c.displayForm()
		fmt.Fprintf(&w.b, "  ~ %s\n    was: %s\n", textkit.TruncateWords(c.Now, 240), textkit.TruncateWords(c.Was, 240))
	}
	w.b.WriteString("\n")
}
