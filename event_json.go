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

// A record is an event as one flat object. The fields of its body are in the head and in data.
type record struct {
	ID       string   `json:"event_id,omitempty"`
	Thread   ThreadID `json:"thread_id,omitempty"`
	Seq      Seq      `json:"seq,omitempty"`
	Time     string   `json:"ts,omitempty"`
	Type     string   `json:"type"`
	Run      RunID    `json:"run_id,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	After    Seq      `json:"after,omitempty"`
	Elapsed  int64    `json:"elapsed_ms,omitempty"`
	Internal bool     `json:"internal,omitempty"`
	head
	Data json.RawMessage `json:"data,omitempty"` // last: see [EventEncoder.Append]
}

// MarshalJSON implements [json.Marshaler].
func (ev Event) MarshalJSON() ([]byte, error) {
	var e EventEncoder
	if err := e.Append(ev); err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// An EventEncoder appends the JSON of events and requests to one buffer. The zero
// EventEncoder is empty. It is not safe for concurrent use.
type EventEncoder struct {
	buf appender
	enc *json.Encoder // writes to buf; does not escape '<', '>' and '&', so that data of another version keeps its bytes
}

// An appender is a buffer that callers can truncate.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// appendValue appends v as JSON.
func (e *EventEncoder) appendValue(v any) error {
	if e.enc == nil {
		e.enc = json.NewEncoder(&e.buf)
		e.enc.SetEscapeHTML(false)
	}
	if err := e.enc.Encode(v); err != nil {
		return err
	}
	e.buf.b = bytes.TrimSuffix(e.buf.b, []byte("\n"))
	return nil
}

// Append appends an event. After an error the content of the encoder is undefined.
func (e *EventEncoder) Append(ev Event) error {
	if err := e.appendEvent(ev); err != nil {
		return fmt.Errorf("encode %s: %w", ev.Body.Type(), err)
	}
	return nil
}

func (e *EventEncoder) appendEvent(ev Event) error {
	r := record{
		ID: ev.ID, Thread: ev.Thread, Seq: ev.Seq, Type: ev.Body.Type(), Run: ev.Run, Cause: ev.Cause, After: ev.After,
		Elapsed: ev.Elapsed.Milliseconds(), Internal: ev.Internal, head: ev.Body.headFields(),
	}
	if !ev.Time.IsZero() {
		r.Time = ev.Time.UTC().Format(timeFormat)
	}
	if err := e.appendValue(&r); err != nil {
		return err
	}
	end := len(e.buf.b) - 1 // of the record; data continues it
	e.buf.b = append(e.buf.b[:end], `,"data":`...)
	start := len(e.buf.b)
	if err := e.appendData(ev); err != nil {
		return err
	}
	if data := e.buf.b[start:]; len(data) == 0 || string(data) == "{}" {
		e.buf.b = e.buf.b[:end]
	}
	e.buf.b = append(e.buf.b, '}')
	return nil
}

// appendData appends the fields of a body that are not in its head, and Extra and Erased.
func (e *EventEncoder) appendData(ev Event) error {
	start := len(e.buf.b)
	var body any = ev.Body
	if u, ok := body.(Unknown); ok {
		body = u.Data
	}
	if js, ok := body.(json.RawMessage); !ok || len(js) > 0 {
		if err := e.appendValue(body); err != nil {
			return err
		}
	}
	if !ev.Erased && len(ev.Extra) == 0 {
		return nil
	}
	if len(e.buf.b) == start {
		e.buf.b = append(e.buf.b, "{}"...)
	}
	return e.appendExtra(ev)
}

// AppendRequest appends a request in the form of the ledger: as package json writes it, but
// without escaping '<', '>' and '&'.
func (e *EventEncoder) AppendRequest(req *llm.Request) error {
	if err := e.appendValue(req); err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return nil
}

func (e *EventEncoder) AppendByte(c byte) { e.buf.b = append(e.buf.b, c) }

// AppendBytes appends JSON.
func (e *EventEncoder) AppendBytes(p []byte) { e.buf.b = append(e.buf.b, p...) }

// Bytes returns the content. It is valid until the next call of another method.
func (e *EventEncoder) Bytes() []byte { return e.buf.b }

// Len returns the length of the content in bytes.
func (e *EventEncoder) Len() int { return len(e.buf.b) }

// Reset empties the encoder and makes buf its buffer.
func (e *EventEncoder) Reset(buf []byte) { e.buf.b = buf[:0] }

// UnmarshalJSON implements [json.Unmarshaler]. It decodes an event of an unknown type to an
// [Unknown], which keeps all fields.
func (ev *Event) UnmarshalJSON(js []byte) error {
	var r record
	if err := json.Unmarshal(js, &r); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	return ev.decodeRecord(&r)
}

// decodeRecord sets the event from a record.
func (ev *Event) decodeRecord(r *record) error {
	if r.Type == "" {
		return fmt.Errorf("decode event %d: no type", r.Seq)
	}
	*ev = Event{
		ID: r.ID, Thread: r.Thread, Seq: r.Seq, Run: r.Run, Cause: r.Cause, After: r.After,
		Elapsed: time.Duration(r.Elapsed) * time.Millisecond, Internal: r.Internal,
	}
	if r.Time != "" {
		t, err := time.Parse(time.RFC3339Nano, r.Time)
		if err != nil {
			return fmt.Errorf("decode event %d: ts: %w", r.Seq, err)
		}
		ev.Time = t
	}
	decode, ok := decoders[r.Type]
	if !ok {
		ev.Erased = string(r.Data) == erasedData
		if ev.Erased {
			r.Data = nil
		}
		ev.Body = Unknown{Name: r.Type, Head: r.head, Data: bytes.Clone(r.Data)}
		return nil
	}
	data, err := ev.takeExtra(r.Data)
	if err != nil {
		return fmt.Errorf("decode event %d: %s: %w", r.Seq, r.Type, err)
	}
	body, err := decode(r.head, data)
	if err != nil {
		return fmt.Errorf("decode event %d: %s: %w", r.Seq, r.Type, err)
	}
	ev.Body = body
	return nil
}
