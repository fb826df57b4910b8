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

// exposure is how long a mind counts as influenced after a role read untrusted text. Roles' notes
// and hints do not record their sources.
const exposure = 7 * 24 * time.Hour

// trusted reports whether no untrusted text can have led to an escalation. Only then may a decision
// use tools.
func (d *decision) trusted(e ponder.Escalation) bool {
	_, raised, _ := d.Known.raised(e.ID)
	if e.Untrusted || !d.Known.Exposed.IsZero() && raised.Sub(d.Known.Exposed) < exposure {
		return false
	}
	return !slices.ContainsFunc(e.Entries, func(id string) bool { return d.Known.State.Aside.About[id].Untrusted })
}

func (d *decision) offered(e ponder.Escalation) []llm.Tool {
	tools := []llm.Tool{messageDef, dismissDef}
	if !d.trusted(e) {
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

func (d *decision) offers(e ponder.Escalation, name string) bool {
	return slices.ContainsFunc(d.offered(e), func(t llm.Tool) bool { return t.Name == name })
}

func (d *decision) request(e ponder.Escalation) llm.Request {
	tools := d.offered(e)
	req := llm.Request{
		System: decideRules(tools), Messages: []llm.Message{llm.Say(llm.User, d.context(e))},
		Tools: tools, ToolChoice: "required", Background: true,
	}
	if len(d.Deeds) > 0 {
		req.ToolChoice = "auto"
	}
	req.Messages = append(req.Messages, d.Msgs...)
	return req
}

func decideRules(tools []llm.Tool) string {
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

// context returns the first message to the model. It shows only untainted parts of the mind besides
// e.
func (d *decision) context(e ponder.Escalation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Brought up, importance %d of 10:\n%s\nWhy: %s\n", e.Importance, quotedLines(e.Content), quoted(e.Reason, maxLine))
	if e.Untrusted {
		b.WriteString("Strangers wrote of what it rests on.\n")
	}
	if seen := d.Known.observations(e.Rests); len(seen) > 0 {
		b.WriteString("\nIt rests on:\n")
		for i, s := range seen {
			b.WriteString(frame(fmt.Sprintf("o%d", i+1), s) + "\n")
		}
	}
	b.WriteString("\nOn the mind:\n")
	for _, c := range categories {
		for _, en := range *d.Known.State.list(c) {
			own := slices.Contains(e.Entries, en.ID)
			if about := d.Known.State.Aside.About[en.ID]; own || !about.Untrusted {
				fmt.Fprintf(&b, "- %s (%s, strength %d): %s\n", quoted(en.ID, maxName), c, en.Strength, quoted(en.Summary, maxSummary))
			}
		}
	}
	d.history(&b, e)
	fmt.Fprintf(&b, "\nIt is %s.", stamp(d.run.Started))
	return b.String()
}

func (d *decision) history(b *strings.Builder, e ponder.Escalation) {
	title := "\nBrought up before:\n"
	for _, h := range d.Known.State.EscalationHistory {
		if h.ID == e.ID || d.Known.Tainted[h.ID] {
			continue
		}
		fmt.Fprintf(b, "%s- %s: %s (%s)\n", title, stamp(h.Created), quoted(h.Summary, maxSummary), quoted(h.Outcome, maxLine))
		title = ""
	}
}

func quotedLines(s string) string {
	var list []string
	for line := range strings.Lines(textkit.TruncateBytes(textkit.CleanTrim(s), 2*maxMessage)) {
		if line = quoted(line, 2*maxLine); line != "" {
			list = append(list, line)
		}
	}
	return strings.Join(list, "\n")
}
