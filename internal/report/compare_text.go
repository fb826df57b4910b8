package report

import (
	"cmp"
	"fmt"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/layout"
	"ponder/mode/session"
)

// maxDiffer bounds the texts shown of each side.
const maxDiffer = 8

func (c *Comparison) Text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", textkit.OneLine(c.A.Question))
	if c.A.Question != c.B.Question {
		fmt.Fprintf(&b, "B asks: %s\n\n", textkit.OneLine(c.B.Question))
	}
	fmt.Fprintf(&b, "%s\n", layout.Wrap(c.partingText(), width))
	row := func(title, one, other string) {
		if one == "" && other == "" {
			return
		}
		if title != "" {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
		b.WriteString(layout.SideBySide(cmp.Or(one, "-"), cmp.Or(other, "-"), width))
	}
	b.WriteByte('\n')
	if width >= layout.MinSideBySide {
		b.WriteString(layout.SideBySide("A", "B", width))
	}
	row("", c.A.factLines(), c.B.factLines())
	row("Answer", textkit.CleanTrim(Answer(c.A.atEnd)), textkit.CleanTrim(Answer(c.B.atEnd)))
	row("Insights only here", bulletList(c.A.Only.Insights), bulletList(c.B.Only.Insights))
	row("Thoughts only here, after divergence", bulletList(c.A.Only.Thoughts), bulletList(c.B.Only.Thoughts))
	row("Questions explored only here", bulletList(c.A.Only.Explored), bulletList(c.B.Only.Explored))
	row("Steering after divergence", steeringLines(c.A.Steering), steeringLines(c.B.Steering))
	whole := func(title string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, layout.Wrap(bulletList(list), width))
		}
	}
	var pairs []string
	for _, p := range c.Opposed {
		pairs = append(pairs, fmt.Sprintf("A: %s / B: %s", p[0], p[1]))
	}
	whole("Insights that contradict each other", pairs)
	whole("Insights in both", c.Both.Insights)
	if n := len(c.Both.Thoughts); n > 0 {
		fmt.Fprintf(&b, "\nAfter divergence, %s of A %s also in B.\n", textkit.Count(n, "thought", "thoughts"), isOrAre(n))
	}
	return b.String()
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (c *Comparison) partingText() string {
	if c.Common.Events == 0 {
		return "They have no events in common."
	}
	text := fmt.Sprintf("They diverge after event %d: %s, %s of thinking.", c.Common.Events,
		textkit.Count(c.Common.Thoughts, "thought", "thoughts"), textkit.Clock(textkit.Seconds(c.Common.Seconds)))
	switch {
	case c.B.ForkedFrom == c.A.ID && c.B.ForkedAt == c.Common.Events:
		text += " B is a fork of A."
	case c.A.ForkedFrom == c.B.ID && c.A.ForkedAt == c.Common.Events:
		text += " A is a fork of B."
	}
	return text
}

func (s *comparedSide) factLines() string {
	list := []string{string(s.ID), string(s.Status)}
	if s.StopReason != "" {
		list[1] += ": " + textkit.OneLine(s.StopReason)
	}
	if s.ForkedFrom != "" {
		list = append(list, fmt.Sprintf("forked from %s at event %d", s.ForkedFrom, s.ForkedAt))
	}
	sure := s.Certainty.String()
	if sure != "" && s.Trend != "" {
		sure += ", " + textkit.OneLine(s.Trend)
	}
	if sure != "" {
		list = append(list, "Confidence "+sure)
	}
	list = append(list, "Thought "+Thought(s.Session), "Cost "+CostText(s.Session))
	if s.atFork.Session.Run != "" {
		part := []string{textkit.Clock(textkit.Seconds(s.Since.Seconds)), textkit.Count(s.Since.Thoughts, "thought", "thoughts"),
			textkit.Count(s.Since.Calls, "call", "calls"), textkit.Count(s.Since.Tokens, "token", "tokens")}
		if s.Since.USD > 0 {
			part = append(part, Dollars(s.Since.USD))
		}
		list = append(list, "After divergence "+strings.Join(part, ", "))
	}
	return strings.Join(list, "\n")
}

func bulletList(list []string) string {
	var b strings.Builder
	for _, text := range list[:min(maxDiffer, len(list))] {
		b.WriteString("- " + textkit.Truncate(textkit.OneLine(text), maxQuote) + "\n")
	}
	if n := len(list) - maxDiffer; n > 0 {
		fmt.Fprintf(&b, "and %d more\n", n)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func steeringLines(list []session.SteerCommand) string {
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
	return bulletList(told)
}
