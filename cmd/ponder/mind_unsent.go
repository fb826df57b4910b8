package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"ponder"
	"ponder/mode/subconscious"
)

// A mindFailure is why a channel could not tell the user something, last.
type mindFailure struct {
	at  time.Time
	why string
}

// failed takes in that an attempt to tell the user failed: see the stored formats of the
// minder.
func (m *mindLog) failed(ev ponder.Event, o ponder.Observation) {
	parts := strings.SplitN(ev.Cause, ":", 5)
	if len(parts) != 5 || parts[0] != "delivery" {
		return
	}
	switch parts[3] {
	case "failed":
		m.failures[parts[1]] = mindFailure{ev.Time, o.Content}
	case "sent":
		delete(m.failures, parts[1])
	}
}

// unsentText says which channels failed when they were last used, and why.
func (m *mindLog) unsentText(now time.Time) (lines []string) {
	for _, channel := range slices.Sorted(maps.Keys(m.failures)) {
		f := m.failures[channel]
		lines = append(lines, oneLine(fmt.Sprintf("%s could not tell you, %s: %s", channel, textkit.Ago(f.at, now), f.why)))
	}
	return lines
}

// unsentNote says so.
func (a *cli) unsentNote(m *mindLog, now time.Time) {
	for _, line := range m.unsentText(now) {
		a.note("%s", line)
	}
}

// cooldownNote says until when what was found waits to be escalated.
func (a *cli) cooldownNote(m *mindLog, now time.Time) {
	rules := subconscious.Rules{Cooldown: time.Duration(a.Settings.Mind.Cooldown)}
	at, any := rules.RaisesAt(m.State)
	if !any || !now.Before(at) {
		return
	}
	list := m.Aside.Pending
	text := fmt.Sprintf("%s waits to be escalated until %s", oneLine(list[0].Summary), at.Local().Format("15:04"))
	if len(list) > 1 {
		text = fmt.Sprintf("%d findings wait to be escalated until %s", len(list), at.Local().Format("15:04"))
	}
	a.note("%s (mind.cooldown; longer after many messages)", text)
}
