package report

import (
	"fmt"
	"math"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

func Answer(v session.View) string {
	if v.Session.Final != "" {
		return v.Session.Final
	}
	if last := LastSynthesis(v); last != nil {
		return last.Text
	}
	return "No answer yet."
}

// Limits of the lists in an account; the export is complete.
const (
	maxOpen    = 5
	maxSources = 12
	maxRead    = 5
	maxQuote   = 300 // runes
)

// Account describes an answer's confidence, sources and cost. near formats the place of a
// source; export is the command for the full session.
func Account(v session.View, near func(string) string, export string) string {
	var b strings.Builder
	s := v.Session
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-14s %s\n", name, text)
		}
	}
	list := func(name string, items []string, limit int) {
		if len(items) == 0 {
			return
		}
		b.WriteString(name + "\n")
		for _, it := range items[:min(limit, len(items))] {
			b.WriteString("  - " + it + "\n")
		}
		if n := len(items) - limit; n > 0 {
			fmt.Fprintf(&b, "  and %d more\n", n)
		}
	}
	row("Confidence", confidenceText(s))
	if last := LastSynthesis(v); last != nil {
		list("Key insights", oneLines(last.Insights), len(last.Insights))
	}
	list("Open questions", openTexts(v), maxOpen)
	list("Sources", sourceTexts(v, true, near), maxSources)
	list("Also read", sourceTexts(v, false, near), maxRead)
	row("Thought", Thought(s))
	row("Cost", CostText(s))
	row("Stopped", s.StopReason)
	if s.Resolution != nil {
		row("Outcome", OutcomeText(s.Resolution.Outcome))
	}
	b.WriteString("Everything\n  " + export + " -o report.html\n")
	return b.String()
}

// confidenceText describes the confidence and its trend.
func confidenceText(s session.Session) string {
	if s.Claimed == nil {
		return ""
	}
	text := s.Certainty.String()
	if s.Trend != "" {
		text += ", " + textkit.OneLine(s.Trend)
	}
	if _, before, ok := strings.Cut(confidenceHistory(s.Confidence), " ("); ok {
		text += "; " + strings.TrimSuffix(before, ")")
	}
	return text
}

func confidenceHistory(values []float64) string {
	n := len(values)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2f", values[n-1])
	var before []string
	for _, c := range values[max(0, n-6) : n-1] {
		before = append(before, fmt.Sprintf("%.2f", c))
	}
	if len(before) > 0 {
		text += " (before: " + strings.Join(before, ", ") + ")"
	}
	return text
}

func oneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = textkit.OneLine(t)
	}
	return out
}

// openTexts returns the open questions, the most urgent first.
func openTexts(v session.View) (list []string) {
	for _, q := range openQuestions(v) {
		list = append(list, textkit.OneLine(q.TextMD))
	}
	return list
}

// sourceTexts returns the sources of the answer with place and quotation, or those cited only
// before it with their places.
func sourceTexts(v session.View, answer bool, near func(string) string) (list []string) {
	for i := range v.Sources {
		s := &v.Sources[i]
		if v.Cites(s.ID) != answer || !answer && !s.Cited {
			continue
		}
		text := fmt.Sprintf("[%s] %s, bytes %d to %d of its text", s.ID, near(s.Source), s.Start, s.End)
		if id, ok := s.Earlier(); ok {
			text = fmt.Sprintf("[%s] earlier session %s: %s", s.ID, id, textkit.OneLine(s.Title))
		}
		if answer {
			text += fmt.Sprintf("\n      %q", textkit.Truncate(textkit.OneLine(s.Quote), maxQuote))
		}
		list = append(list, text)
	}
	return list
}

// Thought summarises time and results of a session.
func Thought(s session.Session) string {
	p := s.Progress
	return strings.Join([]string{
		textkit.Clock(textkit.Seconds(p.Elapsed)), textkit.Count(p.Thoughts, "thought", "thoughts"), textkit.Count(p.Questions, "question", "questions"),
		textkit.Count(p.Syntheses, "synthesis", "syntheses"),
	}, ", ")
}

func CostText(s session.Session) string {
	if s.Usage.Calls == 0 {
		return "no model calls"
	}
	text := strings.Join(spentTexts(s.Usage), ", ")
	if s.Model != "" {
		text += " (" + textkit.OneLine(s.Model) + ")"
	}
	return text
}

func spentTexts(u session.Usage) []string {
	calls := textkit.Count(u.Calls, "call", "calls")
	if u.Failed > 0 {
		calls += fmt.Sprintf(" (%d failed)", u.Failed)
	}
	return []string{calls, textkit.Count(u.Total, "token", "tokens"), USD(u.USD, u.Total, u.Calls, u.Unpriced)}
}

// USD formats the cost of tokens. An unknown cost is not zero, and without an answered call
// nothing is free.
func USD(amount float64, tokens, calls, unpriced int) string {
	switch {
	case calls > 0 && unpriced >= calls:
		return "cost unknown"
	case unpriced > 0:
		return Dollars(amount) + " and " + textkit.Count(unpriced, "call", "calls") + " of unknown price"
	case amount == 0 && tokens == 0:
		return "nothing"
	case amount == 0:
		return "free"
	}
	return Dollars(amount)
}

func Dollars(amount float64) string { return ponder.Money(math.Round(amount * 1e6)).String() }

// maxTree bounds the listed questions; the export is complete.
const maxTree = 20

// Questions lists the tree of questions.
func Questions(v session.View) string {
	var b strings.Builder
	n := 0
	for q := range v.Tree() {
		if n++; n > maxTree {
			continue
		}
		if n == 1 {
			b.WriteString("Questions\n")
		}
		text := string(q.State)
		if q.By != "" {
			text += ", of the " + textkit.OneLine(q.By)
		}
		fmt.Fprintf(&b, "%s- %s %s (%s)\n", strings.Repeat("  ", q.Depth+1), stateMarks[q.State], textkit.OneLine(q.Text), text)
	}
	if n > maxTree {
		fmt.Fprintf(&b, "  and %d more\n", n-maxTree)
	}
	return b.String()
}

func OutcomeText(outcome *float64) string {
	switch {
	case outcome == nil:
		return "unknown"
	case *outcome == 1:
		return "right"
	case *outcome == 0:
		return "wrong"
	}
	return fmt.Sprintf("partly right (%.2g)", *outcome)
}
