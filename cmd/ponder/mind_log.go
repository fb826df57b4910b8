package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/mode/subconscious"
)

func (a *cli) mindLogCommand() *cobra.Command {
	var n int
	var since string
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show tick by tick what ran, what it cost, what changed and why",
		Long: `Show tick by tick what ran, what it cost, what changed and why; what was escalated,
decided and delivered; and what you resolved, forgot or rolled back. The newest is last.`,
		Example: "ponder mind log\nponder mind log --since 24h\nponder mind log -n 1 --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.mindLogShow(cmd.Context(), n, since, time.Now())
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 20, "the newest so many; with --since, all of that time unless given")
	cmd.Flags().StringVar(&since, "since", "", "only since a `time`: 24h, 7d or 2026-11-01")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if n < 1 {
			return usagef("-n: must be 1 or more")
		}
		if since != "" && !cmd.Flags().Changed("number") {
			n = 0
		}
		return nil
	}
	return cmd
}

// mindLogShow shows the newest n rows since a time; all of them if n is zero.
func (a *cli) mindLogShow(ctx context.Context, n int, since string, now time.Time) error {
	from, err := sinceOf(since, now)
	if err != nil {
		return err
	}
	m, err := a.mindLog(ctx)
	if errors.Is(err, errNoMind) {
		a.note("%v", errNoMind)
		return nil
	}
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(m.rows(), func(r mindRow) bool { return r.At.Before(from) })
	if n > 0 && len(rows) > n {
		rows = rows[len(rows)-n:]
	}
	if len(rows) == 0 {
		a.note("nothing has happened in that time")
	}
	for _, r := range rows {
		if err := a.mindRow(r); err != nil {
			return err
		}
	}
	a.waitingNote(m, now)
	a.cooldownNote(m, now)
	a.unsentNote(m, now)
	a.actionsNote(m, now)
	return nil
}

// A mindRow is a line of the history of a subconscious: a tick, or a word of the user.
type mindRow struct {
	Kind      string                `json:"kind"` // tick, resolved, forgotten, rolled_back
	Seq       ponder.Seq            `json:"seq"`
	At        time.Time             `json:"at"`
	Tick      int                   `json:"tick,omitempty"` // of a rollback, the one that was undone
	Roles     []subconscious.Ran    `json:"roles,omitempty"`
	Changes   []subconscious.Change `json:"changes,omitempty"`
	Escalated []mindEscalation      `json:"escalations,omitempty"`
	Entry     string                `json:"entry,omitempty"` // that the user spoke of
	Text      string                `json:"text,omitempty"`
	Calls     int                   `json:"calls"`
	Broken    int                   `json:"failed_calls,omitempty"` // of them
	Tokens    int                   `json:"tokens"`
	Money     int64                 `json:"micro_usd"`
}

// A mindEscalation is something that a tick escalated, and what came of it.
type mindEscalation struct {
	ID         string               `json:"id"`
	Summary    string               `json:"summary"`
	Reason     string               `json:"reason"`
	Importance int                  `json:"importance,omitempty"`
	Entries    []string             `json:"entries,omitempty"`
	Sources    []string             `json:"sources,omitempty"`
	Untrusted  bool                 `json:"untrusted,omitempty"`
	Outcome    string               `json:"outcome,omitempty"` // empty before it is decided
	Told       string               `json:"told,omitempty"`    // what the user was told, or why it was dismissed
	Model      string               `json:"model,omitempty"`
	Decided    time.Time            `json:"decided_at,omitzero"`
	Did        []mindDeed           `json:"did,omitempty"`
	Tokens     int                  `json:"tokens,omitempty"` // of the decision
	Money      int64                `json:"micro_usd,omitempty"`
	Delivered  map[string]time.Time `json:"delivered,omitempty"` // by channel
}

// rows returns the history, the oldest first.
func (m *mindLog) rows() []mindRow {
	raised := m.escalations()
	var rows []mindRow
	for _, t := range m.Ticks {
		if t.Back != 0 {
			continue // it is among the words of the user
		}
		r := mindRow{Kind: "tick", Seq: t.Seq, At: t.At, Tick: t.Number, Roles: t.Roles, Changes: t.Changes, Escalated: raised[t.Run],
			Calls: t.Spent.Calls, Broken: m.broken[t.Run], Tokens: t.Spent.Tokens, Money: int64(t.Spent.Money)}
		rows = append(rows, r)
	}
	for _, ev := range m.events {
		if b, ok := ev.Body.(ponder.Resolved); ok {
			rows = append(rows, saidRow(ev, b))
		}
	}
	slices.SortStableFunc(rows, func(a, b mindRow) int { return int(a.Seq - b.Seq) })
	return rows
}

// escalations returns what was escalated, by the run of the tick that did.
func (m *mindLog) escalations() map[ponder.RunID][]mindEscalation {
	decided := make(map[string]ponder.Event)
	for _, ev := range m.events {
		if b, ok := ev.Body.(ponder.Escalation); ok && b.Outcome != "" {
			decided[b.ID] = ev
		}
	}
	all := make(map[ponder.RunID][]mindEscalation)
	for _, ev := range m.events {
		b, ok := ev.Body.(ponder.Escalation)
		if !ok || b.Outcome != "" {
			continue
		}
		e := mindEscalation{ID: b.ID, Summary: b.Content, Reason: b.Reason, Importance: b.Importance, Entries: b.Entries, Sources: b.Sources,
			Untrusted: b.Untrusted, Delivered: m.told[b.ID]}
		if end, ok := decided[b.ID]; ok {
			d := end.Body.(ponder.Escalation)
			cost := m.spent[end.Run]
			e.Outcome, e.Told, e.Model, e.Decided, e.Tokens, e.Money, e.Did = d.Outcome, d.Content, d.Model, end.Time, cost.Tokens, int64(cost.Money), m.deeds[end.Run]
		}
		all[ev.Run] = append(all[ev.Run], e)
	}
	return all
}

// saidRow is the row of a word of the user.
func saidRow(ev ponder.Event, b ponder.Resolved) mindRow {
	r := mindRow{Kind: b.As, Seq: ev.Seq, At: ev.Time, Entry: b.Ref, Text: b.Content}
	if r.Kind == "" {
		r.Kind = "resolved"
	}
	if r.Kind == asRolledBack {
		r.Tick, _ = strconv.Atoi(b.Ref) // as the kind says, the one that was undone
		r.Entry = ""
	}
	return r
}
