package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/mode/subconscious"
)

func (a *cli) mindExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ENTRY",
		Short: "Show the events that made an entry and kept it",
		Long: `Show the events that made an entry and kept it: what was seen, who found what in it, and
what the merge did and why. Entries that are gone can be explained too. An ENTRY may be
shortened as long as it stays unique.`,
		Example: "ponder mind explain e3\nponder mind explain e3 --json",
		Args:    take(1, 1, "the id of an entry: `ponder mind show` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mindExplain(cmd.Context(), args[0], time.Now())
		},
	}
}

// A reason is an event that has to do with an entry, as users are shown it.
type reason struct {
	Seq        ponder.Seq `json:"seq"`
	ID         string     `json:"event_id"`
	At         time.Time  `json:"at"`
	Type       string     `json:"type"` // observation, finding, change, escalation, decision, resolved, forgotten, rolled_back
	By         string     `json:"by,omitempty"`
	Text       string     `json:"text"`
	Did        string     `json:"did,omitempty"`
	Why        string     `json:"why,omitempty"`
	Strength   int        `json:"strength,omitempty"` // after a change
	Importance int        `json:"importance,omitempty"`
	Rests      []string   `json:"rests_on,omitempty"`
	Source     string     `json:"source,omitempty"`
	Untrusted  bool       `json:"untrusted,omitempty"`
	Tick       int        `json:"tick,omitempty"`
}

func (a *cli) mindExplain(ctx context.Context, name string, now time.Time) error {
	m, err := a.mindLog(ctx)
	if err != nil {
		return err
	}
	e, err := m.find(name, now)
	if err != nil {
		return err
	}
	reasons := m.reasons(e.ID)
	if a.flags.json {
		return a.object(struct {
			subconscious.Entry
			List   subconscious.Category `json:"category,omitempty"`
			Events []reason              `json:"events"`
		}{e.Entry, e.list, reasons})
	}
	where := "gone"
	if e.list != "" {
		where = fmt.Sprintf("in %s, strength %d", e.list, e.Strength)
	}
	a.printf("%s  %s\n%s, since %s\n\n", e.ID, oneLine(e.Summary), where, e.Created.Local().Format("2006-01-02 15:04"))
	for _, r := range reasons {
		a.printf("%s  %s\n", r.At.Local().Format("2006-01-02 15:04"), oneLine(r.line()))
	}
	return nil
}

// reasons returns all events that have to do with an entry, the oldest first.
func (m *mindLog) reasons(entry string) []reason {
	ticks := make(map[ponder.Seq]subconscious.Ticked)
	for _, t := range m.Ticks {
		ticks[t.Seq] = t
	}
	list := []reason{}
	raised := make(map[string]bool) // escalations that are about it
	seen := make(map[string]bool)
	for _, ev := range m.events {
		r := reason{Seq: ev.Seq, ID: ev.ID, At: ev.Time, Type: ev.Body.Type()}
		switch b := ev.Body.(type) {
		case ponder.Finding:
			if b.Entry == entry {
				list = append(m.seen(list, b.Rests, seen), r.finding(b))
			}
		case ponder.Subconscious:
			for _, c := range ticks[ev.Seq].Changes {
				if c.Entry == entry {
					list = append(m.seen(list, c.Rests, seen), r.change(c, ticks[ev.Seq].Number))
				}
			}
		case ponder.Escalation:
			if raised[b.ID] = raised[b.ID] || slices.Contains(b.Entries, entry); raised[b.ID] {
				list = append(list, r.escalation(b))
			}
		case ponder.Resolved:
			if b.Ref == entry {
				r.Type, r.Text = saidRow(ev, b).Kind, b.Content
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b reason) int { return int(a.Seq - b.Seq) })
	return list
}

// seen adds the observations of some ids, each once.
func (m *mindLog) seen(list []reason, ids []string, had map[string]bool) []reason {
	for _, id := range ids {
		ev, ok := m.seenAs[id]
		if !ok || had[id] {
			continue
		}
		o, _ := ev.Body.(ponder.Observation)
		had[id] = true
		list = append(list, reason{Seq: ev.Seq, ID: ev.ID, At: ev.Time, Type: "observation", By: o.Sensor, Text: o.Content, Source: o.Source, Untrusted: o.Untrusted})
	}
	return list
}

func (r reason) finding(b ponder.Finding) reason {
	r.By, r.Text, r.Importance, r.Rests, r.Untrusted, r.Did = b.By, b.Content, b.Importance, b.Rests, b.Untrusted, b.Became
	return r
}

func (r reason) change(c subconscious.Change, tick int) reason {
	r.Type, r.By, r.Text, r.Did, r.Why, r.Strength, r.Rests, r.Tick = "change", c.By, c.Summary, c.Did, c.Why, c.Strength, c.Rests, tick
	return r
}

func (r reason) escalation(b ponder.Escalation) reason {
	r.Text, r.Why, r.Importance, r.Untrusted = b.Content, b.Reason, b.Importance, b.Untrusted
	if b.Outcome != "" {
		r.Type, r.Did, r.By = "decision", b.Outcome, b.Model
	}
	return r
}

// line writes a reason for people.
func (r reason) line() string {
	switch r.Type {
	case "observation":
		text := r.By + " saw: " + r.Text
		if r.Source != "" {
			text += " [" + r.Source + "]"
		}
		if r.Untrusted {
			text += " (others wrote of it)"
		}
		return text
	case "finding":
		return fmt.Sprintf("%s found: %s (importance %d; %s)", r.By, r.Text, r.Importance, r.Did)
	case "change":
		return fmt.Sprintf("tick %d: %s", r.Tick, changeText(subconscious.Change{Entry: "", Did: r.Did, By: r.By, Why: r.Why, Strength: r.Strength}))
	case "escalation":
		return fmt.Sprintf("escalated: %s (%s)", raisedText(ponder.Escalation{Content: r.Text}), r.Why)
	case "decision":
		return fmt.Sprintf("decided, %s: %s", r.Did, r.Text)
	}
	return fmt.Sprintf("you: %s %s", r.Type, r.Text)
}
