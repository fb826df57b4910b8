package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"ponder"
)

func (r *reader) addForeign(l line) error {
	fields, err := l.parseFields()
	if err != nil {
		return err
	}
	ev := r.convertEvent(fields)
	ev.Seq = ponder.Seq(len(r.Events) + 1)
	whole, err := r.preserveFields(ev, fields)
	if err != nil {
		return err
	}
	r.Events = append(r.Events, whole)
	return nil
}

// convertEvent returns the event for a line of another program.
func (r *reader) convertEvent(fields map[string]json.RawMessage) ponder.Event {
	ev := r.preserveLine(fields)
	name, _ := jsonText(fields["type"])
	content, tool, reason, model := textOrJSON(fields["content"]), textOrJSON(fields["tool_name"]), textOrJSON(fields["reason"]), textOrJSON(fields["model"])
	switch name {
	case "user_message":
		ev.Body = ponder.UserMessage{Content: content}
	case "assistant_message":
		ev.Body = ponder.AssistantMessage{Content: content, Model: model}
	case "tool_call":
		ev.Body = ponder.ToolCall{Name: tool, Args: compactJSON(fields["tool_args"])}
	case "tool_result":
		ev.Body = ponder.ToolResult{Name: tool, Result: textOrJSON(fields["tool_result"])}
	case "system_note":
		ev.Body = ponder.SystemNote{Content: content, Reason: reason}
	case "inner_monologue":
		ev.Body = ponder.InnerMonologue{Content: content, Tool: tool, Reason: reason, Model: model}
	case "attachment_added":
		b := ponder.AttachmentAdded{Content: content}
		b.Name, _ = jsonText(fields["name"])
		b.Media, _ = jsonText(fields["media_type"])
		b.Hash, _ = jsonText(fields["hash"])
		ev.Body = b
	}
	return ev
}

// preserveLine returns an event that preserves a line of unknown type.
func (r *reader) preserveLine(fields map[string]json.RawMessage) (ev ponder.Event) {
	ev.ID, _ = jsonText(fields["event_id"])
	at, _ := jsonText(fields["ts"])
	var ok bool
	if ev.Time, ok = parseTime(at); !ok {
		ev.Time = r.Thread.Created
		if n := len(r.Events); n > 0 {
			ev.Time = r.Events[n-1].Time
		}
	}
	ev.Internal = string(fields["internal"]) == "true"
	name, _ := jsonText(fields["type"])
	ev.Body = ponder.SystemNote{Content: textOrJSON(fields["content"]), Reason: textOrJSON(fields["reason"]), Foreign: name}
	return ev
}

// jsonText returns a JSON string, or false for another value.
func jsonText(js json.RawMessage) (s string, ok bool) {
	if len(js) == 0 || js[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(js, &s) == nil
}

// textOrJSON returns a JSON string, or another value as compact JSON.
func textOrJSON(js json.RawMessage) string {
	s, ok := jsonText(js)
	if !ok && string(js) != "null" {
		s = string(compactJSON(js))
	}
	return s
}

// compactJSON returns compact JSON, or nil for null.
func compactJSON(js json.RawMessage) json.RawMessage {
	if len(js) == 0 || string(js) == "null" {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, js) != nil {
		return nil
	}
	return b.Bytes()
}

// parseTime parses a time. The default zone is UTC.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		t, err := time.Parse(layout, strings.TrimSpace(s))
		if err == nil && !t.IsZero() && t.UTC().Year() > 0 && t.UTC().Year() < 10_000 {
			return t.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}
