package httpapi

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/stream"
)

// An Event is an event of a thread as it is stored.
type Event json.RawMessage

// eventOf returns an event as it is shown.
func eventOf(ev ponder.Event) (Event, error) {
	js, err := stream.Shown(ev).MarshalJSON()
	return Event(js), err
}

// MarshalJSON implements [json.Marshaler].
func (e Event) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	return e, nil
}

// Schema implements [huma.SchemaProvider].
func (Event) Schema(huma.Registry) *huma.Schema {
	text := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
	number := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Description: doc}
	}
	anything := func(doc string) *huma.Schema { return &huma.Schema{Description: doc} }
	return &huma.Schema{
		Type: huma.TypeObject, Description: "An event of a thread, as the log has it. What does not apply is missing.", AdditionalProperties: true,
		Required: []string{"event_id", "thread_id", "seq", "ts", "type"},
		Properties: map[string]*huma.Schema{
			"event_id": text("its id"), "thread_id": text("the thread"), "seq": number("its place in the thread, from 1"),
			"ts": {Type: huma.TypeString, Format: "date-time", Description: "when it was written"}, "type": text("user_message, assistant_message, thought, synthesis, ..."),
			"run_id": text("the run that it is of"), "cause": text("what wrote it"), "elapsed_ms": number("thinking time of the thread"),
			"role": text("who says it"), "content": text("what is said"), "tool_name": text("the tool"), "tool_args": anything("what the tool was given"),
			"tool_result": text("what the tool came to"), "reason": text("why"), "model": text("the model"), "usage": anything("tokens"), "data": anything("what else events of its type have"),
		},
	}
}
