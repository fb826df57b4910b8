package main

import (
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
	"ponder/mode/subconscious"
)

// waitingFor is for how long it is tried to tell the user something.
const waitingFor = 24 * time.Hour

// waitingNote says that messages wait for the end of the quiet hours, and on which ways
// they will be told then. Without such a way nothing waits.
func (a *cli) waitingNote(m *mindLog, now time.Time) {
	cfg, err := a.Config()
	if err != nil || !cfg.Mind.QuietHours().Contain(now.Local()) {
		return
	}
	channels, err := a.MindChannels()
	if err != nil {
		return
	}
	var names []string
	for _, c := range channels {
		names = append(names, c.Name)
	}
	if text := m.quietText(names, cfg.Mind.QuietHours(), now); text != "" {
		a.note("%s", text)
	}
}

// quietText says what waits to be told on these channels until quiet hours end.
func (m *mindLog) quietText(channels []string, quiet config.Hours, now time.Time) string {
	waiting, by := 0, make(map[string]bool)
	for _, ev := range m.events {
		b, ok := ev.Body.(ponder.Escalation)
		if !ok || b.Outcome != subconscious.Messaged || mindrunner.IsUrgent(b) || now.Sub(ev.Time) > waitingFor {
			continue
		}
		waits := false
		for _, name := range channels {
			if m.told[b.ID][name].IsZero() {
				waits, by[name] = true, true
			}
		}
		if waits {
			waiting++
		}
	}
	if waiting == 0 {
		return ""
	}
	var names []string
	for _, name := range channels {
		if by[name] {
			names = append(names, name)
		}
	}
	_, to := quiet.Ends()
	return fmt.Sprintf("quiet hours (mind.quiet = %s): until %02d:%02d, %s to be told by %s; what has importance %d or more and is not of strangers is told at once",
		quiet, int(to.Hours())%24, int(to.Minutes())%60, textkit.Count(waiting, "message waits", "messages wait"), strings.Join(names, ", "), mindrunner.Urgent)
}
