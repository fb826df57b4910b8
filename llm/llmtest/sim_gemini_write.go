package llmtest

import (
	"strings"

	"ponder/llm"
)

func geminiFinish(f llm.Finish) string {
	switch f {
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishFilter:
		return "SAFETY"
	}
	return "STOP"
}

// geminiUsage returns cumulative counts.
func geminiUsage(u llm.Usage, written int) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	m := map[string]any{
		"promptTokenCount": in, "candidatesTokenCount": written, "totalTokenCount": in + written + u.Reasoning,
		"promptTokensDetails": []any{map[string]any{"modality": "TEXT", "tokenCount": in}},
	}
	if u.Reasoning != 0 {
		m["thoughtsTokenCount"] = u.Reasoning
	}
	if u.CacheRead != 0 {
		m["cachedContentTokenCount"] = u.CacheRead
	}
	return m
}

func geminiChunk(r *reply, parts []any, finish string, written int) map[string]any {
	candidate := map[string]any{"content": map[string]any{"parts": parts, "role": "model"}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	v := map[string]any{"candidates": []any{candidate}, "modelVersion": r.model, "responseId": r.id[:22]}
	if !r.silent {
		v["usageMetadata"] = geminiUsage(r.usage, written)
	}
	return v
}

func geminiThought(text string) map[string]any { return map[string]any{"text": text, "thought": true} }

// geminiCall returns the part for call i; the first one is signed.
func geminiCall(r *reply, i int) map[string]any {
	c := r.calls[i]
	part := map[string]any{"functionCall": map[string]any{"name": c.Name, "args": c.Input, "id": strings.ToLower(c.ID[:8])}}
	if i == 0 {
		part["thoughtSignature"] = r.seal
	}
	return part
}

func geminiBlocked(r *reply) []byte {
	return encodeJSON(map[string]any{
		"promptFeedback": map[string]string{"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": geminiUsage(r.usage, 0),
		"modelVersion": r.model, "responseId": r.id[:22],
	})
}

func geminiWhole(_ *parsedRequest, r *reply) []byte {
	if r.behaviours.hasBehaviour(FilteredPrompt) {
		return geminiBlocked(r)
	}
	var parts []any
	if r.reasoning != "" {
		parts = append(parts, geminiThought(r.reasoning))
	}
	if r.text != "" {
		part := map[string]any{"text": r.text}
		if r.seal != "" {
			part["thoughtSignature"] = r.seal
		}
		parts = append(parts, part)
	}
	for i := range r.calls {
		parts = append(parts, geminiCall(r, i))
	}
	return encodeJSON(geminiChunk(r, parts, geminiFinish(r.finish), r.usage.Output-r.usage.Reasoning))
}

// A geminiWriter writes events or array elements.
type geminiWriter struct {
	*stream
	array   bool
	chunks  int
	written int // tokens
}

func (w *geminiWriter) writeChunk(body []byte) {
	switch {
	case !w.array:
		w.buf = append(append(append(w.buf, "data: "...), body...), "\r\n\r\n"...)
	case w.chunks == 0:
		w.buf = append(append(w.buf, '['), body...)
	default:
		w.buf = append(append(w.buf, ",\r\n"...), body...)
	}
	w.chunks++
}

func geminiStream(s *stream, _ *parsedRequest, r *reply) { (&geminiWriter{stream: s}).writeAnswer(r) }

// geminiArrayDialect streams an array, as Gemini does without alt=sse.
func geminiArrayDialect() *dialect {
	d := geminiDialect()
	d.contentType, d.garbage, d.comment = "application/json; charset=UTF-8", `,{"candidates": [{`, "\r\n"
	d.stream = func(s *stream, _ *parsedRequest, r *reply) { (&geminiWriter{stream: s, array: true}).writeAnswer(r) }
	return d
}

func (w *geminiWriter) writeAnswer(r *reply) {
	if r.behaviours.hasBehaviour(FilteredPrompt) {
		w.writeChunk(geminiBlocked(r))
		w.close()
		return
	}
	w.eachPiece(r.reasoning, func(p string) bool {
		w.writeChunk(encodeJSON(geminiChunk(r, []any{geminiThought(p)}, "", 0)))
		return !w.ended
	})
	w.eachPiece(r.text, func(p string) bool {
		if w.written += countPieces(p); r.behaviours.hasBehaviour(UsageNegative) || r.behaviours.hasBehaviour(UsageZero) {
			w.written = r.usage.Output
		}
		w.writeChunk(encodeJSON(geminiChunk(r, []any{map[string]any{"text": p}}, "", w.written)))
		return !w.ended
	})
	for i, c := range r.calls {
		w.writeChunk(encodeJSON(geminiChunk(r, []any{geminiCall(r, i)}, "", w.written)))
		w.nextDelta(len(c.Name)/4 + len(c.Input)/4 + 8)
	}
	if !w.shouldEnd() {
		return
	}
	last := map[string]any{"text": ""}
	if r.seal != "" && len(r.calls) == 0 {
		last["thoughtSignature"] = r.seal
	}
	w.writeChunk(encodeJSON(geminiChunk(r, []any{last}, geminiFinish(r.finish), r.usage.Output-r.usage.Reasoning)))
	w.close()
}

func (w *geminiWriter) close() {
	if w.array {
		w.buf = append(w.buf, ']')
	}
}
