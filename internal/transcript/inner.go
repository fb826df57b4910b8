package transcript

import (
	"strings"

	"ponder"
	"ponder/internal/toolname"
)

// hideThinking makes the events internal that carry thinking, as those are that are
// written here: files of another program do not say so.
func hideThinking(events []ponder.Event) {
	var waits waiting
	for i := range events {
		ev := &events[i]
		if isThinking(*ev) {
			ev.Internal = true
		}
		switch b := ev.Body.(type) {
		case ponder.ToolCall:
			waits.call(ev, b)
		case ponder.ToolResult:
			waits.result(ev, b)
		}
	}
	waits.end()
}

// deepThink is the tool that asks for a reflection, and what its notes begin with.
const deepThink = toolname.DeepThink

// isThinker reports whether a tool of this name is one to think with.
func isThinker(tool string) bool {
	tool = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tool)), "-", "_")
	return tool == toolname.Think || tool == deepThink
}

// isThinking reports whether an event alone says that it carries thinking.
func isThinking(ev ponder.Event) bool {
	if tool, ok := text(ev.Extra["tool_name"]); ok && isThinker(tool) {
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

// isThinkingNote reports whether a remark, or an event that became one, carries thinking.
func isThinkingNote(ev ponder.Event, b ponder.SystemNote) bool {
	kind, _ := text(ev.Extra["thought_type"])
	stage, _ := text(ev.Extra["stage"])
	sensor, _ := text(ev.Extra["sensor"])
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

// A waiting has the calls of tools that have no result yet, and results that do not
// say of which call they are. Of as many of both, the first is of the first.
type waiting struct {
	calls   []*pending // with some that are answered
	open    int        // of calls, those that are not
	results []*ponder.Event
	byID    map[string]*pending
	byTool  map[string][]*pending
}

// A pending is a call.
type pending struct{ thinks, answered bool }

// call adds a call.
func (w *waiting) call(ev *ponder.Event, b ponder.ToolCall) {
	if w.byID == nil {
		w.byID, w.byTool = make(map[string]*pending), make(map[string][]*pending)
	}
	p := &pending{thinks: isThinking(*ev)}
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

// result finds the call of a result: by an id, by the name of the tool, or by its place.
func (w *waiting) result(ev *ponder.Event, b ponder.ToolResult) {
	for _, id := range linksOf(*ev, "in_reply_to", "parent_id") {
		if p := w.byID[id]; p != nil {
			ev.Internal = ev.Internal || p.thinks
			w.answer(p)
			return
		}
	}
	if b.Name == "" {
		w.results = append(w.results, ev)
		w.pair()
		return
	}
	for list := w.byTool[b.Name]; len(list) > 0; {
		p := list[0]
		list = list[1:]
		w.byTool[b.Name] = list
		if !p.answered {
			w.answer(p)
			return
		}
	}
}

// answer notes that a call has its result.
func (w *waiting) answer(p *pending) {
	if !p.answered {
		p.answered = true
		w.open--
		w.pair()
	}
}

// pair gives the results to the calls if there are as many.
func (w *waiting) pair() {
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

// end hides the results of which nobody knows whether they are of a call that thinks.
func (w *waiting) end() {
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

// linksOf returns the ids by which calls and results name each other.
func linksOf(ev ponder.Event, more ...string) (ids []string) {
	if ev.Run != "" && ev.Cause != "" {
		ids = append(ids, string(ev.Run)+" "+ev.Cause)
	}
	for _, name := range append([]string{"tool_call_id", "call_id", "tool_use_id"}, more...) {
		if id := words(ev.Extra[name]); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
