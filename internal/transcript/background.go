package transcript

import (
	"strings"

	"ponder"
	"ponder/internal/toolname"
)

// hideThinking marks events with thinking as internal, as in our own logs, because files of other
// programs do not mark them.
func hideThinking(events []ponder.Event) {
	var waits toolMatcher
	for i := range events {
		ev := &events[i]
		if isThinking(*ev) {
			ev.Internal = true
		}
		switch b := ev.Body.(type) {
		case ponder.ToolCall:
			waits.addCall(ev, b)
		case ponder.ToolResult:
			waits.addResult(ev, b)
		}
	}
	waits.hideUnmatched()
}

// deepThink is the tool that requests a reflection, and the prefix of its notes.
const deepThink = toolname.DeepThink

func isThinker(tool string) bool {
	tool = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tool)), "-", "_")
	return tool == toolname.Think || tool == deepThink
}

// isThinking reports whether an event by itself contains thinking.
func isThinking(ev ponder.Event) bool {
	if tool, ok := jsonText(ev.Extra["tool_name"]); ok && isThinker(tool) {
		return true
	}
	switch b := ev.Body.(type) {
	case ponder.ToolCall:
		return isThinker(b.Name)
	case ponder.ToolResult:
		return isThinker(b.Name)
	case ponder.InnerMonologue:
		return true
	case ponder.Thought:
		return b.Kind == "think"
	case ponder.Progress:
		return strings.HasPrefix(b.Stage, deepThink)
	case ponder.Observation:
		return b.Sensor == deepThink
	case ponder.SystemNote:
		return isThinkingNote(ev, b)
	case ponder.Unknown:
		return isThinker(b.Head.ToolName)
	}
	return false
}

// isThinkingNote reports whether a note, or an event that became one, contains thinking.
func isThinkingNote(ev ponder.Event, b ponder.SystemNote) bool {
	kind, _ := jsonText(ev.Extra["thought_type"])
	stage, _ := jsonText(ev.Extra["stage"])
	sensor, _ := jsonText(ev.Extra["sensor"])
	switch b.Foreign {
	case "inner_monologue", "thinking":
		return true
	case "thought":
		return kind == "think"
	case "progress":
		return strings.HasPrefix(stage, deepThink)
	case "observation":
		return sensor == deepThink
	}
	begins := strings.ToLower(strings.TrimSpace(b.Content))
	return isThinker(b.Foreign) || isThinker(b.Reason) || strings.HasPrefix(begins, "["+deepThink) || strings.HasPrefix(begins, "[think]")
}

// A toolMatcher matches tool calls with results. Results without a reference match in order, once
// their number equals that of the open calls.
type toolMatcher struct {
	calls   []*openCall // including answered ones
	open    int         // number of unanswered calls
	results []*ponder.Event
	byID    map[string]*openCall
	byTool  map[string][]*openCall
}

type openCall struct{ thinks, answered bool }

func (w *toolMatcher) addCall(ev *ponder.Event, b ponder.ToolCall) {
	if w.byID == nil {
		w.byID, w.byTool = make(map[string]*openCall), make(map[string][]*openCall)
	}
	p := &openCall{thinks: isThinking(*ev)}
	for _, id := range linksOf(*ev, "id") {
		w.byID[id] = p
	}
	if ev.ID != "" {
		w.byID[ev.ID] = p
	}
	w.byTool[b.Name] = append(w.byTool[b.Name], p)
	w.calls = append(w.calls, p)
	w.open++
}

// addResult matches a result by ID, by tool name or by position.
func (w *toolMatcher) addResult(ev *ponder.Event, b ponder.ToolResult) {
	for _, id := range linksOf(*ev, "in_reply_to", "parent_id") {
		if p := w.byID[id]; p != nil {
			ev.Internal = ev.Internal || p.thinks
			w.markAnswered(p)
			return
		}
	}
	if b.Name == "" {
		w.results = append(w.results, ev)
		w.matchByOrder()
		return
	}
	for list := w.byTool[b.Name]; len(list) > 0; {
		p := list[0]
		list = list[1:]
		w.byTool[b.Name] = list
		if !p.answered {
			w.markAnswered(p)
			return
		}
	}
}

// markAnswered records that a call has its result.
func (w *toolMatcher) markAnswered(p *openCall) {
	if !p.answered {
		p.answered = true
		w.open--
		w.matchByOrder()
	}
}

// matchByOrder matches results with open calls if their numbers are equal.
func (w *toolMatcher) matchByOrder() {
	if len(w.results) != w.open {
		return
	}
	for _, p := range w.calls {
		if p.answered {
			continue
		}
		w.results[0].Internal = w.results[0].Internal || p.thinks
		w.results, p.answered = w.results[1:], true
	}
	w.calls, w.results, w.open = nil, nil, 0
}

// hideUnmatched hides the unmatched results if an open call is for thinking.
func (w *toolMatcher) hideUnmatched() {
	for _, p := range w.calls {
		if p.answered || !p.thinks {
			continue
		}
		for _, ev := range w.results {
			ev.Internal = true
		}
		return
	}
}

// linksOf returns the IDs by which calls and results refer to each other.
func linksOf(ev ponder.Event, more ...string) (ids []string) {
	if ev.Run != "" && ev.Cause != "" {
		ids = append(ids, string(ev.Run)+" "+ev.Cause)
	}
	for _, name := range append([]string{"tool_call_id", "call_id", "tool_use_id"}, more...) {
		if id := textOrJSON(ev.Extra[name]); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
