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
	ev.Body = ev.Body.erased()
	return ev
}

func (o Outcome) erased() Outcome {
	if o.Error != "" {
		o.Error = erasedText
	}
	return o
}

func (UserMessage) erased() Body        { return UserMessage{} }
func (b AssistantMessage) erased() Body { return AssistantMessage{Model: b.Model, Usage: b.Usage} }
func (b ToolCall) erased() Body         { return ToolCall{Name: b.Name} }
func (b ToolResult) erased() Body {
	return ToolResult{Name: b.Name, Untrusted: b.Untrusted, Outcome: b.Outcome.erased()}
}
func (b SystemNote) erased() Body {
	return SystemNote{Foreign: b.Foreign, From: b.From, At: b.At}
}
func (b AttachmentAdded) erased() Body { return AttachmentAdded{Media: b.Media, Bytes: b.Bytes} }
func (b InnerMonologue) erased() Body {
	return InnerMonologue{Tool: b.Tool, Model: b.Model, ReadTo: b.ReadTo, Trigger: b.Trigger, Condenses: b.Condenses, Older: b.Older}
}
func (TitleGenerated) erased() Body { return TitleGenerated{} }
func (b Summary) erased() Body      { return Summary{From: b.From, To: b.To} }

func (b Thought) erased() Body {
	return Thought{
		Number: b.Number, Kind: b.Kind, Confidence: b.Confidence, Importance: b.Importance, Question: b.Question,
		Unaided: b.Unaided, Assumed: b.Assumed, Offset: b.Offset, Model: b.Model,
	}
}
func (b SubQuestion) erased() Body {
	return SubQuestion{ID: b.ID, Parent: b.Parent, Priority: b.Priority, By: b.By, Unaided: b.Unaided, Offset: b.Offset}
}
func (b QuestionUpdated) erased() Body {
	return QuestionUpdated{ID: b.ID, Priority: b.Priority, Explored: b.Explored, Dropped: b.Dropped}
}
func (b Synthesis) erased() Body {
	return Synthesis{
		Number: b.Number, Confidence: b.Confidence, Trend: b.Trend, Basis: b.Basis, Final: b.Final,
		Unaided: b.Unaided, Assumed: b.Assumed, Offset: b.Offset, Model: b.Model,
	}
}

func (Plan) erased() Body       { return Plan{} }
func (b Evidence) erased() Body { return Evidence{ID: b.ID, Tool: b.Tool, Untrusted: b.Untrusted} }
func (b Claim) erased() Body    { return Claim{Verdict: b.Verdict} }
func (b Progress) erased() Body {
	return Progress{
		Stage: b.Stage, Step: b.Step, Total: b.Total, Iteration: b.Iteration, Confidence: b.Confidence,
		Ref: b.Ref, Refused: b.Refused, Cancelled: b.Cancelled, Thoughts: b.Thoughts,
	}
}

func (b Observation) erased() Body {
	return Observation{Sensor: b.Sensor, Level: b.Level, Untrusted: b.Untrusted}
}
func (b Finding) erased() Body {
	return Finding{By: b.By, Kind: b.Kind, Importance: b.Importance, Rests: b.Rests, Untrusted: b.Untrusted, Became: b.Became, Entry: b.Entry}
}
func (b Subconscious) erased() Body { return Subconscious{Tick: b.Tick} }
func (b Escalation) erased() Body {
	return Escalation{
		ID: b.ID, Importance: b.Importance, Outcome: b.Outcome, Entries: b.Entries, Rests: b.Rests, Untrusted: b.Untrusted, Unaided: b.Unaided, Model: b.Model,
	}
}
func (b Resolved) erased() Body { return Resolved{Ref: b.Ref, Outcome: b.Outcome, As: b.As} }

func (b RunStarted) erased() Body {
	return RunStarted{Mode: b.Mode, Version: b.Version, Budget: b.Budget}
}
func (RunPaused) erased() Body  { return RunPaused{} }
func (RunResumed) erased() Body { return RunResumed{} }
func (b RunFinished) erased() Body {
	return RunFinished{Status: b.Status, Confidence: b.Confidence, Spent: b.Spent}
}

// The arguments of SetBudget stay, because the engine needs them.
func (b Steer) erased() Body {
	if b.Do == SetBudget {
		return Steer{Do: b.Do, Args: b.Args}
	}
	return Steer{Do: b.Do}
}
func (b CallStarted) erased() Body {
	b.Request = nil
	return b
}
func (b CallFinished) erased() Body {
	b.Message, b.Outcome = llm.Message{}, b.Outcome.erased()
	return b
}
func (b BudgetSpent) erased() Body { return b }
func (u Unknown) erased() Body     { return Unknown{Name: u.Name} }
