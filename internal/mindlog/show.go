package mindlog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder/internal/report"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

type Snapshot struct {
	State subconscious.State
	log   *Log
	at    time.Time
}

// Show returns the current state. With ErrNone it is empty.
func Show(ctx context.Context, a *app.App, now time.Time) (Snapshot, error) {
	roles, err := a.MindRoles()
	if err != nil {
		return Snapshot{}, err
	}
	m, err := Open(ctx, a)
	if err != nil {
		return Snapshot{State: subconscious.NewState().FillRoles(roles...)}, err
	}
	return Snapshot{m.State.DecayTo(now).FillRoles(roles...), m, now}, nil
}

// Text formats s; more adds the number of unread observations.
func (s Snapshot) Text(more bool) string {
	text := s.log.headText(s.at) + entriesText(s.State, s.at) + escalatedText(s.State, s.at) + rolesText(s.State)
	if more {
		text += s.log.waitingText()
	}
	return text
}

// Cooldown is [Log.Cooldown] at the time of the snapshot.
func (s Snapshot) Cooldown(cooldown config.Duration) string { return s.log.Cooldown(cooldown, s.at) }

func (m *Log) headText(now time.Time) string {
	switch {
	case m.Last.IsZero() && m.Open:
		return "no tick yet, the first is running\n\n"
	case m.Last.IsZero():
		return "no tick yet\n\n"
	}
	text := fmt.Sprintf("tick %d, %s", m.Internal.Tick, textkit.Ago(m.Last, now))
	if m.Open {
		text += ", another is running"
	}
	if calls := m.Spent.Calls; calls > 0 {
		text += fmt.Sprintf("; total %s, %s", textkit.Count(calls, "call", "calls"), SpentText(m.Spent.Tokens, m.Spent.Money.USD()))
	}
	if back := m.Internal.Rollback; !back.At.IsZero() {
		text += fmt.Sprintf("; rolled back to before tick %d, %s", back.Tick, textkit.Ago(back.At, now))
	}
	return text + "\n\n"
}

func SpentText(tokens int, amount float64) string {
	return textkit.Count(tokens, "token", "tokens") + ", " + report.USD(amount, tokens, 0, 0)
}

type entryList struct {
	title   string
	name    subconscious.Category
	entries []subconscious.Entry
}

func listsOf(s subconscious.State) []entryList {
	return []entryList{
		{"Watching", subconscious.ActiveThreads, s.ActiveThreads}, {"Patterns", subconscious.Patterns, s.Patterns},
		{"Hunches", subconscious.Hunches, s.Hunches}, {"Insights", subconscious.Insights, s.Insights},
	}
}

func entriesText(s subconscious.State, now time.Time) string {
	var b strings.Builder
	n := 0
	for _, l := range listsOf(s) {
		if len(l.entries) == 0 {
			continue
		}
		n += len(l.entries)
		b.WriteString(l.title + "\n")
		for _, e := range l.entries {
			fmt.Fprintf(&b, "  %-5s %2d %s %s%s\n", e.ID, e.Strength, strengthBar(e.Strength), textkit.OneLine(e.Summary), aboutText(s.Internal.Metadata[e.ID], e, now))
		}
	}
	if n == 0 {
		return "The subconscious has no entries.\n"
	}
	return b.String()
}

func strengthBar(n int) string {
	n = max(0, min(n, subconscious.MaxStrength))
	return strings.Repeat("█", n) + strings.Repeat("░", subconscious.MaxStrength-n)
}

func aboutText(about subconscious.EntryMetadata, e subconscious.Entry, now time.Time) string {
	var parts []string
	if !about.Due.IsZero() {
		parts = append(parts, "due "+about.Due.Local().Format("Mon 2 Jan 15:04"))
	}
	if len(about.By) > 0 {
		parts = append(parts, strings.Join(about.By, ", "))
	}
	parts = append(parts, "seen "+textkit.Ago(e.LastSeen, now))
	if about.Untrusted {
		parts = append(parts, "based on text by others")
	}
	return " (" + textkit.OneLine(strings.Join(parts, "; ")) + ")"
}

func escalatedText(s subconscious.State, now time.Time) string {
	var b strings.Builder
	for i, e := range slices.Backward(s.EscalationHistory) {
		if i == len(s.EscalationHistory)-1 {
			b.WriteString("Escalated\n")
		}
		outcome := e.Outcome
		if outcome == "" {
			outcome = "not decided yet"
		}
		fmt.Fprintf(&b, "  %s: %s, %s\n", textkit.OneLine(e.Summary), textkit.OneLine(outcome), textkit.Ago(e.Created, now))
	}
	return b.String()
}

func rolesText(s subconscious.State) string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(s.ThreadState)) {
		if i == 0 {
			b.WriteString("Roles\n")
		}
		r := s.ThreadState[name]
		fmt.Fprintf(&b, "  %-10s novelty pressure %d", textkit.OneLine(name), r.NoveltyPressure)
		if r.FocusHint != "" {
			fmt.Fprintf(&b, "; hint: %s", textkit.OneLine(r.FocusHint))
		}
		if n := len(r.LastFindings); n > 0 && r.LastFindings[n-1] != "nothing" {
			fmt.Fprintf(&b, "; found last: %s", textkit.OneLine(r.LastFindings[n-1]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (m *Log) waitingText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m.Waiting)) {
		if n := m.Waiting[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", textkit.OneLine(name), n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Pending observations: " + strings.Join(parts, ", ") + "\n"
}

// waitingFor is how long deliveries are retried.
const waitingFor = 24 * time.Hour

// Remarks explains delayed deliveries: quiet hours, the cooldown, or a failed channel.
func (m *Log) Remarks(a *app.App, now time.Time) (list []string) {
	cfg, err := a.Config()
	if err != nil {
		return nil
	}
	if quiet := cfg.Mind.QuietHours(); quiet.Contain(now.Local()) {
		if channels, err := a.MindChannels(); err == nil {
			var names []string
			for _, c := range channels {
				names = append(names, c.Name)
			}
			list = append(list, m.quietText(names, quiet, now))
		}
	}
	list = append(append(list, m.Cooldown(cfg.Mind.Cooldown, now)), m.Unsent(now)...)
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}

func (m *Log) quietText(channels []string, quiet config.Hours, now time.Time) string {
	waiting, by := 0, make(map[string]bool)
	for _, ev := range m.events {
		b, ok := ev.Body.(ponder.Escalation)
		if !ok || b.Outcome != subconscious.Messaged || mindrunner.IsUrgent(b) || now.Sub(ev.Time) > waitingFor {
			continue
		}
		waits := false
		for _, name := range channels {
			if m.deliveries[b.ID][name].IsZero() {
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
	return fmt.Sprintf("quiet hours (mind.quiet = %s) until %02d:%02d: %s for %s; messages of importance %d or more from trusted sources are sent at once",
		quiet, int(to.Hours())%24, int(to.Minutes())%60, textkit.Count(waiting, "message waits", "messages wait"), strings.Join(names, ", "), mindrunner.Urgent)
}
