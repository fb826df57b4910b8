package subconscious

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/llm"
)

// The first two tools end a decision. Only trusted decisions have rememberTool.
const (
	messageTool  = "message_user"
	dismissTool  = "dismiss"
	rememberTool = toolname.Remember
)

// Prompts of decisions. decideTools is for decisions with more than two tools.
var (
	//go:embed prompts/decide.md
	decidePrompt string
	//go:embed prompts/decide_tools.md
	decideTools string
)

var (
	messageDef = llm.Tool{
		Name: messageTool, Doc: "Tell the person something now.",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1500,"description":"What to tell, in two or three sentences."}},"required":["text"],"additionalProperties":false}`),
	}
	dismissDef = llm.Tool{
		Name: dismissTool, Doc: "Do not tell the person.",
		Schema: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","maxLength":300,"description":"Why it is not worth it, or what was done instead, in a sentence."}},"required":["reason"],"additionalProperties":false}`),
	}
	rememberDef = llm.Tool{
		Name: rememberTool, Doc: "Keep something for later.",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1500,"description":"What to remember, so that it can be understood by itself."}},"required":["text"],"additionalProperties":false}`),
	}
)

// exposureWindow is how long a mind counts as influenced after a role read untrusted text. Roles' notes
// and hints do not record their sources.
const exposureWindow = 7 * 24 * time.Hour

// isTrusted reports whether no untrusted text can have led to an escalation. Only then may a decision
// use tools.
func (d *decision) isTrusted(e ponder.Escalation) bool {
	_, raised, _ := d.Known.findRaised(e.ID)
	if e.Untrusted || !d.Known.Exposed.IsZero() && raised.Sub(d.Known.Exposed) < exposureWindow {
		return false
	}
	return !d.showsUntrusted(e)
}

// showsUntrusted reports whether a decision is shown an entry that untrusted text influenced.
func (d *decision) showsUntrusted(e ponder.Escalation) bool {
	for id := range d.Known.relatedEntries(e) {
		if d.Known.State.Internal.Metadata[id].Untrusted {
			return true
		}
	}
	return false
}

func (d *decision) offeredTools(e ponder.Escalation) []llm.Tool {
	tools := []llm.Tool{messageDef, dismissDef}
	if !d.isTrusted(e) {
		return tools
	}
	tools = append(tools, rememberDef)
	for _, t := range d.o.Actions {
		if !slices.ContainsFunc(tools, func(o llm.Tool) bool { return o.Name == t.Name }) {
			tools = append(tools, t)
		}
	}
	return tools
}

func (d *decision) isOffered(e ponder.Escalation, name string) bool {
	return slices.ContainsFunc(d.offeredTools(e), func(t llm.Tool) bool { return t.Name == name })
}

func (d *decision) buildRequest(e ponder.Escalation) llm.Request {
	tools := d.offeredTools(e)
	req := llm.Request{
		System: decideSystem(tools), Messages: []llm.Message{llm.Say(llm.User, d.buildContext(e))},
		Tools: tools, ToolChoice: "required", Background: true,
	}
	if len(d.ToolOutcomes) > 0 {
		req.ToolChoice = "auto"
	}
	req.Messages = append(req.Messages, d.Msgs...)
	return req
}

func decideSystem(tools []llm.Tool) string {
	more, actions := "", ""
	if len(tools) > 2 {
		more = strings.TrimSpace(decideTools)
	}
	for _, t := range tools {
		switch t.Name {
		case messageTool, dismissTool, rememberTool:
		default:
			actions += "- " + t.Name + ": " + textkit.Line(t.Doc, maxLine) + "\n"
		}
	}
	more = strings.Replace(more, "[actions]\n", actions, 1)
	return strings.TrimSpace(strings.Replace(decidePrompt, "[tools]\n\n", strings.TrimLeft(more+"\n\n", "\n"), 1))
}

// buildContext returns the first message to the model. Of the entries that untrusted text influenced, it
// shows only those related to e.
func (d *decision) buildContext(e ponder.Escalation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Brought up, importance %d of 10:\n%s\nWhy: %s\n", e.Importance, sanitizeLines(e.Content), sanitizeLine(e.Reason, maxLine))
	if e.Untrusted {
		b.WriteString("Strangers wrote of what it rests on.\n")
	}
	if seen := d.Known.findObservations(e.Observations); len(seen) > 0 {
		b.WriteString("\nIt rests on:\n")
		for i, s := range seen {
			b.WriteString(formatObservation(fmt.Sprintf("o%d", i+1), s) + "\n")
		}
	}
	b.WriteString("\nOn the mind:\n")
	related := d.Known.relatedEntries(e)
	for _, c := range categories {
		for _, en := range *d.Known.State.categoryEntries(c) {
			untrusted, mark := d.Known.State.Internal.Metadata[en.ID].Untrusted, ""
			if untrusted && !related[en.ID] {
				continue
			}
			if untrusted {
				mark = ", from strangers"
			}
			fmt.Fprintf(&b, "- %s (%s, strength %d%s): %s\n", sanitizeLine(en.ID, maxName), c, en.Strength, mark, sanitizeLine(en.Summary, maxSummary))
		}
	}
	d.writeHistory(&b, e)
	fmt.Fprintf(&b, "\nIt is %s.", formatStamp(d.run.Started))
	return b.String()
}

func (d *decision) writeHistory(b *strings.Builder, e ponder.Escalation) {
	title := "\nBrought up before:\n"
	for _, h := range d.Known.State.EscalationHistory {
		if h.ID == e.ID || d.Known.Tainted[h.ID] {
			continue
		}
		fmt.Fprintf(b, "%s- %s: %s (%s)\n", title, formatStamp(h.Created), sanitizeLine(h.Summary, maxSummary), sanitizeLine(h.Outcome, maxLine))
		title = ""
	}
}

func sanitizeLines(s string) string {
	var list []string
	for line := range strings.Lines(textkit.TruncateBytes(textkit.CleanTrim(s), 2*maxMessage)) {
		if line = sanitizeLine(line, 2*maxLine); line != "" {
			list = append(list, line)
		}
	}
	return strings.Join(list, "\n")
}
