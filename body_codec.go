package ponder

import "encoding/json"

func (UserMessage) Type() string       { return "user_message" }
func (AssistantMessage) Type() string  { return "assistant_message" }
func (ToolCall) Type() string          { return "tool_call" }
func (ToolResult) Type() string        { return "tool_result" }
func (SystemNote) Type() string        { return "system_note" }
func (ApprovalRequested) Type() string { return "approval_requested" }
func (AttachmentAdded) Type() string   { return "attachment_added" }
func (InnerMonologue) Type() string    { return "inner_monologue" }
func (TitleGenerated) Type() string    { return "title_generated" }
func (Summary) Type() string           { return "summary" }
func (Thought) Type() string           { return "thought" }
func (SubQuestion) Type() string       { return "sub_question" }
func (QuestionUpdated) Type() string   { return "question_updated" }
func (Synthesis) Type() string         { return "synthesis" }
func (Plan) Type() string              { return "plan" }
func (Evidence) Type() string          { return "evidence" }
func (Claim) Type() string             { return "claim" }
func (Progress) Type() string          { return "progress" }
func (Observation) Type() string       { return "observation" }
func (Finding) Type() string           { return "finding" }
func (Subconscious) Type() string      { return "subconscious" }
func (Escalation) Type() string        { return "escalation" }
func (Resolution) Type() string        { return "resolved" }
func (RunStarted) Type() string        { return "run_started" }
func (RunPaused) Type() string         { return "run_paused" }
func (RunResumed) Type() string        { return "run_resumed" }
func (RunFinished) Type() string       { return "run_finished" }
func (Steer) Type() string             { return "steer" }
func (CallStarted) Type() string       { return "call_started" }
func (CallFinished) Type() string      { return "call_finished" }
func (BudgetSpent) Type() string       { return "budget_spent" }
func (u Unknown) Type() string         { return u.Name }

func (b UserMessage) headFields() head { return head{Role: "user", Content: b.Content} }
func (b AssistantMessage) headFields() head {
	return head{Role: "assistant", Content: b.Content, Model: b.Model, Usage: b.Usage}
}
func (b ToolCall) headFields() head {
	return head{Role: "assistant", ToolName: b.Name, ToolArgs: b.Args}
}
func (b ToolResult) headFields() head {
	return head{Role: "tool", ToolName: b.Name, ToolResult: b.Result}
}
func (b ApprovalRequested) headFields() head {
	return head{Role: "system", ToolName: b.Tool, ToolArgs: b.Args, Reason: b.Reason}
}
func (b SystemNote) headFields() head {
	return head{Role: "system", Content: b.Content, Reason: b.Reason}
}
func (b AttachmentAdded) headFields() head { return head{Role: "user", Content: b.Content} }
func (b InnerMonologue) headFields() head {
	return head{Role: "system", Content: b.Content, ToolName: b.Tool, Reason: b.Reason, Model: b.Model}
}
func (b TitleGenerated) headFields() head  { return head{Content: b.Content} }
func (b Summary) headFields() head         { return head{Role: "system", Content: b.Content} }
func (b Thought) headFields() head         { return head{Content: b.Content, Model: b.Model} }
func (b SubQuestion) headFields() head     { return head{Content: b.Content} }
func (b QuestionUpdated) headFields() head { return head{Reason: b.Reason} }
func (b Synthesis) headFields() head       { return head{Content: b.Content, Model: b.Model} }
func (b Plan) headFields() head            { return head{Content: b.Content, Model: b.Model} }
func (b Evidence) headFields() head        { return head{Content: b.Content, ToolName: b.Tool} }
func (b Claim) headFields() head           { return head{Content: b.Content, Reason: b.Reason} }
func (b Progress) headFields() head        { return head{Content: b.Content} }
func (b Observation) headFields() head     { return head{Content: b.Content} }
func (b Finding) headFields() head         { return head{Content: b.Content} }
func (b Subconscious) headFields() head    { return head{} }
func (b Escalation) headFields() head {
	return head{Content: b.Content, Reason: b.Reason, Model: b.Model}
}
func (b Resolution) headFields() head   { return head{Content: b.Content} }
func (b RunStarted) headFields() head   { return head{Content: b.Input} }
func (b RunPaused) headFields() head    { return head{Reason: b.Reason} }
func (b RunResumed) headFields() head   { return head{Reason: b.Reason} }
func (b RunFinished) headFields() head  { return head{Content: b.Answer, Reason: b.Reason} }
func (b Steer) headFields() head        { return head{Role: "user", Content: b.Content} }
func (b CallStarted) headFields() head  { return head{Model: b.Model} }
func (b CallFinished) headFields() head { return head{Model: b.Model, Usage: &b.Usage} }
func (b BudgetSpent) headFields() head  { return head{Reason: b.What} }
func (u Unknown) headFields() head      { return u.Head }

