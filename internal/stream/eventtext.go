package stream

import (
	"encoding/json"
	"slices"

	"ponder"
	"ponder/internal/toolname"
	"ponder/llm"
)

// An eventMapper changes the texts of events by their authors. Texts of users, and tools of clients,
// stay as they are.
type eventMapper struct {
	written func(string) string                   // text of a model
	message func(llm.Message) llm.Message         // answer of a model
	state   func(json.RawMessage) json.RawMessage // JSON with texts of models, of a subconscious
	source  func(string) string                   // name of a source
	program func(string) string                   // text of the program, which may name files
	sources func(json.RawMessage) json.RawMessage // JSON that may name sources
}

// mapBody returns a body with changed texts. It changes no slice of the body.
func (m eventMapper) mapBody(body ponder.Body) ponder.Body {
	switch b := body.(type) {
	case ponder.AssistantMessage:
		b.Content, b.Untrusted = m.written(b.Content), slices.Clone(b.Untrusted)
		for i, s := range b.Untrusted {
			b.Untrusted[i].Source = m.source(s.Source)
		}
		return b
	case ponder.CallFinished:
		b.Message = m.message(b.Message)
		return b
	case ponder.ToolCall:
		if readsSources(b.Name) {
			b.Args = m.sources(b.Args)
		}
		return b
	case ponder.ToolResult:
		if readsSources(b.Name) {
			b.Result, b.Error = string(m.sources(json.RawMessage(b.Result))), m.program(b.Error)
		}
		return b
	case ponder.ApprovalRequested:
		b.Untrusted = mapAll(b.Untrusted, m.source)
		return b
	case ponder.InnerMonologue:
		b.Content, b.Sources = m.written(b.Content), mapAll(b.Sources, m.source)
		return b
	case ponder.TitleGenerated:
		b.Content = m.written(b.Content)
		return b
	case ponder.Summary:
		b.Content = m.written(b.Content)
		return b
	case ponder.SystemNote:
		b.Content, b.Reason = m.program(b.Content), m.program(b.Reason)
		return b
	case ponder.Progress:
		b.Content, b.Undo = m.program(b.Content), slices.Clone(b.Undo)
		for i, step := range b.Undo {
			b.Undo[i].Args = m.sources(step.Args)
		}
		return b
	}
	return m.mapWorkBody(body)
}

// mapWorkBody is mapBody for bodies of runs: sessions, research and the subconscious.
func (m eventMapper) mapWorkBody(body ponder.Body) ponder.Body {
	switch b := body.(type) {
	case ponder.RunStarted:
		b.Options = m.sources(b.Options)
		return b
	case ponder.RunFinished:
		b.Answer, b.Reason = m.written(b.Answer), m.program(b.Reason)
		return b
	case ponder.Steer:
		b.Args = m.sources(b.Args)
		if b.Do == ponder.Cancel { // a cancelled turn keeps its text there
			b.Content = m.written(b.Content)
		}
		return b
	case ponder.Thought:
		b.Content, b.Focus = m.written(b.Content), m.written(b.Focus)
		return b
	case ponder.SubQuestion:
		b.Content, b.Why = m.written(b.Content), m.written(b.Why)
		return b
	case ponder.QuestionUpdated:
		b.Insights = m.written(b.Insights)
		return b
	case ponder.Synthesis:
		b.Content, b.Insights, b.Remaining = m.written(b.Content), mapAll(b.Insights, m.written), mapAll(b.Remaining, m.written)
		return b
	case ponder.Plan:
		b.Content, b.Steps = m.written(b.Content), mapAll(b.Steps, m.written)
		return b
	case ponder.Claim:
		b.Content = m.written(b.Content)
		return b
	case ponder.Evidence:
		b.Source, b.Title = m.source(b.Source), m.source(b.Title)
		return b
	case ponder.Observation:
		if name := m.source(b.Source); name != b.Source {
			b.Content, b.Source, b.Subject = m.program(b.Content), name, m.source(b.Subject)
		}
		return b
	case ponder.Finding:
		b.Content = m.written(b.Content)
		return b
	case ponder.Escalation:
		b.Content, b.Sources = m.written(b.Content), mapAll(b.Sources, m.source)
		return b
	case ponder.Subconscious:
		b.State, b.Changes = m.state(b.State), m.state(b.Changes)
		return b
	case ponder.Resolution:
		b.State = m.state(b.State)
		return b
	}
	return body
}

func readsSources(tool string) bool {
	switch tool {
	case toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory:
		return true
	}
	return false
}

func mapAll(list []string, change func(string) string) []string {
	list = slices.Clone(list)
	for i, s := range list {
		list[i] = change(s)
	}
	return list
}

func same[T any](v T) T { return v }
