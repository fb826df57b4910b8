package passthrough

import (
	"fmt"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/llm"
)

// QuestionTime is how long a question for an approval can be answered. The client must still have
// the exchange in its conversation.
const QuestionTime = time.Hour

// A pendingWrite is a question to the user that the run writes.
type pendingWrite struct {
	Key      string                   `json:"key"`
	Question ponder.ApprovalRequested `json:"question"`
}

// startApproved starts the calls that the user approved.
func (s *state) startApproved() {
	if len(s.opts.Approved) == 0 || s.Err != "" {
		return
	}
	msg := llm.Message{Role: llm.Assistant}
	s.Results, s.Own = make([]llm.ToolResult, len(s.opts.Approved)), nil
	for i, c := range s.opts.Approved {
		msg.Parts = append(msg.Parts, llm.Part{Call: &c})
		s.Calls = append(s.Calls, c)
		if !s.isServerTool(c) {
			s.Results[i] = llm.ToolResult{ID: c.ID, Name: c.Name, Failed: true, Text: "Not run: this tool is not available in this request."}
		}
	}
	s.Msgs = []llm.Message{msg}
	s.finishRound()
}

// decideCall decides on a call of the newest round. It returns the text of its result if it is not
// run now.
func (s *state) decideCall(i int, now time.Time) (text string) {
	c := s.Calls[i]
	call := taint.Call{Tool: c.Name, Args: c.Input, View: s.viewOf(), Results: taint.Results(s.Msgs)}
	s.Own[i] = call.View.IsOwnSearch(c.Input)
	d := s.config.Gate.Decide(call)
	if d.Args != nil {
		s.Calls[i].Input = d.Args
	}
	switch {
	case d.Refusal != "":
		return d.Refusal
	case d.Ask != "":
		s.Questions = append(s.Questions[:len(s.Questions):len(s.Questions)], pendingWrite{fmt.Sprintf("question-%d-%d", s.Round, i), ponder.ApprovalRequested{
			Tool: c.Name, Args: taint.Compact(s.Calls[i].Input), Reason: d.Ask, Expires: now.Add(QuestionTime), Untrusted: call.View.Names(),
		}})
		return "Not run yet: Ponder itself asks the user to approve this call with exactly these arguments. Do not ask for it again; end your answer."
	}
	return ""
}

func (s *state) questionActions() (do []ponder.Action) {
	for _, q := range s.Questions {
		do = append(do, ponder.Write{Key: q.Key, Bodies: []ponder.Body{q.Question}})
	}
	return do
}

// viewOf returns the texts that the model sees, by their origin. A client's own history counts as
// untrusted, because Ponder does not know which texts earlier answers repeat.
func (s *state) viewOf() taint.View {
	c, texts := s.Taint, []taint.Text(nil)
	for _, m := range s.opts.Request.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Result != nil:
				c, texts = c.AddSource("result of the client's tool "+p.Result.Name, 0), append(texts, taint.Text{Content: p.Result.Text})
			case p.Media != nil:
				c = c.AddSource("attached file "+p.Media.Name, 0)
			case m.Role == llm.User:
				c, texts = c.AddMessage(p.Text), append(texts, taint.Text{Content: p.Text, User: true})
			default:
				c, texts = c.AddSource("earlier answers in the client's conversation", 0), append(texts, taint.Text{Content: p.Text})
			}
		}
	}
	v := taint.NewView(c, texts, taint.Results(s.Msgs))
	v.Described = s.config.Described
	return v
}
