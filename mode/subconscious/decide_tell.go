package subconscious

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/text"
)

// maxDeed is how much of what a tool did is told, in bytes.
const maxDeed = 300

// deedOf says what the use of a tool came to.
func deedOf(c llm.ToolCall, b ponder.ToolResult) deed {
	switch {
	case b.Error != "":
		return deed{Tool: c.Name, Text: clip(c.Name+" failed: "+b.Error, maxDeed), Failed: true}
	case c.Name == rememberTool:
		var in struct{ Text string }
		if json.Unmarshal(c.Input, &in) == nil && in.Text != "" {
			return deed{Tool: c.Name, Text: "remembered: " + clip(in.Text, maxDeed)}
		}
	}
	return deed{Tool: c.Name, Text: clip(c.Name+": "+b.Result, maxDeed)}
}

// done returns the outcome of a decision that ends without a word to the user: what
// tools have done, or otherwise.
func (d *decision) done(otherwise string) string {
	outcome := otherwise
	for _, x := range d.Deeds {
		switch {
		case x.Failed:
		case x.Tool != rememberTool:
			return Acted
		default:
			outcome = Remembered
		}
	}
	return outcome
}

// decided returns the decision as it is written.
func (d *decision) decided(e ponder.Escalation, v verdict) ponder.Escalation {
	e.Outcome, e.Model, e.Unaided = v.Outcome, v.Model, v.Unaided
	var parts []string
	if v.Unaided {
		parts = append(parts, d.plainly(e))
	} else {
		parts = append(parts, v.Text)
	}
	for _, x := range d.Deeds {
		parts = append(parts, "("+x.Text+")")
	}
	if v.Outcome == Dismissed {
		e.Outcome = d.done(Dismissed)
	}
	if e.Untrusted && e.Outcome == Messaged {
		parts = append(parts, d.quotes(e))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	e.Content = unseen(strings.Join(parts, "\n\n"))
	return e
}

// plainly says what was found and why it was brought up.
func (d *decision) plainly(e ponder.Escalation) string {
	var lines []string
	for line := range strings.Lines(text.Clean(e.Content)) {
		if !strings.HasPrefix(line, "  on its mind:") { // that is for those who decide
			lines = append(lines, line)
		}
	}
	said := text.Clip(strings.Join(lines, ""), maxMessage)
	if reason := clip(e.Reason, maxLine); reason != "" && !strings.Contains(said, reason) {
		said = strings.TrimSpace(said + "\n" + reason)
	}
	if said == "" {
		return "Something was noticed; what it was is not known any more."
	}
	return said
}

// quotes returns what strangers wrote of an escalation, so that nobody takes their word
// for ours.
func (d *decision) quotes(e ponder.Escalation) string {
	lines := []string{"Strangers wrote of this. What they wrote:"}
	for _, s := range d.Known.observations(e.Rests) {
		if s.Untrusted && len(lines) <= maxQuotes {
			from := clip(s.Source, maxLine)
			if from == "" {
				from = clip(s.Subject, maxLine)
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("> %s\n  (%s: %s", clip(s.Content, maxLine), clip(s.Sensor, maxName), from))+")")
		}
	}
	if len(lines) > 1 {
		return strings.Join(lines, "\n")
	}
	lines[0] = "Strangers wrote of what this may come from"
	if sources := last(e.Sources, maxQuotes); len(sources) > 0 {
		return lines[0] + ": " + clip(strings.Join(sources, ", "), maxLine) + "."
	}
	return lines[0] + "."
}
