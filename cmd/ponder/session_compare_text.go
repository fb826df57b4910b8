package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"ponder/internal/app"

	"charm.land/lipgloss/v2"

	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/mode/session"
)

// Widths of what is shown side by side, in cells.
const (
	leastBeside = 80 // narrower, one stands below the other
	usualWidth  = 100
	gap         = " │ "
)

// width returns how wide a result may be.
func (a *cli) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, readable)
	}
	if n := a.cells(); n > 0 {
		return min(n, readable)
	}
	return usualWidth
}

// maxDiffer is how many texts of a kind are shown of each side.
const maxDiffer = 8

// text returns a comparison for people.
func (c *comparison) text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", oneLine(c.A.Question))
	if c.A.Question != c.B.Question {
		fmt.Fprintf(&b, "B asks: %s\n\n", oneLine(c.B.Question))
	}
	fmt.Fprintf(&b, "%s\n", tui.Wrap(c.parting(), width))
	row := func(title, one, other string) {
		if one == "" && other == "" {
			return
		}
		if title != "" {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
		b.WriteString(beside(cmp.Or(one, "-"), cmp.Or(other, "-"), width))
	}
	b.WriteByte('\n')
	if width >= leastBeside {
		b.WriteString(beside("A", "B", width))
	}
	row("", c.A.facts(), c.B.facts())
	row("Answer", clean(answerOf(c.A.after)), clean(answerOf(c.B.after)))
	row("Insights only here", items(c.A.Only.Insights), items(c.B.Only.Insights))
	row("Thoughts only here, since they part", items(c.A.Only.Thoughts), items(c.B.Only.Thoughts))
	row("Questions explored only here", items(c.A.Only.Explored), items(c.B.Only.Explored))
	row("Told, since they part", steeringLines(c.A.Steering), steeringLines(c.B.Steering))
	whole := func(title string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, tui.Wrap(items(list), width))
		}
	}
	var pairs []string
	for _, p := range c.Opposed {
		pairs = append(pairs, fmt.Sprintf("A: %s / B: %s", p[0], p[1]))
	}
	whole("Insights that contradict each other", pairs)
	whole("Insights in both", c.Both.Insights)
	if n := len(c.Both.Thoughts); n > 0 {
		fmt.Fprintf(&b, "\nSince they part, %s of A %s in B too.\n", textkit.Count(n, "thought", "thoughts"), isOrAre(n))
	}
	return b.String()
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// parting says where two sessions part.
func (c *comparison) parting() string {
	if c.Common.Events == 0 {
		return "They have nothing in common but what they come to."
	}
	text := fmt.Sprintf("They part after event %d: %s, %s of thinking.", c.Common.Events,
		textkit.Count(c.Common.Thoughts, "thought", "thoughts"), tui.Clock(textkit.Seconds(c.Common.Seconds)))
	switch {
	case c.B.ForkedFrom == c.A.ID && c.B.ForkedAt == c.Common.Events:
		text += " B is a fork of A."
	case c.A.ForkedFrom == c.B.ID && c.A.ForkedAt == c.Common.Events:
		text += " A is a fork of B."
	}
	return text
}

// facts returns what is known of a session in a few lines.
func (s *side) facts() string {
	list := []string{string(s.ID), string(s.Status)}
	if s.StopReason != "" {
		list[1] += ": " + oneLine(s.StopReason)
	}
	if s.ForkedFrom != "" {
		list = append(list, fmt.Sprintf("forked from %s at event %d", s.ForkedFrom, s.ForkedAt))
	}
	sure := s.Certainty.String()
	if sure != "" && s.Trend != "" {
		sure += ", " + oneLine(s.Trend)
	}
	if sure != "" {
		list = append(list, "Confidence "+sure)
	}
	list = append(list, "Thought "+thought(s.Session), "Cost "+cost(s.Session))
	if s.before.Session.Run != "" {
		part := []string{tui.Clock(textkit.Seconds(s.Since.Seconds)), textkit.Count(s.Since.Thoughts, "thought", "thoughts"),
			textkit.Count(s.Since.Calls, "call", "calls"), textkit.Count(s.Since.Tokens, "token", "tokens")}
		if s.Since.USD > 0 {
			part = append(part, app.Dollars(s.Since.USD))
		}
		list = append(list, "Since they part "+strings.Join(part, ", "))
	}
	return strings.Join(list, "\n")
}

// items returns a list of texts, but not more than can be taken in.
func items(list []string) string {
	var b strings.Builder
	for _, text := range list[:min(maxDiffer, len(list))] {
		b.WriteString("- " + clip(oneLine(text), maxQuote) + "\n")
	}
	if n := len(list) - maxDiffer; n > 0 {
		fmt.Fprintf(&b, "and %d more\n", n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// steeringLines returns what a session was told.
func steeringLines(list []session.Steering) string {
	var told []string
	for _, w := range list {
		text := strings.ReplaceAll(string(w.Order), "_", " ")
		for _, more := range []string{w.Target, w.Content} {
			if more != "" {
				text += " " + more
			}
		}
		if w.Refused {
			text += " (refused)"
		}
		told = append(told, text)
	}
	return items(told)
}

// clean returns a text of several lines for a terminal.
func clean(text string) string { return strings.TrimSpace(textkit.Clean(text)) }

// beside sets two texts side by side, or one below the other where there is not
// the width for it.
func beside(a, b string, width int) string {
	if width < leastBeside {
		return "A\n" + indented(a, width) + "B\n" + indented(b, width)
	}
	half := (width - lipgloss.Width(gap)) / 2
	left, right := column(a, half), column(b, half)
	var out strings.Builder
	for i := range max(len(left), len(right)) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out.WriteString(strings.TrimRight(l+strings.Repeat(" ", max(0, half-lipgloss.Width(l)))+gap+r, " ") + "\n")
	}
	return out.String()
}

// indented returns a text below a heading.
func indented(text string, width int) string {
	return "  " + strings.Join(column(text, width-2), "\n  ") + "\n"
}

// column breaks a text into lines of at most so many cells.
func column(text string, width int) []string {
	text = strings.ReplaceAll(textkit.Clean(text), "\t", "    ")
	return slices.Collect(strings.SplitSeq(tui.Wrap(text, width), "\n"))
}
