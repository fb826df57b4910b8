package mindlog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// A Row is one tick, or one command of the user.
type Row struct {
	Kind      string                     `json:"kind"` // tick, resolved, forgotten, rolled_back; of an answer to an escalation: message, act, remember, dismiss
	Seq       ponder.Seq                 `json:"seq"`
	At        time.Time                  `json:"at"`
	Tick      int                        `json:"tick,omitempty"` // of a rollback, the undone tick
	Roles     []subconscious.RoleOutcome `json:"roles,omitempty"`
	Changes   []subconscious.Change      `json:"changes,omitempty"`
	Escalated []Escalation               `json:"escalations,omitempty"`
	Entry     string                     `json:"entry,omitempty"` // of the user's command
	Text      string                     `json:"text,omitempty"`
	Calls     int                        `json:"calls"`
	Broken    int                        `json:"failed_calls,omitempty"`
	Tokens    int                        `json:"tokens"`
	Money     int64                      `json:"micro_usd"`
}

type Escalation struct {
	ID         string               `json:"id"`
	Summary    string               `json:"summary"`
	Reason     string               `json:"reason"`
	Importance int                  `json:"importance,omitempty"`
	Entries    []string             `json:"entries,omitempty"`
	Sources    []string             `json:"sources,omitempty"`
	Untrusted  bool                 `json:"untrusted,omitempty"`
	Outcome    string               `json:"outcome,omitempty"` // empty before the decision
	Told       string               `json:"told,omitempty"`    // the message to the user, or the reason of the dismissal
	Model      string               `json:"model,omitempty"`
	Decided    time.Time            `json:"decided_at,omitzero"`
	Did        []Action             `json:"did,omitempty"`
	Tokens     int                  `json:"tokens,omitempty"` // of the decision
	Money      int64                `json:"micro_usd,omitempty"`
	Delivered  map[string]time.Time `json:"delivered,omitempty"` // by channel
}

// Rows returns the history, the oldest first.
func (m *Log) Rows() []Row {
	raised := m.escalationsByRun()
	var rows []Row
	for _, t := range m.Ticks {
		if t.Back != 0 {
			continue
		}
		r := Row{Kind: "tick", Seq: t.Seq, At: t.At, Tick: t.Number, Roles: t.Roles, Changes: t.Changes, Escalated: raised[t.Run],
			Calls: t.Spent.Calls, Broken: m.broken[t.Run], Tokens: t.Spent.Tokens, Money: int64(t.Spent.Money)}
		rows = append(rows, r)
	}
	for _, ev := range m.events {
		if b, ok := ev.Body.(ponder.Resolution); ok {
			rows = append(rows, userRow(ev, b))
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return int(a.Seq - b.Seq) })
	return rows
}

func (m *Log) escalationsByRun() map[ponder.RunID][]Escalation {
	decided := make(map[string]ponder.Event)
	for _, ev := range m.events {
		if b, ok := ev.Body.(ponder.Escalation); ok && b.Outcome != "" {
			decided[b.ID] = ev
		}
	}
	all := make(map[ponder.RunID][]Escalation)
	for _, ev := range m.events {
		b, ok := ev.Body.(ponder.Escalation)
		if !ok || b.Outcome != "" {
			continue
		}
		e := Escalation{ID: b.ID, Summary: b.Content, Reason: b.Reason, Importance: b.Importance, Entries: b.Entries, Sources: b.Sources,
			Untrusted: b.Untrusted, Delivered: m.deliveries[b.ID]}
		if end, ok := decided[b.ID]; ok {
			d := end.Body.(ponder.Escalation)
			cost := m.spent[end.Run]
			e.Outcome, e.Told, e.Model, e.Decided, e.Tokens, e.Money, e.Did = d.Outcome, d.Content, d.Model, end.Time, cost.Tokens, int64(cost.Money), m.actions[end.Run]
		}
		all[ev.Run] = append(all[ev.Run], e)
	}
	return all
}

