package openai

import "ponder/llm/internal/wire"

// encode writes the body of a request. Chat requests write what is long by
// themselves, byte for byte as [wire.Body] would.
func encode(body any) ([]byte, error) {
	r, ok := body.(*chatRequest)
	if !ok || len(r.Messages) == 0 {
		return wire.Body(body)
	}
	const end = `"messages":null}`
	rest := *r
	rest.Messages = nil
	f := r.lastFormat()
	if f != nil {
		rest.Format = nil
	}
	head, err := wire.Body(&rest)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(head)+r.size())
	b = append(b, head[:len(head)-len(end)]...)
	if f != nil {
		b = append(f.appendTo(b), ',')
	}
	b = append(b, `"messages":[`...)
	for i := range r.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = r.Messages[i].appendTo(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']', '}'), nil
}

// lastFormat returns the schema of a request, if nothing but messages is written
// behind it and it was written before; else nil.
func (r *chatRequest) lastFormat() *namedShape {
	if r.ToolChoice != nil || r.Tools != nil || r.Format == nil || r.Format.Schema == nil || r.Format.Schema.written == nil {
		return nil
	}
	return r.Format.Schema
}

// size returns about how long the schema and the messages are, in bytes.
func (r *chatRequest) size() int {
	n := 256
	if f := r.lastFormat(); f != nil {
		n += len(f.written) + len(f.Doc)
	}
	for _, m := range r.Messages {
		text, _ := m.Content.(string)
		n += len(text) + len(text)/16 + 64
	}
	return n
}

// appendTo appends the field of a schema.
func (s *namedShape) appendTo(b []byte) []byte {
	b = wire.AppendText(append(b, `"response_format":{"type":"json_schema","json_schema":{"name":`...), s.Name)
	if s.Doc != "" {
		b = wire.AppendText(append(b, `,"description":`...), s.Doc)
	}
	b = append(append(b, `,"schema":`...), s.written...)
	if s.Strict {
		return append(b, `,"strict":true}}`...)
	}
	return append(b, `,"strict":false}}`...)
}

// appendTo appends a message; most are nothing but one text.
func (m *message) appendTo(b []byte) ([]byte, error) {
	text, ok := m.Content.(string)
	if !ok || m.ReasoningContent != "" || m.Reasoning != "" || m.CallID != "" || len(m.Details) > 0 || len(m.Calls) > 0 {
		js, err := wire.Body(m)
		return append(b, js...), err
	}
	b = wire.AppendText(append(b, `{"role":`...), m.Role)
	b = wire.AppendText(append(b, `,"content":`...), text)
	return append(b, '}'), nil
}
