package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"ponder"
)

func (r *reader) addForeign(l line) error {
	fields, err := l.fields()
	if err != nil {
		return err
	}
	ev := r.convert(fields)
	ev.Seq = ponder.Seq(len(r.Events) + 1)
	whole, err := r.preserve(ev, fields)
	if err != nil {
		return err
	}
	r.Events = append(r.Events, whole)
	return nil
}

// convert returns the event for a line of another program.
func (r *reader) convert(fields map[string]json.RawMessage) ponder.Event {
	ev := r.note(fields)
	name, _ := text(fields["type"])
	content, tool, reason, model := textOrJSON(fields["content"]), textOrJSON(fields["tool_name"]), textOrJSON(fields["reason"]), textOrJSON(fields["model"])
	switch name {
	case "user_message":
		ev.Body = ponder.UserMessage{Content: content}
	case "assistant_message":
		ev.Body = ponder.AssistantMessage{Content: content, Model: model}
	case "tool_call":
		ev.Body = ponder.ToolCall{Name: tool, Args: compact(fields["tool_args"])}
	case "tool_result":
		ev.Body = ponder.ToolResult{Name: tool, Result: textOrJSON(fields["tool_result"])}
	case "system_note":
		ev.Body = ponder.SystemNote{Content: content, Reason: reason}
	case "inner_monologue":
		ev.Body = ponder.InnerMonologue{Content: content, Tool: tool, Reason: reason, Model: model}
	case "attachment_added":
		b := ponder.AttachmentAdded{Content: content}
		b.Name, _ = text(fields["name"])
		b.Media, _ = text(fields["media_type"])
		b.Hash, _ = text(fields["hash"])
		ev.Body = b
	}
	return ev
}

// note returns an event that preserves a line of unknown type.
func (r *reader) note(fields map[string]json.RawMessage) (ev ponder.Event) {
	ev.ID, _ = text(fields["event_id"])
	at, _ := text(fields["ts"])
	var ok bool
	if ev.Time, ok = parseTime(at); !ok {
		ev.Time = r.Thread.Created
		if n := len(r.Events); n > 0 {
			ev.Time = r.Events[n-1].Time
		}
	}
	ev.Internal = string(fields["internal"]) == "true"
	name, _ := text(fields["type"])
	ev.Body = ponder.SystemNote{Content: textOrJSON(fields["content"]), Reason: textOrJSON(fields["reason"]), Foreign: name}
	return ev
}

// text returns a JSON string, or false for another value.
func text(js json.RawMessage) (s string, ok bool) {
	if len(js) == 0 || js[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(js, &s) == nil
}

// textOrJSON returns a JSON string, or another value as compact JSON.
func textOrJSON(js json.RawMessage) string {
	s, ok := text(js)
	if !ok && string(js) != "null" {
		s = string(compact(js))
	}
	return s
}

// compact returns compact JSON, or nil for null.
func compact(js json.RawMessage) json.RawMessage {
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
