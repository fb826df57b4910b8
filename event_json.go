package ponder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"ponder/llm"
)

// timeFormat has microseconds, always six digits, so that times sort as text.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON implements [json.Marshaler].
func (ev Event) MarshalJSON() ([]byte, error) {
	var e EventEncoder
	if err := e.Append(ev); err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// An EventEncoder writes events, and what is stored with them, one behind the
// other into one buffer. The zero EventEncoder is empty. It is not safe for
// concurrent use.
type EventEncoder struct{ w jsonWriter }

// Append adds an event. After an error what it has is of no use.
func (e *EventEncoder) Append(ev Event) error {
	e.w.event(ev)
	if e.w.err != nil {
		return fmt.Errorf("encode %s: %w", ev.Body.Type(), e.w.err)
	}
	return nil
}

// AppendRequest adds a request as the ledger keeps it: as package json writes
// it, but for '<', '>' and '&'.
func (e *EventEncoder) AppendRequest(req *llm.Request) error {
	e.w.request(req)
	if e.w.err != nil {
		return fmt.Errorf("encode request: %w", e.w.err)
	}
	return nil
}

// AppendByte adds a byte between what is added.
func (e *EventEncoder) AppendByte(c byte) { e.w.b = append(e.w.b, c) }

// AppendBytes adds what is JSON already.
func (e *EventEncoder) AppendBytes(p []byte) { e.w.b = append(e.w.b, p...) }

// Bytes returns all that was added. It is the encoder's own until nothing is
// added any more.
func (e *EventEncoder) Bytes() []byte { return e.w.b }

// Len returns how many bytes were added.
func (e *EventEncoder) Len() int { return len(e.w.b) }

// Reset makes the encoder empty, with buf to write to.
func (e *EventEncoder) Reset(buf []byte) { e.w.b, e.w.err = buf[:0], nil }

// event writes an event as one flat object.
func (w *jsonWriter) event(ev Event) {
	h := ev.Body.head()
	w.b = append(w.b, '{')
	w.text("event_id", ev.ID)
	w.text("thread_id", string(ev.Thread))
	w.number("seq", int64(ev.Seq))
	if !ev.Time.IsZero() {
		w.name("ts")
		w.b = append(appendTime(append(w.b, '"'), ev.Time.UTC()), '"')
	}
	w.name("type")
	w.b = appendText(w.b, ev.Body.Type())
	w.text("run_id", string(ev.Run))
	w.text("cause", ev.Cause)
	w.number("after", int64(ev.After))
	w.number("elapsed_ms", ev.Elapsed.Milliseconds())
	w.flag("internal", ev.Internal)
	w.head(&h)
	before := len(w.b)
	w.data(ev.Body)
	if ev.Erased || len(ev.Extra) > 0 {
		w.aside(ev, len(w.b) > before)
	}
	w.b = append(w.b, '}')
}

func (w *jsonWriter) head(h *head) {
	w.text("role", h.Role)
	w.text("content", h.Content)
	w.text("tool_name", h.ToolName)
	w.raw("tool_args", h.ToolArgs)
	w.text("tool_result", h.ToolResult)
	w.text("reason", h.Reason)
	w.text("model", h.Model)
	if h.Usage != nil {
		w.name("usage")
		w.usage(h.Usage)
	}
}

// data writes what else a body has, if there is anything.
func (w *jsonWriter) data(body Body) {
	if u, ok := body.(Unknown); ok {
		w.raw("data", u.Data)
		return
	}
	before := len(w.b)
	w.name("data")
	start := len(w.b)
	if b, ok := body.(appender); ok {
		b.appendTo(w)
	} else {
		w.value(body)
	}
	if string(w.b[start:]) == "{}" {
		w.b = w.b[:before]
	}
}

// flat is an event as it is read.
type flat struct {
	ID       string   `json:"event_id"`
	Thread   ThreadID `json:"thread_id"`
	Seq      Seq      `json:"seq"`
	Time     string   `json:"ts"`
	Type     string   `json:"type"`
	Run      RunID    `json:"run_id"`
	Cause    string   `json:"cause"`
	After    Seq      `json:"after"`
	Elapsed  int64    `json:"elapsed_ms"`
	Internal bool     `json:"internal"`
	head
	Data json.RawMessage `json:"data"`
}

// UnmarshalJSON implements [json.Unmarshaler]. An event of a type this version
// does not know becomes an [Unknown], and loses nothing.
func (ev *Event) UnmarshalJSON(js []byte) error {
	var f flat
	if !f.quick(js) {
		f = flat{}
		if err := json.Unmarshal(js, &f); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
	}
	return ev.decode(&f)
}

// decode makes the event of what was read.
func (ev *Event) decode(f *flat) error {
	if f.Type == "" {
		return fmt.Errorf("decode event %d: it has no type", f.Seq)
	}
	*ev = Event{
		ID: f.ID, Thread: f.Thread, Seq: f.Seq, Run: f.Run, Cause: f.Cause, After: f.After,
		Elapsed: time.Duration(f.Elapsed) * time.Millisecond, Internal: f.Internal,
	}
	if f.Time != "" {
		t, err := time.Parse(time.RFC3339Nano, f.Time)
		if err != nil {
			return fmt.Errorf("decode event %d: ts: %w", f.Seq, err)
		}
		ev.Time = t
	}
	decode, ok := decoders[f.Type]
	if !ok {
		ev.Erased = string(f.Data) == erasedData
		if ev.Erased {
			f.Data = nil
		}
		ev.Body = Unknown{Name: f.Type, Head: f.head, Data: bytes.Clone(f.Data)}
		return nil
	}
	data, err := ev.takeAside(f.Data)
	if err != nil {
		return fmt.Errorf("decode event %d: %s: %w", f.Seq, f.Type, err)
	}
	body, err := decode(f.head, data)
	if err != nil {
		return fmt.Errorf("decode event %d: %s: %w", f.Seq, f.Type, err)
	}
	ev.Body = body
	return nil
}
