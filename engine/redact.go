package engine

import (
	"encoding/json"
	"slices"

	"ponder"
	"ponder/llm"
)

// redactMessage returns an answer in the form that may be stored: see Redact in
// [ponder.Mode] and [ponder.Tool].
func (e *Engine) redactMessage(mode *ponder.Mode, msg llm.Message) llm.Message {
	if mode != nil && mode.Redact != nil {
		msg = e.redactByMode(mode, msg)
	}
	if !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { return p.Call != nil && e.tools[p.Call.Name].Redact != nil }) {
		return msg
	}
	msg.Parts = slices.Clone(msg.Parts)
	for i, p := range msg.Parts {
		if p.Call != nil && e.tools[p.Call.Name].Redact != nil {
			call := *p.Call
			call.Input = e.redactInput(call.Name, call.Input)
			msg.Parts[i].Call = &call
		}
	}
	return msg
}

// redactByMode applies the Redact of a mode. If Redact panics, the message is empty.
func (e *Engine) redactByMode(mode *ponder.Mode, msg llm.Message) (kept llm.Message) {
	defer func() {
		if p := recover(); p != nil {
			e.Logger.Error("redaction panicked", "mode", mode.Name)
			kept = llm.Message{Role: msg.Role}
		}
	}()
	return mode.Redact(msg)
}

// redactInput applies the Redact of a tool. If Redact panics, the input is empty.
func (e *Engine) redactInput(tool string, input json.RawMessage) (kept json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			e.Logger.Error("redaction panicked", "tool", tool)
			kept = json.RawMessage(`{}`)
		}
	}()
	return e.tools[tool].Redact(input)
}
