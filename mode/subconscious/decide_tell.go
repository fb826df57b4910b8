package subconscious

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// maxDeed is the maximum length of a tool result in a message, in bytes.
const maxDeed = 300

func deedOf(c llm.ToolCall, b ponder.ToolResult) deed {
	switch {
	case b.Error != "":
		return deed{Tool: c.Name, Text: textkit.Line(c.Name+" failed: "+b.Error, maxDeed), Failed: true}
	case c.Name == rememberTool:
		var in struct{ Text string }
		if json.Unmarshal(c.Input, &in) == nil && in.Text != "" {
			return deed{Tool: c.Name, Text: "remembered: " + textkit.Line(in.Text, maxDeed)}
		}
	}
	return deed{Tool: c.Name, Text: textkit.Line(c.Name+": "+b.Result, maxDeed)}
}

// done returns the outcome of a decision that ends without a message: the tools' effect, else
// otherwise.
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

// undecided is appended to messages that no model decided on.
const undecided = "(No model decided about this: it is told as it was found.)"

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
	if v.Unaided {
		parts = append(parts, undecided)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	e.Content = textkit.Visible(strings.Join(parts, "\n\n"))
	return e
}

// compiled matches the suffix that [merge.compile] adds to a finding.
var compiled = regexp.MustCompile(` \([^()]*, importance \d+, [^()]*\)$`)

// plainly describes the finding, its support and the reason, without untrusted text.
func (d *decision) plainly(e ponder.Escalation) string {
	var found, seen []string
	for line := range strings.Lines(textkit.CleanTrim(e.Content)) {
		line = strings.TrimRight(line, "\n")
		if one, ok := strings.CutPrefix(line, "- "); ok {
			found = append(found, compiled.ReplaceAllString(one, ""))
		} else if one, ok := strings.CutPrefix(line, "  observed: "); ok {
			seen = append(seen, "Seen: "+one)
		}
	}
	if len(found) == 0 { // e was not made by compile
		found = []string{textkit.CleanTrim(e.Content)}
	}
	if len(found) > 1 {
		for i := range found {
			found[i] = "- " + found[i]
		}
	}
	if reason := textkit.Line(e.Reason, maxLine); reason != "" {
		found = append(found, "Why: "+reason)
	}
	if !e.Untrusted {
		found = append(found, seen[:min(len(seen), maxQuotes)]...)
	}
	said := strings.TrimSpace(textkit.TruncateBytes(strings.Join(found, "\n"), maxMessage))
	if said == "" {
		return "Something was noticed; what it was is not known any more."
	}
	return said
}

// quotes returns the untrusted texts behind an escalation, marked as such. It only mentions texts
// that the escalation does not rest on.
func (d *decision) quotes(e ponder.Escalation) string {
	lines := []string{"Strangers wrote of this. What they wrote:"}
	known := d.Known.observations(e.Rests)
	for _, s := range known {
		if s.Untrusted && len(lines) <= maxQuotes {
			from := textkit.Line(s.Source, maxLine)
			if from == "" {
				from = textkit.Line(s.Subject, maxLine)
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("> %s\n  (%s: %s", textkit.Line(s.Content, maxLine), textkit.Line(s.Sensor, maxName), from))+")")
		}
	}
	sources := last(e.Sources, maxQuotes)
	switch {
	case len(lines) > 1:
		return strings.Join(lines, "\n")
	case len(known) < len(e.Rests) && len(sources) > 0: // the supporting observations are gone
		return "Strangers wrote of what this may come from: " + textkit.Line(strings.Join(sources, ", "), maxLine) + "."
	}
	return "Something that strangers wrote was read meanwhile, and may have had a part in this."
}
