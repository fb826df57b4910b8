package deep

import (
	"ponder"
	"ponder/internal/taint"
	"ponder/llm"
)

// applyTaint folds an event of the conversation into the texts that reflections read.
func applyTaint(c taint.Context, ev ponder.Event) taint.Context {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if len(b.Decisions) == 0 {
			c = c.AddMessage(b.Content)
		}
	case ponder.AttachmentAdded:
		if ev.Run == "" {
			c = c.AddSource("attached file " + b.Name)
		}
	case ponder.AssistantMessage:
		if ev.Run == "" {
			c = c.AddSource("imported answer")
		}
	case ponder.Observation:
		if b.Untrusted {
			c = c.AddSource("observation of the subconscious")
		}
	case ponder.InnerMonologue:
		if b.Untrusted || len(b.Sources) > 0 {
			c = c.AddSource("reflection on untrusted text")
		}
	case ponder.ToolResult: // of the conversation: its answers may repeat the text
		c = c.AddResult(taint.Result{Tool: b.Name, Text: b.Result + b.Error, Untrusted: b.Untrusted})
	}
	return c
}

// decideCall decides on a call. A reflection cannot ask the user, so a call that needs an approval
// is refused.
func (s *state) decideCall(w *work, u *pendingCall) {
	c := taint.Call{Tool: u.Call.Name, Args: u.Call.Input, View: s.viewOf(w), Results: w.results()}
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
	v := taint.View{Context: s.Taint}
	for _, l := range s.Lines {
		if l.User {
			v.Earlier, v.Message = append(v.Earlier, l.Text), l.Text
		} else {
			v.Private = append(v.Private, l.Text)
		}
	}
	v.Earlier = v.Earlier[:max(0, len(v.Earlier)-1)]
	for _, r := range w.results() {
		v = v.AddText(r.Tool, r.Text)
	}
	return v
}

// results returns the results of tools that the model has read.
func (w *work) results() (list []taint.Result) {
	for _, m := range w.Msgs {
		for _, p := range m.Parts {
			if p.Result != nil {
				list = append(list, taint.Result{Tool: p.Result.Name, Text: p.Result.Text})
			}
		}
	}
	return list
}
