package ponder

import "ponder/llm"

// erasedText replaces the text of an erased error.
const erasedText = "erased"

// WithoutContent returns the event as a store keeps it after its content is erased: without
// texts. Its place, id, time, run, cause and type stay. Its body keeps the fields that the
// fold of the thread needs, and numbers: modes, statuses, models, costs, numbers of
// thoughts and ids of questions. The thread therefore continues, and the engine repeats no
// action.
func (ev Event) WithoutContent() Event {
	ev.Erased, ev.Extra = true, nil
	ev.Body = ev.Body.withoutContent()
	return ev
}

func (o Outcome) withoutContent() Outcome {
	if o.Error != "" {
		o.Error = erasedText
	}
	return o
}

func (UserMessage) withoutContent() Body { return UserMessage{} }
func (b AssistantMessage) withoutContent() Body {
	return AssistantMessage{Model: b.Model, Usage: b.Usage}
}
func (b ToolCall) withoutContent() Body { return ToolCall{Name: b.Name} }
func (b ToolResult) withoutContent() Body {
	return ToolResult{Name: b.Name, Untrusted: b.Untrusted, Outcome: b.Outcome.withoutContent()}
}
func (b ApprovalRequested) withoutContent() Body {
	return ApprovalRequested{Tool: b.Tool, Expires: b.Expires}
}
func (b SystemNote) withoutContent() Body {
	return SystemNote{Foreign: b.Foreign, From: b.From, At: b.At}
}
func (b AttachmentAdded) withoutContent() Body {
	return AttachmentAdded{Media: b.Media, Bytes: b.Bytes}
}
func (b InnerMonologue) withoutContent() Body {
	return InnerMonologue{Tool: b.Tool, Model: b.Model, ReadTo: b.ReadTo, Trigger: b.Trigger, Condenses: b.Condenses, Older: b.Older}
}
func (TitleGenerated) withoutContent() Body { return TitleGenerated{} }
func (b Summary) withoutContent() Body      { return Summary{From: b.From, To: b.To} }

func (b Thought) withoutContent() Body {
	return Thought{
		Number: b.Number, Kind: b.Kind, Confidence: b.Confidence, Importance: b.Importance, Question: b.Question,
		WithoutModel: b.WithoutModel, Assumed: b.Assumed, Offset: b.Offset, Model: b.Model,
	}
}
func (b SubQuestion) withoutContent() Body {
	return SubQuestion{ID: b.ID, Parent: b.Parent, Priority: b.Priority, By: b.By, WithoutModel: b.WithoutModel, Offset: b.Offset}
}
func (b QuestionUpdated) withoutContent() Body {
	return QuestionUpdated{ID: b.ID, Priority: b.Priority, Explored: b.Explored, Dropped: b.Dropped, Reopened: b.Reopened}
}
func (b Synthesis) withoutContent() Body {
	return Synthesis{
		Number: b.Number, Confidence: b.Confidence, Trend: b.Trend, Basis: b.Basis, Final: b.Final,
		WithoutModel: b.WithoutModel, Refused: b.Refused, Assumed: b.Assumed, Offset: b.Offset, Model: b.Model,
	}
}

func (Plan) withoutContent() Body { return Plan{} }
func (b Evidence) withoutContent() Body {
	return Evidence{ID: b.ID, Tool: b.Tool, Untrusted: b.Untrusted}
}
func (b Claim) withoutContent() Body { return Claim{Verdict: b.Verdict} }
func (b Progress) withoutContent() Body {
	return Progress{
		Stage: b.Stage, Step: b.Step, Total: b.Total, Iteration: b.Iteration, Confidence: b.Confidence,
		Ref: b.Ref, Refused: b.Refused, Cancelled: b.Cancelled, Thoughts: b.Thoughts,
	}
}

func (b Observation) withoutContent() Body {
	return Observation{Sensor: b.Sensor, Level: b.Level, Untrusted: b.Untrusted}
}
func (b Finding) withoutContent() Body {
	return Finding{By: b.By, Kind: b.Kind, Importance: b.Importance, Observations: b.Observations, Untrusted: b.Untrusted, MergeResult: b.MergeResult, Entry: b.Entry}
}
func (b Subconscious) withoutContent() Body { return Subconscious{Tick: b.Tick} }
func (b Escalation) withoutContent() Body {
	return Escalation{
		ID: b.ID, Importance: b.Importance, Outcome: b.Outcome, Entries: b.Entries, Observations: b.Observations, Untrusted: b.Untrusted, WithoutModel: b.WithoutModel, Model: b.Model,
	}
}
func (b Resolution) withoutContent() Body {
	return Resolution{Ref: b.Ref, Outcome: b.Outcome, As: b.As}
}

func (b RunStarted) withoutContent() Body {
	return RunStarted{Mode: b.Mode, Version: b.Version, Budget: b.Budget}
}
func (RunPaused) withoutContent() Body  { return RunPaused{} }
func (RunResumed) withoutContent() Body { return RunResumed{} }
func (b RunFinished) withoutContent() Body {
	return RunFinished{Status: b.Status, End: b.End, Confidence: b.Confidence, Spent: b.Spent}
}

// The arguments of SetBudget stay, because the engine needs them.
func (b Steer) withoutContent() Body {
	bare := Steer{Do: b.Do, Group: b.Group, Undoes: b.Undoes}
	if b.Do == SetBudget {
		bare.Args = b.Args
	}
	if b.Call != nil {
		call := *b.Call
		call.Error = Outcome{Error: call.Error}.withoutContent().Error
		bare.Call = &call
	}
	return bare
}
func (b CallStarted) withoutContent() Body {
	b.Request = nil
	return b
}
func (b CallFinished) withoutContent() Body {
	b.Message, b.Outcome = llm.Message{}, b.Outcome.withoutContent()
	return b
}
func (b BudgetSpent) withoutContent() Body { return b }
func (u Unknown) withoutContent() Body     { return Unknown{Name: u.Name} }
