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

// mindRow prints a row of the history.
func (a *cli) mindRow(r mindRow) error {
	if a.flags.json {
		return a.object(r)
	}
	a.printf("%s", r.text())
	return nil
}

// text writes a row for people.
func (r mindRow) text() string {
	at := r.At.Local().Format("2006-01-02 15:04")
	if r.Kind != "tick" {
		return fmt.Sprintf("%s  you: %s\n", at, oneLine(r.said()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  tick %d, %s\n", at, r.Tick, r.cost())
	for _, ran := range r.Roles {
		fmt.Fprintf(&b, "  %-10s %s\n", oneLine(ran.Role), oneLine(ranText(ran)))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "  %s\n", changeText(c))
	}
	for _, e := range r.Escalated {
		b.WriteString(e.text())
	}
	return b.String()
}

// said writes what the user said.
func (r mindRow) said() string {
	switch r.Kind {
	case asForgotten:
		return "forget " + strings.TrimSpace(r.Entry+" "+r.Text)
	case asRolledBack:
		return "roll back: " + r.Text
	}
	return "resolved " + strings.TrimSpace(r.Entry+" "+r.Text)
}

// cost writes what a tick cost.
func (r mindRow) cost() string {
	if r.Calls == 0 {
		return "no model asked"
	}
	calls := textkit.Count(r.Calls, "call", "calls")
	if r.Broken > 0 {
		calls += fmt.Sprintf(" (%d failed)", r.Broken)
	}
	return calls + ", " + spentText(r.Tokens, ponder.Money(r.Money).USD())
}

// ranText says what became of a role.
func ranText(r subconscious.Ran) string {
	if r.Skipped != "" {
		return "not run: " + r.Skipped
	}
	text := fmt.Sprintf("looked at %s: %s", textkit.Count(r.New, "observation", "observations"), textkit.Count(r.Findings, "finding", "findings"))
	if r.Calls > 0 {
		text += ", " + spentText(r.Tokens, ponder.Money(r.Money).USD())
	}
	switch {
	case r.Unaided && r.Failed != "":
		text += ", by rules, for " + r.Failed
	case r.Unaided:
		text += ", by rules"
	case r.Failed != "":
		text += "; left out: " + r.Failed
	}
	return text
}

// changeMarks are the signs of what ticks do to entries.
var changeMarks = map[string]string{"added": "+", "reinforced": "↑", "decayed": "↓", "removed": "-", "pruned": "-", "moved": "→", "merged": "=", "resolved": "✓", "forgotten": "✕"}

// changeText says what a tick did to an entry.
func changeText(c subconscious.Change) string {
	mark := changeMarks[c.Did]
	if mark == "" {
		mark = "·"
	}
	text := fmt.Sprintf("%s %s %s", mark, c.Entry, c.Did)
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
	return oneLine(text)
}

// text writes an escalation for people.
func (e mindEscalation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  ! escalated: %s (%s)\n", raisedText(ponder.Escalation{Content: e.Summary}), oneLine(e.Reason))
	if e.Outcome == "" {
		return b.String() + "    not decided yet\n"
	}
	by := "by rules"
	if e.Model != "" {
		by = "by " + e.Model + ", " + spentText(e.Tokens, ponder.Money(e.Money).USD())
	}
	fmt.Fprintf(&b, "    %s, %s, %s:\n%s", e.Decided.Local().Format(time.TimeOnly), oneLine(e.Outcome), oneLine(by), mindLines(e.Told))
	for _, d := range e.Did {
		b.WriteString(d.text())
	}
	for _, channel := range slices.Sorted(maps.Keys(e.Delivered)) {
		fmt.Fprintf(&b, "    %s, told by %s\n", e.Delivered[channel].Local().Format(time.TimeOnly), oneLine(channel))
	}
	return b.String()
}
