package deep

import (
	"ponder"
	"ponder/internal/taint"
	"ponder/llm"
)

// applyTaint folds an event of the conversation into the texts that reflections read. Its answers may
// repeat the results of tools.
func applyTaint(c taint.Context, ev ponder.Event) taint.Context {
	if b, ok := ev.Body.(ponder.ToolResult); ok {
		return c.AddResult(taint.Result{Tool: b.Name, Text: b.Result + b.Error, Seq: ev.Seq, Untrusted: b.Untrusted})
	}
	return c.AddEvent(ev)
}

// decideCall decides on a call. A reflection cannot ask the user, so a call that needs an approval
// is refused.
func (s *state) decideCall(w *work, u *pendingCall) {
	c := taint.Call{Tool: u.Call.Name, Args: u.Call.Input, View: s.viewOf(w), Results: taint.Results(w.Msgs)}
	u.Own = c.View.IsOwnSearch(c.Args)
	switch d := s.opts.Gate.Decide(c); {
	case d.Refusal != "":
		u.Result = &llm.ToolResult{ID: u.Call.ID, Name: u.Call.Name, Text: d.Refusal, Failed: true}
	case d.Ask != "":
		u.Result = &llm.ToolResult{ID: u.Call.ID, Name: u.Call.Name, Text: "Not run: a reflection cannot ask the user.", Failed: true}
	case d.Args != nil:
		u.Call.Input = d.Args
	}
}

// viewOf returns the texts that the model sees, by their origin.
func (s *state) viewOf(w *work) taint.View {
	var texts []taint.Text
	for _, l := range s.Lines {
		texts = append(texts, taint.Text{Content: l.Text, User: l.User})
	}
	return taint.NewView(s.Taint, texts, taint.Results(w.Msgs))
}
