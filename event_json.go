package ponder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

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

// A jsonWriter appends JSON to b. It writes what package json does, but leaves
// '<', '>' and '&' as they are, so that data of another version keeps its bytes.
// The first error stays in err.
type jsonWriter struct {
	b   []byte
	enc *json.Encoder // writes to b; made when it is needed
	err error
}

// Write implements [io.Writer], for enc.
func (w *jsonWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// event writes an event as one flat object.
func (w *jsonWriter) event(ev Event) {
	h := ev.Body.head()
	w.b = append(w.b, '{')
	w.text("event_id", ev.ID)
	w.text("thread_id", string(ev.Thread))
	w.number("seq", int64(ev.Seq))
	if !ev.Time.IsZero() {
		w.name("ts")
		w.b = append(w.b, '"')
		w.b = append(ev.Time.UTC().AppendFormat(w.b, timeFormat), '"')
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
		w.value(h.Usage)
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

// request writes a request: what is long by itself, the rest as package json
// does.
func (w *jsonWriter) request(req *llm.Request) {
	rest := *req
	rest.System, rest.Messages = "", nil
	w.b = append(w.b, '{')
	w.text("system", req.System)
	w.name("messages")
	w.messages(req.Messages)
	w.fields(&rest, `{"messages":null`)
}

// fields writes the fields of v behind those that an object has already, and
// ends the object. Skip is how v begins, as far as that is written already.
func (w *jsonWriter) fields(v any, skip string) {
	start := len(w.b)
	w.value(v)
	if w.err != nil {
		return
	}
	rest := w.b[start+len(skip):]
	if rest[0] == '"' {
		w.b[start] = ','
		start++
	}
	w.b = append(w.b[:start], rest...)
}

func (w *jsonWriter) messages(all []llm.Message) {
	if all == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = append(w.b, '[')
	for i, m := range all {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.message(m)
	}
	w.b = append(w.b, ']')
}

// message writes a message; most have nothing but one text.
func (w *jsonWriter) message(m llm.Message) {
	if len(m.Parts) != 1 || m.Parts[0].Text == "" || m.Parts[0] != (llm.Part{Text: m.Parts[0].Text}) {
		w.value(m)
		return
	}
	w.b = appendText(append(w.b, `{"role":`...), string(m.Role))
	w.b = appendText(append(w.b, `,"parts":[{"text":`...), m.Parts[0].Text)
	w.b = append(w.b, `}]}`...)
}

// value writes any value.
func (w *jsonWriter) value(v any) {
	if w.err != nil {
		return
	}
	if w.enc == nil {
		w.enc = json.NewEncoder(w)
		w.enc.SetEscapeHTML(false)
	}
	if w.err = w.enc.Encode(v); w.err == nil {
		w.b = bytes.TrimSuffix(w.b, []byte("\n"))
	}
}

// name begins a field of an object.
func (w *jsonWriter) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// text writes a field, unless it is empty. So do those that follow.
func (w *jsonWriter) text(name, s string) {
	if s != "" {
		w.name(name)
		w.b = appendText(w.b, s)
	}
}

func (w *jsonWriter) number(name string, n int64) {
	if n != 0 {
		w.name(name)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *jsonWriter) flag(name string, set bool) {
	if set {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *jsonWriter) raw(name string, js json.RawMessage) {
	if len(js) > 0 {
		w.name(name)
		w.value(js)
	}
}

const hexDigits = "0123456789abcdef"

// appendText appends a string as JSON.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what comes after it is not appended yet
	for i := 0; i < len(s); {
		if i+8 <= len(s) && isPlain(s[i:i+8]) {
			i += 8
			continue
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + size
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
				from = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = appendEscaped(append(b, s[from:i]...), c)
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// isPlain reports whether eight bytes are printable ASCII without '"' and '\\'.
// It looks at all of them at once: a byte that is not leaves its highest bit set.
func isPlain(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, slash := v^(ones*'"'), v^(ones*'\\')
	return (v|(v-ones*' ')|(quote-ones)|(slash-ones))&tops == 0
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
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
	if err := json.Unmarshal(js, &f); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
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
		ev.Body = Unknown{Name: f.Type, Head: f.head, Data: f.Data}
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
