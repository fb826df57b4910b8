package engine

import (
	"encoding/json"
	"slices"

	"ponder"
	"ponder/llm"
)

// redacted returns what a model wrote as it may be kept: see [Mode.Redact] and
// [Tool.Redact].
func (m *Engine) redactMessage(mode *ponder.Mode, msg llm.Message) llm.Message {
	if mode != nil && mode.Redact != nil {
		msg = m.redactByMode(mode, msg)
	}
	if !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { return p.Call != nil && m.tools[p.Call.Name].Redact != nil }) {
		return msg
	}
	msg.Parts = slices.Clone(msg.Parts)
	for i, p := range msg.Parts {
		if p.Call != nil && m.tools[p.Call.Name].Redact != nil {
			call := *p.Call
			call.Input = m.redactInput(call.Name, call.Input)
			msg.Parts[i].Call = &call
		}
	}
	return msg
}

// cleaned applies the Redact of a mode. If that panics, nothing is kept.
func (m *Engine) redactByMode(mode *ponder.Mode, msg llm.Message) (kept llm.Message) {
	defer func() {
		if p := recover(); p != nil {
			m.Logger.Error("redaction panicked", "mode", mode.Name)
			kept = llm.Message{Role: msg.Role}
		}
	}()
	return mode.Redact(msg)
}

// redact applies the Redact of a tool. If that panics, nothing is kept.
func (m *Engine) redactInput(tool string, input json.RawMessage) (kept json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			m.Logger.Error("redaction panicked", "tool", tool)
			kept = json.RawMessage(`{}`)
		}
	}()
	return m.tools[tool].Redact(input)
}
