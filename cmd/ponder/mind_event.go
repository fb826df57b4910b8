package main

import (
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/mode/subconscious"
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
				Calls: t.Spent.Calls, Tokens: t.Spent.Tokens, Money: int64(t.Spent.Money)}.text()
		}
	case ponder.Escalation:
		if b.Outcome == "" {
			return fmt.Sprintf("%s  ! escalated: %s (%s)\n", at, oneLine(b.Content), oneLine(b.Reason))
		}
		return fmt.Sprintf("%s  ! %s: %s%s\n", at, oneLine(b.Outcome), oneLine(b.Content), strangers(b))
	case ponder.Resolved:
		return saidRow(ev, b).text()
	}
	return ""
}

// strangers says what an escalation rests on that others wrote.
func strangers(b ponder.Escalation) string {
	if !b.Untrusted {
		return ""
	}
	text := " (rests on what others wrote"
	if len(b.Sources) > 0 {
		text += ": " + strings.Join(b.Sources, ", ")
	}
	return oneLine(text) + ")"
}

func observationText(at string, ev ponder.Event, b ponder.Observation) string {
	if b.Sensor == subconscious.Delivery {
		if channel, sent := deliveredBy(b); sent {
			return fmt.Sprintf("%s  told by %s\n", at, oneLine(channel))
		}
		if channel, failed := strings.CutSuffix(b.State, ":failed"); failed {
			return fmt.Sprintf("%s  could not be told by %s: %s\n", at, oneLine(channel), oneLine(b.Content))
		}
		return ""
	}
	if ev.Internal || b.Content == "" {
		return ""
	}
	return fmt.Sprintf("%s  %s: %s\n", at, oneLine(b.Sensor), oneLine(b.Content))
}