func userRow(ev ponder.Event, b ponder.Resolution) Row {
	r := Row{Kind: b.As, Seq: ev.Seq, At: ev.Time, Entry: b.Ref, Text: b.Content}
	if r.Kind == "" {
		r.Kind = "resolved"
	}
	if r.Kind == asRolledBack {
		r.Tick, _ = strconv.Atoi(b.Ref) // of a rollback, the undone tick
		r.Entry = ""
	}
	return r
}

func (r Row) String() string {
	at := r.At.Local().Format("2006-01-02 15:04")
	if r.Kind != "tick" {
		return fmt.Sprintf("%s  you: %s\n", at, textkit.OneLine(r.Said()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  tick %d, %s\n", at, r.Tick, r.costText())
	for _, ran := range r.Roles {
		fmt.Fprintf(&b, "  %-10s %s\n", textkit.OneLine(ran.Role), textkit.OneLine(ranText(ran)))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "  %s\n", changeText(c))
	}
	for _, e := range r.Escalated {
		b.WriteString(e.text())
	}
	return b.String()
}

func (r Row) Said() string {
	switch r.Kind {
	case asForgotten:
		return "forget " + strings.TrimSpace(r.Entry+" "+r.Text)
	case asRolledBack:
		return "roll back: " + r.Text
	case subconscious.Messaged, subconscious.Acted, subconscious.Remembered, subconscious.Dismissed:
		return strings.TrimSpace(r.Kind + " " + r.Entry + " " + r.Text)
	}
	return "resolved " + strings.TrimSpace(r.Entry+" "+r.Text)
}

func (r Row) costText() string {
	if r.Calls == 0 {
		return "no model called"
	}
	calls := textkit.Count(r.Calls, "call", "calls")
	if r.Broken > 0 {
		calls += fmt.Sprintf(" (%d failed)", r.Broken)
	}
	return calls + ", " + SpentText(r.Tokens, ponder.Money(r.Money).USD())
}

func ranText(r subconscious.RoleOutcome) string {
	if r.Skipped != "" {
		return "not run: " + r.Skipped
	}
	what := textkit.Count(r.New, "observation", "observations")
	if r.Again > 0 {
		what = textkit.Count(r.Again, "earlier observation", "earlier observations") + " again"
	}
	text := fmt.Sprintf("looked at %s: %s", what, textkit.Count(r.Findings, "finding", "findings"))
	if r.Calls > 0 {
		text += ", " + SpentText(r.Tokens, ponder.Money(r.Money).USD())
	}
	switch {
	case r.WithoutModel && r.Failed != "":
		text += ", by rules because of " + r.Failed
	case r.WithoutModel:
		text += ", by rules"
	case r.Failed != "":
		text += "; left out: " + r.Failed
	}
	return text
}

// changeMarks has the signs of changes to entries.
var changeMarks = map[string]string{"added": "+", "reinforced": "↑", "decayed": "↓", "removed": "-", "pruned": "-", "moved": "→", "merged": "=", "resolved": "✓", "forgotten": "✕"}

func changeText(c subconscious.Change) string {
	mark := changeMarks[c.Effect]
	if mark == "" {
		mark = "·"
	}
	text := fmt.Sprintf("%s %s %s", mark, c.Entry, c.Effect)
	if c.Category != "" {
		text += " in " + strings.ReplaceAll(string(c.Category), "_", " ")
	}
	text += fmt.Sprintf(", strength %d", c.Strength)
	if c.Summary != "" {
		text += ": " + c.Summary
	}
	if c.By != "" || c.Why != "" {
		text += " (" + strings.Trim(c.By+": "+c.Why, ": ") + ")"
	}
	return textkit.OneLine(text)
}

func (e Escalation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  ! escalated: %s (%s)\n", escalationText(ponder.Escalation{Content: e.Summary}), textkit.OneLine(e.Reason))
	if e.Outcome == "" {
		return b.String() + "    not decided yet\n"
	}
	by := "by rules"
	if e.Model != "" {
		by = "by " + e.Model + ", " + SpentText(e.Tokens, ponder.Money(e.Money).USD())
	}
	fmt.Fprintf(&b, "    %s, %s, %s:\n%s", e.Decided.Local().Format(time.TimeOnly), textkit.OneLine(e.Outcome), textkit.OneLine(by), indentLines(e.Told))
	for _, d := range e.Did {
		b.WriteString(d.text())
	}
	for _, channel := range slices.Sorted(maps.Keys(e.Delivered)) {
		fmt.Fprintf(&b, "    %s, sent by %s\n", e.Delivered[channel].Local().Format(time.TimeOnly), textkit.OneLine(channel))
	}
	return b.String()
}

// EventText formats an event; "" if it does not concern people. The event must be the newest of
// the log.
func (m *Log) EventText(ev ponder.Event) string {
	at := ev.Time.Local().Format(time.TimeOnly)
	switch b := ev.Body.(type) {
	case ponder.Observation:
		return observationText(at, ev, b)
	case ponder.Subconscious:
		if n := len(m.Ticks); n > 0 && m.Ticks[n-1].Seq == ev.Seq {
			t := m.Ticks[n-1]
			return Row{Kind: "tick", At: t.At, Tick: t.Number, Roles: t.Roles, Changes: t.Changes,
				Calls: t.Spent.Calls, Broken: m.broken[t.Run], Tokens: t.Spent.Tokens, Money: int64(t.Spent.Money)}.String()
		}
	case ponder.Escalation:
		if b.Outcome == "" {
			return fmt.Sprintf("%s  ! escalated: %s (%s)\n", at, escalationText(b), textkit.OneLine(b.Reason))
		}
		return fmt.Sprintf("%s  ! %s:\n%s", at, textkit.OneLine(b.Outcome), indentLines(b.Content))
	case ponder.Resolution:
		return userRow(ev, b).String()
	}
	return ""
}

func escalationText(b ponder.Escalation) string {
	lines := strings.Split(strings.TrimSpace(b.Content), "\n")
	text := strings.TrimPrefix(textkit.OneLine(lines[0]), "- ")
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

func indentLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = textkit.OneLine(line); line != "" {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

func observationText(at string, ev ponder.Event, b ponder.Observation) string {
	if channel, sent := deliveredBy(b); sent {
		return fmt.Sprintf("%s  sent by %s\n", at, textkit.OneLine(channel))
	}
	if channel, failed := strings.CutSuffix(b.State, ":failed"); failed && b.Sensor == app.DeliverySensor {
		return fmt.Sprintf("%s  could not be sent by %s: %s\n", at, textkit.OneLine(channel), textkit.OneLine(b.Content))
	}
	if ev.Internal || b.Content == "" {
		return ""
	}
	return fmt.Sprintf("%s  %s: %s\n", at, textkit.OneLine(b.Sensor), textkit.OneLine(b.Content))
}

// ExtractiveText explains why a tick used no model.
func ExtractiveText(m config.Mind, r mindrunner.Report) string {
	if m.Tokens() == 0 {
		return "by rules alone: mind.tokens_per_day is 0, which turns models off"
	}
	tokens := max(0, m.Tokens()-r.Spent.Tokens)
	text := fmt.Sprintf("left today: %s", textkit.Count(tokens, "token", "tokens"))
	if m.Dollars() > 0 {
		text += ", " + report.Dollars(max(0, m.Dollars()-r.Spent.Money.USD()))
	}
	return "by rules alone: the next call might exceed the daily limits (" + text + ", minus calls in flight)"
}

// TickText describes the result of a tick beyond its events.
func TickText(r mindrunner.Report) string {
	var parts []string
	if !r.Ran {
		parts = append(parts, "no tick: "+r.Why)
	}
	if r.Decided > 0 && !r.Ran {
		parts = append(parts, textkit.Count(r.Decided, "escalation", "escalations")+" of earlier ticks decided")
	}
	if r.Unsent > 0 {
		parts = append(parts, textkit.Count(r.Unsent, "message", "messages")+" could not be sent, and will be tried again")
	}
	if r.Spent.Calls > 0 {
		parts = append(parts, "today "+textkit.Count(r.Spent.Calls, "call", "calls")+", "+SpentText(r.Spent.Tokens, r.Spent.Money.USD()))
	}
	return textkit.OneLine(strings.Join(parts, "; "))
}