type decoder func(head, json.RawMessage) (Body, error)

// decoders has the decoder of each type. It is constant.
var decoders = map[string]decoder{
	"user_message": newDecoder(func(b *UserMessage, h head) { b.Content = h.Content }),
	"assistant_message": newDecoder(func(b *AssistantMessage, h head) {
		b.Content, b.Model, b.Usage = h.Content, h.Model, h.Usage
	}),
	"tool_call":   newDecoder(func(b *ToolCall, h head) { b.Name, b.Args = h.ToolName, h.ToolArgs }),
	"tool_result": newDecoder(func(b *ToolResult, h head) { b.Name, b.Result = h.ToolName, h.ToolResult }),
	"system_note": newDecoder(func(b *SystemNote, h head) { b.Content, b.Reason = h.Content, h.Reason }),
	"approval_requested": newDecoder(func(b *ApprovalRequested, h head) {
		b.Tool, b.Args, b.Reason = h.ToolName, h.ToolArgs, h.Reason
	}),
	"attachment_added": newDecoder(func(b *AttachmentAdded, h head) { b.Content = h.Content }),
	"inner_monologue": newDecoder(func(b *InnerMonologue, h head) {
		b.Content, b.Tool, b.Reason, b.Model = h.Content, h.ToolName, h.Reason, h.Model
	}),
	"title_generated":  newDecoder(func(b *TitleGenerated, h head) { b.Content = h.Content }),
	"summary":          newDecoder(func(b *Summary, h head) { b.Content = h.Content }),
	"thought":          newDecoder(func(b *Thought, h head) { b.Content, b.Model = h.Content, h.Model }),
	"sub_question":     newDecoder(func(b *SubQuestion, h head) { b.Content = h.Content }),
	"question_updated": newDecoder(func(b *QuestionUpdated, h head) { b.Reason = h.Reason }),
	"synthesis":        newDecoder(func(b *Synthesis, h head) { b.Content, b.Model = h.Content, h.Model }),
	"plan":             newDecoder(func(b *Plan, h head) { b.Content, b.Model = h.Content, h.Model }),
	"evidence":         newDecoder(func(b *Evidence, h head) { b.Content, b.Tool = h.Content, h.ToolName }),
	"claim":            newDecoder(func(b *Claim, h head) { b.Content, b.Reason = h.Content, h.Reason }),
	"progress":         newDecoder(func(b *Progress, h head) { b.Content = h.Content }),
	"observation":      newDecoder(func(b *Observation, h head) { b.Content = h.Content }),
	"finding":          newDecoder(func(b *Finding, h head) { b.Content = h.Content }),
	"subconscious":     newDecoder(func(b *Subconscious, h head) {}),
	"escalation":       newDecoder(func(b *Escalation, h head) { b.Content, b.Reason, b.Model = h.Content, h.Reason, h.Model }),
	"resolved":         newDecoder(func(b *Resolution, h head) { b.Content = h.Content }),
	"run_started":      newDecoder(func(b *RunStarted, h head) { b.Input = h.Content }),
	"run_paused":       newDecoder(func(b *RunPaused, h head) { b.Reason = h.Reason }),
	"run_resumed":      newDecoder(func(b *RunResumed, h head) { b.Reason = h.Reason }),
	"run_finished":     newDecoder(func(b *RunFinished, h head) { b.Answer, b.Reason = h.Content, h.Reason }),
	"steer":            newDecoder(func(b *Steer, h head) { b.Content = h.Content }),
	"call_started":     newDecoder(func(b *CallStarted, h head) { b.Model = h.Model }),
	"call_finished": newDecoder(func(b *CallFinished, h head) {
		b.Model = h.Model
		if h.Usage != nil {
			b.Usage = *h.Usage
		}
	}),
	"budget_spent": newDecoder(func(b *BudgetSpent, h head) { b.What = h.Reason }),
}

// newDecoder returns the decoder of a type. The function fill sets the fields that are in the head.
func newDecoder[B Body](fill func(*B, head)) decoder {
	return func(h head, data json.RawMessage) (Body, error) {
		var b B
		if len(data) > 0 {
			if err := json.Unmarshal(data, &b); err != nil {
				return nil, err
			}
		}
		fill(&b, h)
		return b, nil
	}
}

// Text returns the answer, or "" if the call failed.
func (b CallFinished) Text() string {
	if b.Error != "" {
		return ""
	}
	return b.Message.Text()
}

// UnmarshalJSON also reads the text alone, as older checkpoints have it.
func (s *UntrustedSource) UnmarshalJSON(js []byte) error {
	if len(js) > 0 && js[0] == '"' {
		return json.Unmarshal(js, &s.Source)
	}
	type plain UntrustedSource
	return json.Unmarshal(js, (*plain)(s))
}
