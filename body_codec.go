package ponder

import "encoding/json"

func (UserMessage) Type() string      { return "user_message" }
func (AssistantMessage) Type() string { return "assistant_message" }
func (ToolCall) Type() string         { return "tool_call" }
func (ToolResult) Type() string       { return "tool_result" }
func (SystemNote) Type() string       { return "system_note" }
func (AttachmentAdded) Type() string  { return "attachment_added" }
func (InnerMonologue) Type() string   { return "inner_monologue" }
func (TitleGenerated) Type() string   { return "title_generated" }
func (Summary) Type() string          { return "summary" }
func (Thought) Type() string          { return "thought" }
func (SubQuestion) Type() string      { return "sub_question" }
func (QuestionUpdated) Type() string  { return "question_updated" }
func (Synthesis) Type() string        { return "synthesis" }
func (Plan) Type() string             { return "plan" }
func (Evidence) Type() string         { return "evidence" }
func (Claim) Type() string            { return "claim" }
func (Progress) Type() string         { return "progress" }
func (Observation) Type() string      { return "observation" }
func (Finding) Type() string          { return "finding" }
func (Subconscious) Type() string     { return "subconscious" }
func (Escalation) Type() string       { return "escalation" }
func (Resolved) Type() string         { return "resolved" }
func (RunStarted) Type() string       { return "run_started" }
func (RunPaused) Type() string        { return "run_paused" }
func (RunResumed) Type() string       { return "run_resumed" }
func (RunFinished) Type() string      { return "run_finished" }
func (Steer) Type() string            { return "steer" }
func (CallStarted) Type() string      { return "call_started" }
func (CallFinished) Type() string     { return "call_finished" }
func (BudgetSpent) Type() string      { return "budget_spent" }
func (u Unknown) Type() string        { return u.Name }

func (b UserMessage) head() head { return head{Role: "user", Content: b.Content} }
func (b AssistantMessage) head() head {
	return head{Role: "assistant", Content: b.Content, Model: b.Model, Usage: b.Usage}
}
func (b ToolCall) head() head        { return head{Role: "assistant", ToolName: b.Name, ToolArgs: b.Args} }
func (b ToolResult) head() head      { return head{Role: "tool", ToolName: b.Name, ToolResult: b.Result} }
func (b SystemNote) head() head      { return head{Role: "system", Content: b.Content, Reason: b.Reason} }
func (b AttachmentAdded) head() head { return head{Role: "user", Content: b.Content} }
func (b InnerMonologue) head() head {
	return head{Role: "system", Content: b.Content, ToolName: b.Tool, Reason: b.Reason, Model: b.Model}
}
func (b TitleGenerated) head() head  { return head{Content: b.Content} }
func (b Summary) head() head         { return head{Role: "system", Content: b.Content} }
func (b Thought) head() head         { return head{Content: b.Content, Model: b.Model} }
func (b SubQuestion) head() head     { return head{Content: b.Content} }
func (b QuestionUpdated) head() head { return head{Reason: b.Reason} }
func (b Synthesis) head() head       { return head{Content: b.Content, Model: b.Model} }
func (b Plan) head() head            { return head{Content: b.Content, Model: b.Model} }
func (b Evidence) head() head        { return head{Content: b.Content, ToolName: b.Tool} }
func (b Claim) head() head           { return head{Content: b.Content, Reason: b.Reason} }
func (b Progress) head() head        { return head{Content: b.Content} }
func (b Observation) head() head     { return head{Content: b.Content} }
func (b Finding) head() head         { return head{Content: b.Content} }
func (b Subconscious) head() head    { return head{} }
func (b Escalation) head() head {
	return head{Content: b.Content, Reason: b.Reason, Model: b.Model}
}
func (b Resolved) head() head     { return head{Content: b.Content} }
func (b RunStarted) head() head   { return head{Content: b.Input} }
func (b RunPaused) head() head    { return head{Reason: b.Reason} }
func (b RunResumed) head() head   { return head{Reason: b.Reason} }
func (b RunFinished) head() head  { return head{Content: b.Answer, Reason: b.Reason} }
func (b Steer) head() head        { return head{Role: "user", Content: b.Content} }
func (b CallStarted) head() head  { return head{Model: b.Model} }
func (b CallFinished) head() head { return head{Model: b.Model, Usage: &b.Usage} }
func (b BudgetSpent) head() head  { return head{Reason: b.What} }
func (u Unknown) head() head      { return u.Head }

