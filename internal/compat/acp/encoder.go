package acp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// An encoder sends parts as updates of a session. It implements [compat.Encoder].
type encoder struct {
	*server
	session *session
	kind    compat.JobKind
	approve func(plan string) // asks for approval of a plan; nil: does not ask

	open  textKind // of the unsent text
	text  strings.Builder
	err   error
	tools []string // tool calls in progress
	plan  []sdk.PlanEntry
	draft string // the text of the newest plan
	cited []compat.Citation

	stop  sdk.StopReason    // set by End
	fault *sdk.RequestError // set by Fail and by a failed End
}

// A textKind is a kind of streamed text.
type textKind int

const (
	noText textKind = iota
	messageText
	thoughtText
)

const (
	maxPlan    = 50   // entries
	maxContent = 4000 // bytes of a tool result
	maxCited   = 100
)

func (e *encoder) send(u sdk.SessionUpdate) {
	e.sendText()
	if e.err == nil {
		e.err = e.notify(e.session.name, u)
	}
}

// addText adds text of a kind. Adjacent text of one kind is one update.
func (e *encoder) addText(kind textKind, text string) {
	if e.open != kind {
		e.sendText()
	}
	e.open = kind
	e.text.WriteString(text)
}

func (e *encoder) sendText() {
	text := e.text.String()
	e.text.Reset()
	if text == "" || e.err != nil {
		return
	}
	u := sdk.UpdateAgentMessageText(text)
	if e.open == thoughtText {
		u = sdk.UpdateAgentThoughtText(text)
	}
	e.err = e.notify(e.session.name, u)
}

// Part implements [compat.Encoder].
func (e *encoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		e.addText(messageText, p.Text)
	case compat.TextEnd:
		e.cited = append(e.cited, p.Citations[:min(len(p.Citations), max(0, maxCited-len(e.cited)))]...)
	case compat.Question:
		e.addPlan(p.Text, priorityOf(p.Priority))
	case compat.Searching:
		e.startTool(p)
	case compat.Found:
		e.endTool(p)
	case compat.Title:
		e.send(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: &p.Text}})
	case compat.Thought:
		if p.Stage == "plan" {
			e.setPlan(p.Text)
		}
		e.addText(thoughtText, p.Thinking())
	case compat.Paused:
		e.addText(thoughtText, "Paused: "+cmp.Or(p.Text, "until it is resumed")+"\n\n")
		if p.Stage == "plan" && e.approve != nil {
			e.sendText()
			e.approve(e.draft)
		}
	case compat.Steered:
		if p.Refused {
			e.addText(thoughtText, "Not applied: "+textkit.TruncateBytes(p.Text, maxContent)+"\n\n")
		}
	default:
		if text := p.Thinking(); text != "" {
			e.addText(thoughtText, text)
		}
	}
}

func priorityOf(n int) sdk.PlanEntryPriority {
	switch {
	case n >= 8:
		return sdk.PlanEntryPriorityHigh
	case n >= 4:
		return sdk.PlanEntryPriorityMedium
	}
	return sdk.PlanEntryPriorityLow
}

// addPlan adds a question to the plan and sends the plan.
func (e *encoder) addPlan(text string, priority sdk.PlanEntryPriority) {
	if len(e.plan) == maxPlan {
		return
	}
	e.plan = append(e.plan, sdk.PlanEntry{Content: textkit.OneLine(text), Priority: priority, Status: sdk.PlanEntryStatusInProgress})
	e.send(sdk.UpdatePlan(e.plan...))
}

// setPlan replaces the plan by the steps of a plan of research.
func (e *encoder) setPlan(text string) {
	e.draft, e.plan = text, nil
	for line := range strings.Lines(text) {
		if step, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && len(e.plan) < maxPlan {
			e.plan = append(e.plan, sdk.PlanEntry{Content: step, Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusInProgress})
		}
	}
	if len(e.plan) > 0 {
		e.send(sdk.UpdatePlan(e.plan...))
	}
}

// completePlan marks the entries as completed.
func (e *encoder) completePlan() {
	for i := range e.plan {
		e.plan[i].Status = sdk.PlanEntryStatusCompleted
	}
	if len(e.plan) > 0 {
		e.send(sdk.UpdatePlan(e.plan...))
	}
}

func (e *encoder) startTool(p compat.Part) {
	kind := sdk.ToolKindSearch
	if p.Search.URL != "" {
		kind = sdk.ToolKindFetch
	}
	title := p.Search.Tool
	if about := cmp.Or(p.Search.Query, p.Search.URL); about != "" {
		title += ": " + textkit.Line(about, 120)
	}
	opts := []sdk.ToolCallStartOpt{sdk.WithStartKind(kind), sdk.WithStartStatus(sdk.ToolCallStatusInProgress)}
	if len(p.Search.Args) > 0 {
		opts = append(opts, sdk.WithStartRawInput(p.Search.Args))
	}
	e.tools = append(e.tools, p.Item)
	e.send(sdk.StartToolCall(sdk.ToolCallId(p.Item), title, opts...))
}

func (e *encoder) endTool(p compat.Part) {
	e.tools = slices.DeleteFunc(e.tools, func(id string) bool { return id == p.Item })
	status, text := sdk.ToolCallStatusCompleted, ""
	if p.Search.Error != "" {
		status, text = sdk.ToolCallStatusFailed, p.Search.Error
	}
	var b strings.Builder
	for _, r := range p.Search.Results {
		if b.Len() > maxContent {
			break
		}
		fmt.Fprintf(&b, "- %s %s%s\n", textkit.OneLine(r.Title), r.URL, r.Source)
	}
	opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	if text += b.String(); text != "" {
		opts = append(opts, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}))
	}
	e.send(sdk.UpdateToolCall(sdk.ToolCallId(p.Item), opts...))
}

// Quiet implements [compat.Encoder]. The protocol has no heartbeat.
func (*encoder) Quiet() {}

// Fail implements [compat.Encoder].
func (e *encoder) Fail(f *compat.APIError) { e.fault = e.requestError(f) }

// End implements [compat.Encoder].
func (e *encoder) End(end compat.End) {
	for _, id := range slices.Clone(e.tools) {
		e.endTool(compat.Part{Item: id, Search: &compat.Search{Error: "it did not return in time"}})
	}
	e.completePlan()
	e.addSources()
	if end.Status == ponder.Failed {
		e.fault = e.requestError(end.APIError())
		return
	}
	if why := cmp.Or(end.StopReason, end.Reason); end.Status == ponder.Completed && why != "" {
		e.addText(thoughtText, "Ended: "+why+"\n\n")
	}
	e.stop = stopReason(e.kind, end)
}

// addSources lists the cited sources once each.
func (e *encoder) addSources() {
	seen := make(map[string]bool)
	for _, c := range e.cited {
		at := cmp.Or(c.URL, c.File)
		if at == "" || seen[at] {
			continue
		}
		if len(seen) == 0 {
			e.addText(messageText, "\n\nSources:\n")
		}
		seen[at] = true
		title := strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(cmp.Or(c.Title, at))
		if c.URL != "" {
			e.addText(messageText, fmt.Sprintf("\n- [%s](%s)", title, c.URL))
		} else {
			e.addText(messageText, fmt.Sprintf("\n- %s (%s)", title, c.File))
		}
	}
}

// Flush implements [compat.Encoder].
func (e *encoder) Flush() error {
	e.sendText()
	return e.err
}
