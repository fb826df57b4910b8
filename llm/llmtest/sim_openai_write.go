package llmtest

import (
	"strconv"

	"ponder/llm"
)

// openaiFinish is why an answer ended, in OpenAI's words.
func openaiFinish(f llm.Finish) string { return string(f) }

// openaiUsage is the usage of a chat completion.
func openaiUsage(u llm.Usage) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details": map[string]int{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": map[string]int{
			"reasoning_tokens": u.Reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
		},
	}
}

// chatWhole writes a chat completion in one piece.
func chatWhole(_ *ask, r *reply) []byte {
	message := map[string]any{"role": "assistant", "content": r.text, "refusal": nil, "annotations": []any{}}
	if len(r.calls) > 0 {
		calls := make([]any, len(r.calls))
		for i, c := range r.calls {
			calls[i] = map[string]any{
				"id": "call_" + c.ID, "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": string(c.Input)},
			}
		}
		message["tool_calls"] = calls
		if r.text == "" {
			message["content"] = nil
		}
	}
	if r.reasoning != "" {
		message["reasoning_content"] = r.reasoning
	}
	v := map[string]any{
		"id": "chatcmpl-" + r.id, "object": "chat.completion", "created": r.created.Unix(), "model": r.model,
		"choices":      []any{map[string]any{"index": 0, "message": message, "finish_reason": openaiFinish(r.finish)}},
		"service_tier": "default", "system_fingerprint": nil,
	}
	if !r.silent {
		v["usage"] = openaiUsage(r.use)
	}
	return encode(v)
}

// A chatWriter writes the chunks of a chat completion.
type chatWriter struct {
	*stream
	head, tail string
}

// chatStream writes a chat completion in chunks.
func chatStream(s *stream, a *ask, r *reply) {
	w := chatWriter{stream: s, head: `data: {"id":"chatcmpl-` + r.id + `","object":"chat.completion.chunk","created":` +
		strconv.FormatInt(r.created.Unix(), 10) + `,"model":` + string(quote(nil, r.model)) +
		`,"service_tier":"default","system_fingerprint":null,"choices":[`}
	w.tail = ",\"obfuscation\":\"" + r.id[:8] + "\"}\n\n"
	if a.usage {
		w.tail = `,"usage":null` + w.tail
	}
	if len(r.calls) > 0 && r.text == "" {
		w.delta(`"role":"assistant","content":null`)
	} else {
		w.delta(`"role":"assistant","content":"","refusal":null`)
	}
	s.text(r.reasoning, w.piece("reasoning_content"))
	s.text(r.text, w.piece("content"))
	for i, c := range r.calls {
		w.call(i, c)
	}
	if !s.ends() {
		return
	}
	w.chunk(`{"index":0,"delta":{},"finish_reason":"` + openaiFinish(r.finish) + `"}`)
	if a.usage && !r.silent {
		s.buf = append(append(s.buf, w.head...), `],"usage":`...)
		s.buf = append(append(s.buf, encode(openaiUsage(r.use))...), "}\n\n"...)
	}
	s.buf = append(s.buf, "data: [DONE]\n\n"...)
}

func (w chatWriter) chunk(choice string) {
	w.buf = append(append(append(append(w.buf, w.head...), choice...), ']'), w.tail...)
}

func (w chatWriter) delta(fields string) {
	w.chunk(`{"index":0,"delta":{` + fields + `},"finish_reason":null}`)
}

// piece writes pieces of text in a field.
func (w chatWriter) piece(field string) func(string) bool {
	return func(p string) bool {
		b := append(append(append(append(w.buf, w.head...), `{"index":0,"delta":{"`...), field...), `":`...)
		w.buf = append(append(quote(b, p), `},"finish_reason":null}]`...), w.tail...)
		return !w.over
	}
}

// call writes a call of a tool: its name, then its arguments in pieces.
func (w chatWriter) call(i int, c llm.ToolCall) {
	index := `"tool_calls":[{"index":` + strconv.Itoa(i)
	w.delta(index + `,"id":"call_` + c.ID + `","type":"function","function":{"name":` + string(quote(nil, c.Name)) + `,"arguments":""}}]`)
	for p := range pieces(string(c.Input), w.x.config.Chunks, false) {
		w.delta(index + `,"function":{"arguments":` + string(quote(nil, p)) + `}}]`)
	}
	w.stream.delta(len(c.Name)/4 + len(c.Input)/4 + 8)
}
