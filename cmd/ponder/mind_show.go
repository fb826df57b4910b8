package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

func (a *cli) mindShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show what is on its mind",
		Long: `Show what is on its mind: what it watches, patterns, hunches, insights, what it has
escalated, and how its roles are doing. Strengths are those of this moment. --json prints
one object: active_threads, patterns, hunches, insights, escalation_history, thread_state.`,
		Example: "ponder mind show\nponder mind show --json",
		Args:    takeNone,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.mindShow(cmd.Context(), time.Now()) },
	}
}

func (a *cli) mindShow(ctx context.Context, now time.Time) error {
	roles, err := a.MindRoles()
	if err != nil {
		return err
	}
	m, err := a.mindLog(ctx)
	if errors.Is(err, errNoMind) {
		if a.flags.json {
			return a.mindObject(subconscious.NewState().Shown(roles...))
		}
		a.note("%v", errNoMind)
		return nil
	}
	if err != nil {
		return err
	}
	state := m.State.At(now).Shown(roles...)
	if a.flags.json {
		return a.mindObject(state)
	}
	a.printf("%s", mindHead(m, now))
	a.printf("%s%s%s", entriesText(state, now), escalatedText(state, now), rolesText(state))
	if !a.flags.quiet {
		a.printf("%s", m.waitingText())
	}
	a.cooldownNote(m, now)
	return nil
}

// mindObject prints a state as users are shown it.
func (a *cli) mindObject(s subconscious.State) error {
	text, err := s.MarshalMind()
	if err != nil {
		return fmt.Errorf("show the subconscious: %w", err)
	}
	_, err = a.out.Write(append(textkit.Escape(text), '\n'))
	return err
}

// mindHead says when it looked last, and what that has cost.
func mindHead(m *mindLog, now time.Time) string {
	switch {
	case m.Last.IsZero() && m.Open:
		return "no tick yet, the first is at work\n\n"
	case m.Last.IsZero():
		return "no tick yet\n\n"
	}
	text := fmt.Sprintf("tick %d, %s", m.Aside.Tick, textkit.Ago(m.Last, now))
	if m.Open {
		text += ", another at work"
	}
	if calls := m.Spent.Calls; calls > 0 {
		text += fmt.Sprintf("; in all %s, %s", textkit.Count(calls, "call", "calls"), spentText(m.Spent.Tokens, m.Spent.Money.USD()))
	}
	if back := m.Aside.Back; !back.At.IsZero() {
		text += fmt.Sprintf("; rolled back to before tick %d, %s", back.Tick, textkit.Ago(back.At, now))
	}
	return text + "\n\n"
}

// spentText writes what was spent.
func spentText(tokens int, amount float64) string {
	return textkit.Count(tokens, "token", "tokens") + ", " + app.USD(amount, tokens, 0, 0)
}

// A mindList is a list of entries with its name for people.
type mindList struct {
	title string
	name  subconscious.Category
	list  []subconscious.Entry
}

func listsOf(s subconscious.State) []mindList {
	return []mindList{
		{"Watching", subconscious.ActiveThreads, s.ActiveThreads}, {"Patterns", subconscious.Patterns, s.Patterns},
		{"Hunches", subconscious.Hunches, s.Hunches}, {"Insights", subconscious.Insights, s.Insights},
	}
}

// entriesText lists the entries of a state.
func entriesText(s subconscious.State, now time.Time) string {
	var b strings.Builder
	n := 0
	for _, l := range listsOf(s) {
		if len(l.list) == 0 {
			continue
		}
		n += len(l.list)
		b.WriteString(l.title + "\n")
		for _, e := range l.list {
			fmt.Fprintf(&b, "  %-5s %2d %s %s%s\n", e.ID, e.Strength, strengthBar(e.Strength), oneLine(e.Summary), aboutText(s.Aside.About[e.ID], e, now))
		}
	}
	if n == 0 {
		return "Nothing is on its mind.\n"
	}
	return b.String()
}

// strengthBar draws a strength.
func strengthBar(n int) string {
	n = max(0, min(n, subconscious.MaxStrength))
	return strings.Repeat("█", n) + strings.Repeat("░", subconscious.MaxStrength-n)
}

// aboutText says who saw an entry, when, and when it is due.
func aboutText(about subconscious.About, e subconscious.Entry, now time.Time) string {
	var parts []string
	if !about.Due.IsZero() {
		parts = append(parts, "due "+about.Due.Local().Format("Mon 2 Jan 15:04"))
	}
	if len(about.By) > 0 {
		parts = append(parts, strings.Join(about.By, ", "))
	}
	parts = append(parts, "seen "+textkit.Ago(e.LastSeen, now))
	if about.Untrusted {
		parts = append(parts, "rests on what others wrote")
	}
	return " (" + oneLine(strings.Join(parts, "; ")) + ")"
}

// escalatedText lists what was escalated, the newest first.
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
		fmt.Fprintf(&b, "  %s: %s, %s\n", oneLine(e.Summary), oneLine(outcome), textkit.Ago(e.Created, now))
	}
	return b.String()
}

// rolesText says how roles are doing.
func rolesText(s subconscious.State) string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(s.ThreadState)) {
		if i == 0 {
			b.WriteString("Roles\n")
		}
		r := s.ThreadState[name]
		fmt.Fprintf(&b, "  %-10s novelty pressure %d", oneLine(name), r.NoveltyPressure)
		if r.FocusHint != "" {
			fmt.Fprintf(&b, "; hint: %s", oneLine(r.FocusHint))
		}
		if n := len(r.LastFindings); n > 0 && r.LastFindings[n-1] != "nothing" {
			fmt.Fprintf(&b, "; found last: %s", oneLine(r.LastFindings[n-1]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// waitingText says what has not been looked at yet.
func (m *mindLog) waitingText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m.Waiting)) {
		if n := m.Waiting[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", oneLine(name), n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not looked at yet: " + strings.Join(parts, ", ") + "\n"
}
