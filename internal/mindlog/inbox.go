package mindlog

import (
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

// An InboxItem is an escalation with its decision and the user's answer.
type InboxItem struct {
	Escalation
	RaisedAt time.Time    `json:"at"`
	Answer   *InboxAnswer `json:"answer,omitempty" doc:"the user's newest answer"`
}

type InboxAnswer struct {
	Do   string    `json:"do" enum:"message,act,remember,dismiss"`
	At   time.Time `json:"at"`
	Made string    `json:"made,omitempty" doc:"ID of the conversation (message), the session (act) or the memory (remember)"`
}

// Inbox returns all escalations, newest first.
func (m *Log) Inbox() []InboxItem {
	items := []InboxItem{}
	at := make(map[string]int) // by ID of the escalation
	raised := m.escalationsByRun()
	for _, ev := range m.events {
		switch b := ev.Body.(type) {
		case ponder.Escalation:
			if _, known := at[b.ID]; known || b.Outcome != "" {
				continue
			}
			for _, e := range raised[ev.Run] {
				if e.ID == b.ID {
					e.Summary = raisedSummary(b)
					at[b.ID] = len(items)
					items = append(items, InboxItem{Escalation: e, RaisedAt: ev.Time})
					break
				}
			}
		case ponder.Resolution:
			if i, known := at[b.Ref]; known && IsAnswer(b) {
				items[i].Answer = &InboxAnswer{Do: b.As, At: ev.Time, Made: b.Content}
			}
		}
	}
	slices.Reverse(items)
	return items
}

// IsAnswer reports whether b is the user's answer to an escalation.
func IsAnswer(b ponder.Resolution) bool {
	return slices.Contains([]string{subconscious.Messaged, subconscious.Acted, subconscious.Remembered, subconscious.Dismissed}, b.As)
}

// raisedSummary returns the findings of a raised escalation without their roles and sources.
func raisedSummary(b ponder.Escalation) string {
	var list []string
	for line := range strings.Lines(b.Content) {
		if text, found := strings.CutPrefix(line, "- "); found {
			if end := strings.LastIndex(text, " ("); end > 0 && strings.Contains(text[end:], ", importance ") {
				text = text[:end]
			}
			list = append(list, textkit.OneLine(text))
		}
	}
	if len(list) == 0 {
		return textkit.OneLine(b.Content)
	}
	return strings.Join(list, "; ")
}

// NewestObservations returns the time of the newest observation of each sensor.
func (m *Log) NewestObservations() map[string]time.Time {
	newest := make(map[string]time.Time)
	for _, ev := range m.observations {
		if o, ok := ev.Body.(ponder.Observation); ok && newest[o.Sensor].Before(ev.Time) {
			newest[o.Sensor] = ev.Time
		}
	}
	return newest
}
