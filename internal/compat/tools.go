package compat

import (
	"bytes"
	"encoding/json"
	"ponder/internal/textkit"
)

// SchemaOf returns a value that is to be an object, such as a JSON schema; nil if it is
// left out, or null. It reports whether that is so.
func SchemaOf(js json.RawMessage) (json.RawMessage, bool) {
	js = bytes.TrimSpace(js)
	if len(js) == 0 || string(js) == "null" {
		return nil, true
	}
	return js, js[0] == '{' && json.Valid(js)
}

// CheckChoice returns a fault of a field if the tool that is to be called is none of the
// client's.
func (a Ask) CheckChoice(field string) error {
	switch a.ToolChoice {
	case "", "auto", "none":
		return nil
	case "required":
		if len(a.Tools) == 0 {
			return Wrong(field, "%s: a tool is to be called, and there are none", field)
		}
		return nil
	}
	for _, t := range a.Tools {
		if t.Name == a.ToolChoice {
			return nil
		}
	}
	return Wrong(field, "%s: there is no tool %q among the tools", field, textkit.TruncateBytes(a.ToolChoice, 60))
}
