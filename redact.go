package ponder

import (
	"encoding/json"
	"slices"

	"ponder/llm"
)

// redacted returns what a model wrote as it may be kept: see [Tool.Redact].
func (m *Mind) redacted(msg llm.Message) llm.Message {
	if !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { return p.Call != nil && m.tools[p.Call.Name].Redact != nil }) {
		return msg
	}
	msg.Parts = slices.Clone(msg.Parts)
	for i, p := range msg.Parts {
		if p.Call != nil && m.tools[p.Call.Name].Redact != nil {
			call := *p.Call
			call.Input = m.redact(call.Name, call.Input)
			msg.Parts[i].Call = &call
		}
	}
	return msg
}

// redact applies the Redact of a tool. If that panics, nothing is kept.
func (m *Mind) redact(tool string, input json.RawMessage) (kept json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			m.Logger.Error("redaction panicked", "tool", tool)
			kept = json.RawMessage(`{}`)
		}
	}()
	return m.tools[tool].Redact(input)
}