type decoder func(head, json.RawMessage) (Body, error)

// decoders has the decoder of each type. It is constant.
var decoders = map[string]decoder{
	"user_message": decode(func(b *UserMessage, h head) { b.Content = h.Content }),
	"assistant_message": decode(func(b *AssistantMessage, h head) {
		b.Content, b.Model, b.Usage = h.Content, h.Model, h.Usage
	}),
	"tool_call":        decode(func(b *ToolCall, h head) { b.Name, b.Args = h.ToolName, h.ToolArgs }),
	"tool_result":      decode(func(b *ToolResult, h head) { b.Name, b.Result = h.ToolName, h.ToolResult }),
	"system_note":      decode(func(b *SystemNote, h head) { b.Content, b.Reason = h.Content, h.Reason }),
	"attachment_added": decode(func(b *AttachmentAdded, h head) { b.Content = h.Content }),
	"inner_monologue": decode(func(b *InnerMonologue, h head) {
		b.Content, b.Tool, b.Reason, b.Model = h.Content, h.ToolName, h.Reason, h.Model
	}),
	"title_generated":  decode(func(b *TitleGenerated, h head) { b.Content = h.Content }),
	"summary":          decode(func(b *Summary, h head) { b.Content = h.Content }),
	"thought":          decode(func(b *Thought, h head) { b.Content, b.Model = h.Content, h.Model }),
	"sub_question":     decode(func(b *SubQuestion, h head) { b.Content = h.Content }),
	"question_updated": decode(func(b *QuestionUpdated, h head) { b.Reason = h.Reason }),
	"synthesis":        decode(func(b *Synthesis, h head) { b.Content, b.Model = h.Content, h.Model }),
	"plan":             decode(func(b *Plan, h head) { b.Content, b.Model = h.Content, h.Model }),
	"evidence":         decode(func(b *Evidence, h head) { b.Content, b.Tool = h.Content, h.ToolName }),
	"claim":            decode(func(b *Claim, h head) { b.Content, b.Reason = h.Content, h.Reason }),
	"progress":         decode(func(b *Progress, h head) { b.Content = h.Content }),
	"observation":      decode(func(b *Observation, h head) { b.Content = h.Content }),
	"finding":          decode(func(b *Finding, h head) { b.Content = h.Content }),
	"subconscious":     decode(func(b *Subconscious, h head) {}),
	"escalation":       decode(func(b *Escalation, h head) { b.Content, b.Reason, b.Model = h.Content, h.Reason, h.Model }),
	"resolved":         decode(func(b *Resolved, h head) { b.Content = h.Content }),
	"run_started":      decode(func(b *RunStarted, h head) { b.Input = h.Content }),
	"run_paused":       decode(func(b *RunPaused, h head) { b.Reason = h.Reason }),
	"run_resumed":      decode(func(b *RunResumed, h head) { b.Reason = h.Reason }),
	"run_finished":     decode(func(b *RunFinished, h head) { b.Answer, b.Reason = h.Content, h.Reason }),
	"steer":            decode(func(b *Steer, h head) { b.Content = h.Content }),
	"call_started":     decode(func(b *CallStarted, h head) { b.Model = h.Model }),
	"call_finished": decode(func(b *CallFinished, h head) {
		b.Model = h.Model
		if h.Usage != nil {
			b.Usage = *h.Usage
		}
	}),
	"budget_spent": decode(func(b *BudgetSpent, h head) { b.What = h.Reason }),
}

// decode returns the decoder of a type. The function fill sets the fields that are in the head.
func decode[B Body](fill func(*B, head)) decoder {
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
