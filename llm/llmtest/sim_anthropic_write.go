package llmtest

import (
	"strconv"

	"ponder/llm"
)

// anthropicFinish is why a message ended, in Anthropic's words.
func anthropicFinish(f llm.Finish) string {
	switch f {
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishTools:
		return "tool_use"
	case llm.FinishFilter:
		return "refusal"
	}
	return "end_turn"
}

// anthropicUsage is the usage of a message, with so many tokens written.
func anthropicUsage(u llm.Usage, output int) map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": map[string]int{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  output, "service_tier": "standard",
	}
}

// anthropicMessageOf is the message with the blocks it has.
func anthropicMessageOf(r *reply, blocks []any, finish any, output int) map[string]any {
	m := map[string]any{
		"model": r.model, "id": "msg_01" + r.id, "type": "message", "role": "assistant", "content": blocks,
		"stop_reason": finish, "stop_sequence": nil,
	}
	if !r.silent {
		m["usage"] = anthropicUsage(r.use, output)
	}
	return m
}

// anthropicWhole writes a message in one piece.
func anthropicWhole(_ *ask, r *reply) []byte {
	blocks := []any{}
	if r.reasoning != "" {
		blocks = append(blocks, map[string]string{"type": "thinking", "thinking": r.reasoning, "signature": r.seal})
	}
	if r.text != "" {
		blocks = append(blocks, map[string]string{"type": "text", "text": r.text})
	}
	for _, c := range r.calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": "toolu_01" + c.ID, "name": c.Name, "input": c.Input})
	}
	return encode(anthropicMessageOf(r, blocks, anthropicFinish(r.finish), r.use.Output))
}

// An anthropicWriter writes the events of a message.
type anthropicWriter struct {
	*stream
	index int // of the block
}

// event writes an event.
func (w *anthropicWriter) event(name, data string) {
	w.buf = sse(append(append(append(w.buf, "event: "...), name...), '\n'), data)
}

// anthropicStream writes a message in events.
func anthropicStream(s *stream, _ *ask, r *reply) {
	w := &anthropicWriter{stream: s}
	w.event("message_start", `{"type":"message_start","message":`+string(encode(anthropicMessageOf(r, []any{}, nil, min(r.use.Output, 1))))+`}`)
	if r.reasoning != "" {
		w.block(`{"type":"thinking","thinking":"","signature":""}`, func() {
			w.text(r.reasoning, w.piece("thinking_delta", "thinking"))
			w.event("content_block_delta", w.at("content_block_delta")+`,"delta":{"type":"signature_delta","signature":"`+r.seal+`"}}`)
		})
	}
	if r.text != "" {
		w.block(`{"type":"text","text":""}`, func() { w.text(r.text, w.piece("text_delta", "text")) })
	}
	for _, c := range r.calls {
		w.block(`{"type":"tool_use","id":"toolu_01`+c.ID+`","name":`+string(quote(nil, c.Name))+`,"input":{}}`, func() { w.input(c) })
	}
	if !s.ends() {
		return
	}
	end := `{"type":"message_delta","delta":{"stop_reason":"` + anthropicFinish(r.finish) + `","stop_sequence":null}`
	if !r.silent {
		end += `,"usage":{"output_tokens":` + strconv.Itoa(r.use.Output) + `}`
	}
	w.event("message_delta", end+"}")
	w.event("message_stop", `{"type":"message_stop"}`)
}

// at is the beginning of an event of the block.
func (w *anthropicWriter) at(typ string) string {
	return `{"type":"` + typ + `","index":` + strconv.Itoa(w.index)
}

// block writes a content block.
func (w *anthropicWriter) block(start string, inside func()) {
	if w.over {
		return
	}
	w.event("content_block_start", w.at("content_block_start")+`,"content_block":`+start+`}`)
	if w.index == 0 {
		w.event("ping", `{"type": "ping"}`)
	}
	inside()
	if w.over {
		return
	}
	w.event("content_block_stop", w.at("content_block_stop")+`}`)
	w.index++
}

// piece writes pieces of a text as events.
func (w *anthropicWriter) piece(typ, field string) func(string) bool {
	head := "event: content_block_delta\ndata: " + w.at("content_block_delta") + `,"delta":{"type":"` + typ + `","` + field + `":`
	return func(p string) bool {
		w.buf = append(quote(append(w.buf, head...), p), "}}\n\n"...)
		return !w.over
	}
}

func (w *anthropicWriter) input(c llm.ToolCall) {
	write := w.piece("input_json_delta", "partial_json")
	write("")
	for p := range pieces(string(c.Input), w.x.config.Chunks, false) {
		write(p)
	}
	w.stream.delta(len(c.Name)/4 + len(c.Input)/4 + 8)
}
