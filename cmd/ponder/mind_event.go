package main

import (
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"

	"ponder"
)

// eventText says what happened, in a line or more, or nothing of what says nothing to
// people. The event must be the newest of the log.
func (m *mindLog) eventText(ev ponder.Event) string {
	at := ev.Time.Local().Format(time.TimeOnly)
	switch b := ev.Body.(type) {
	case ponder.Observation:
		return observationText(at, ev, b)
	case ponder.Subconscious:
		if n := len(m.Ticks); n > 0 && m.Ticks[n-1].Seq == ev.Seq {
			t := m.Ticks[n-1]
			return mindRow{Kind: "tick", At: t.At, Tick: t.Number, Roles: t.Roles, Changes: t.Changes,
				Calls: t.Spent.Calls, Broken: m.broken[t.Run], Tokens: t.Spent.Tokens, Money: int64(t.Spent.Money)}.text()
		}
	case ponder.Escalation:
		if b.Outcome == "" {
			return fmt.Sprintf("%s  ! escalated: %s (%s)\n", at, raisedText(b), oneLine(b.Reason))
		}
		return fmt.Sprintf("%s  ! %s:\n%s", at, oneLine(b.Outcome), mindLines(b.Content))
	case ponder.Resolved:
		return saidRow(ev, b).text()
	}
	return ""
}

// raisedText says what was raised, in a line: the first of its findings.
func raisedText(b ponder.Escalation) string {
	lines := strings.Split(strings.TrimSpace(b.Content), "\n")
	text := strings.TrimPrefix(oneLine(lines[0]), "- ")
	n := 0
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "- ") {
			break
		}
		n++
	}
	if n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// mindLines writes the lines of a text, each moved to the right.
func mindLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = oneLine(line); line != "" {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

func observationText(at string, ev ponder.Event, b ponder.Observation) string {
	if channel, sent := deliveredBy(b); sent {
		return fmt.Sprintf("%s  told by %s\n", at, oneLine(channel))
	}
	if channel, failed := strings.CutSuffix(b.State, ":failed"); failed && b.Sensor == app.TellingSensor {
		return fmt.Sprintf("%s  could not be told by %s: %s\n", at, oneLine(channel), oneLine(b.Content))
	}
	if ev.Internal || b.Content == "" {
		return ""
	}
	return fmt.Sprintf("%s  %s: %s\n", at, oneLine(b.Sensor), oneLine(b.Content))
}
