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

// maxOutcomeBytes is the maximum length of a tool result in a message, in bytes.
const maxOutcomeBytes = 300

func newToolOutcome(c llm.ToolCall, b ponder.ToolResult) toolOutcome {
	switch {
	case b.Error != "":
		return toolOutcome{Tool: c.Name, Text: textkit.Line(c.Name+" failed: "+b.Error, maxOutcomeBytes), Failed: true}
	case c.Name == rememberTool:
		var in struct{ Text string }
		if json.Unmarshal(c.Input, &in) == nil && in.Text != "" {
			return toolOutcome{Tool: c.Name, Text: "remembered: " + textkit.Line(in.Text, maxOutcomeBytes)}
		}
	}
	return toolOutcome{Tool: c.Name, Text: textkit.Line(c.Name+": "+b.Result, maxOutcomeBytes)}
}

// resultingOutcome returns the outcome of a decision that ends without a message: the tools' effect, else
// otherwise.
func (d *decision) resultingOutcome(otherwise string) string {
	outcome := otherwise
	for _, x := range d.ToolOutcomes {
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

// undecidedNote is appended to messages that no model decided on.
const undecidedNote = "(No model decided about this; you see the finding itself.)"

func (d *decision) buildEscalation(e ponder.Escalation, v verdict) ponder.Escalation {
	e.Outcome, e.Model, e.WithoutModel = v.Outcome, v.Model, v.Unaided
	var parts []string
	if v.Unaided {
		parts = append(parts, d.describeFindings(e))
	} else {
		parts = append(parts, v.Text)
	}
	for _, x := range d.ToolOutcomes {
		parts = append(parts, "("+x.Text+")")
	}
	e.Untrusted = e.Untrusted || !v.Unaided && d.showsUntrusted(e)
	if v.Outcome == Dismissed {
		e.Outcome = d.resultingOutcome(Dismissed)
	}
	if e.Untrusted && e.Outcome == Messaged {
		parts = append(parts, d.quoteUntrusted(e))
	}
	if v.Unaided {
		parts = append(parts, undecidedNote)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	e.Content = textkit.Visible(strings.Join(parts, "\n\n"))
	return e
}

// compiledSuffix matches the suffix that [merge.compileContent] adds to a finding.
var compiledSuffix = regexp.MustCompile(` \([^()]*, importance \d+, [^()]*\)$`)

// splitCompiled returns the findings and the quoted observations of a compiled content.
func splitCompiled(content string) (found, seen []string) {
	for line := range strings.Lines(textkit.CleanTrim(content)) {
		line = strings.TrimRight(line, "\n")
		if one, ok := strings.CutPrefix(line, "- "); ok {
			found = append(found, compiledSuffix.ReplaceAllString(one, ""))
		} else if one, ok := strings.CutPrefix(line, "  observed: "); ok {
			seen = append(seen, one)
		}
	}
	if len(found) == 0 { // by earlier versions
		found = []string{textkit.CleanTrim(content)}
	}
	return found, seen
}

// describeFindings describes the finding, its support and the reason, without untrusted text.
func (d *decision) describeFindings(e ponder.Escalation) string {
	found, seen := splitCompiled(e.Content)
	for i := range seen {
		seen[i] = "Seen: " + seen[i]
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
		return "Something was found, but its details are no longer stored."
	}
	return said
}

// quoteUntrusted returns the untrusted texts behind an escalation, marked as such. It only mentions texts
// that the escalation does not rest on.
func (d *decision) quoteUntrusted(e ponder.Escalation) string {
	lines := []string{"This is based on text from strangers:"}
	known := d.Known.findObservations(e.Observations)
	for _, s := range known {
		if s.Untrusted && len(lines) <= maxQuotes {
			from := textkit.Line(s.Source, maxLine)
			if from == "" {
				from = textkit.Line(s.Subject, maxLine)
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("> %s\n  (%s: %s", textkit.Line(s.Content, maxLine), textkit.Line(s.Sensor, maxName), from))+")")
		}
	}
	sources := lastN(e.Sources, maxQuotes)
	switch {
	case len(lines) > 1:
		return strings.Join(lines, "\n")
	case len(known) < len(e.Observations) && len(sources) > 0: // the supporting observations are gone
		return "This may be based on text from strangers: " + textkit.Line(strings.Join(sources, ", "), maxLine) + "."
	}
	return "Text from strangers may have influenced this."
}
