package llmtest

import (
	"strconv"

	"ponder/llm"
)

// responsesUsage is the usage of a response.
func responsesUsage(u llm.Usage) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"input_tokens": in, "input_tokens_details": map[string]int{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]int{"reasoning_tokens": u.Reasoning},
		"total_tokens": in + u.Output,
	}
}

// responsesObject is the response itself, as it stands with so much output.
func responsesObject(a *ask, r *reply, status string, output []any) map[string]any {
	var most, why, usage any
	if a.max > 0 {
		most = a.max
	}
	if status == "incomplete" {
		reason := "max_output_tokens"
		if r.finish == llm.FinishFilter {
			reason = "content_filter"
		}
		why = map[string]string{"reason": reason}
	}
	if status != "in_progress" && !r.silent {
		usage = responsesUsage(r.use)
	}
	return map[string]any{
		"id": "resp_" + r.id, "object": "response", "created_at": r.created.Unix(), "status": status, "background": false,
		"error": nil, "incomplete_details": why, "instructions": nil, "max_output_tokens": most, "model": r.model, "output": output,
		"parallel_tool_calls": true, "previous_response_id": nil, "service_tier": "default", "store": false, "temperature": 1.0,
		"tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "truncation": "disabled", "usage": usage, "user": nil,
		"metadata": map[string]any{},
	}
}

// responsesStatus is how the response ended.
func responsesStatus(r *reply) string {
	if r.finish == llm.FinishLength || r.finish == llm.FinishFilter {
		return "incomplete"
	}
	return "completed"
}

func (r *reply) reasoningItem(a *ask) map[string]any {
	summary := []any{}
	if r.reasoning != "" {
		summary = append(summary, map[string]string{"type": "summary_text", "text": r.reasoning})
	}
	item := map[string]any{"id": "rs_" + r.id, "type": "reasoning", "summary": summary}
	if a.encrypt {
		item["content"], item["encrypted_content"] = []any{}, r.seal
	}
	return item
}

func (r *reply) messageItem(status string) map[string]any {
	parts := []any{}
	if status == "completed" {
		parts = append(parts, textPart(r.text))
	}
	return map[string]any{"id": "msg_" + r.id, "type": "message", "status": status, "content": parts, "role": "assistant"}
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

func callItem(c llm.ToolCall, status, arguments string) map[string]any {
	return map[string]any{"id": "fc_" + c.ID, "type": "function_call", "status": status, "arguments": arguments, "call_id": "call_" + c.ID, "name": c.Name}
}

// responsesOutput is the whole output.
func responsesOutput(a *ask, r *reply) (items []any) {
	if r.seal != "" {
		items = append(items, r.reasoningItem(a))
	}
	if r.text != "" || len(r.calls) == 0 {
		items = append(items, r.messageItem("completed"))
	}
	for _, c := range r.calls {
		items = append(items, callItem(c, "completed", string(c.Input)))
	}
	return items
}

// responsesWhole writes a response in one piece.
func responsesWhole(a *ask, r *reply) []byte {
	return encode(responsesObject(a, r, responsesStatus(r), responsesOutput(a, r)))
}

// A responsesWriter numbers and writes the events of a response.
type responsesWriter struct {
	*stream
	a     *ask
	n     int // of the next event
	index int // of the output item
}

// event writes an event.
func (w *responsesWriter) event(name string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = name, w.n
	w.n++
	w.buf = sse(append(append(append(w.buf, "event: "...), name...), '\n'), string(encode(fields)))
}

// responsesStream writes a response in events.
func responsesStream(s *stream, a *ask, r *reply) {
	w := &responsesWriter{stream: s, a: a}
	w.event("response.created", map[string]any{"response": responsesObject(a, r, "in_progress", []any{})})
	w.event("response.in_progress", map[string]any{"response": responsesObject(a, r, "in_progress", []any{})})
	if r.seal != "" {
		w.reasoning()
	}
	if r.text != "" || len(r.calls) == 0 {
		w.message()
	}
	for _, c := range r.calls {
		if s.over {
			return
		}
		w.call(c)
	}
	if !s.ends() {
		return
	}
	status := responsesStatus(r)
	w.event("response."+status, map[string]any{"response": responsesObject(a, r, status, responsesOutput(a, r))})
}

// item writes the begin or the end of an item.
func (w *responsesWriter) item(what string, item map[string]any) {
	w.event("response.output_item."+what, map[string]any{"item": item, "output_index": w.index})
	if what == "done" {
		w.index++
	}
}

func (w *responsesWriter) reasoning() {
	id := "rs_" + w.r.id
	w.item("added", map[string]any{"id": id, "type": "reasoning", "summary": []any{}})
	part := func(name, key string, value any) {
		w.event("response.reasoning_summary_"+name, map[string]any{"item_id": id, "output_index": w.index, "summary_index": 0, key: value})
	}
	if w.r.reasoning != "" {
		part("part.added", "part", map[string]string{"type": "summary_text", "text": ""})
		w.text(w.r.reasoning, w.piece("response.reasoning_summary_text.delta", `"summary_index":0,"item_id":"`+id+`"`))
		if w.over {
			return
		}
		part("text.done", "text", w.r.reasoning)
		part("part.done", "part", map[string]string{"type": "summary_text", "text": w.r.reasoning})
	}
	w.item("done", w.r.reasoningItem(w.a))
}

// piece writes pieces of a text as events.
func (w *responsesWriter) piece(name, fields string) func(string) bool {
	head := "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + fields + `,"output_index":` + strconv.Itoa(w.index) + `,"obfuscation":"` + w.r.id[:8] + `","delta":`
	return func(p string) bool {
		b := append(quote(append(w.buf, head...), p), `,"sequence_number":`...)
		w.buf = append(strconv.AppendInt(b, int64(w.n), 10), "}\n\n"...)
		w.n++
		return !w.over
	}
}

func (w *responsesWriter) message() {
	id := "msg_" + w.r.id
	w.item("added", w.r.messageItem("in_progress"))
	part := func(name, key string, value any) {
		w.event("response."+name, map[string]any{"item_id": id, "output_index": w.index, "content_index": 0, key: value})
	}
	part("content_part.added", "part", textPart(""))
	w.text(w.r.text, w.piece("response.output_text.delta", `"content_index":0,"logprobs":[],"item_id":"`+id+`"`))
	if w.over {
		return
	}
	part("output_text.done", "text", w.r.text)
	part("content_part.done", "part", textPart(w.r.text))
	w.item("done", w.r.messageItem("completed"))
}

func (w *responsesWriter) call(c llm.ToolCall) {
	id := "fc_" + c.ID
	w.item("added", callItem(c, "in_progress", ""))
	write := w.piece("response.function_call_arguments.delta", `"item_id":"`+id+`"`)
	for p := range pieces(string(c.Input), w.x.config.Chunks, false) {
		write(p)
	}
	if !w.delta(len(c.Name)/4 + len(c.Input)/4 + 8) {
		return
	}
	w.event("response.function_call_arguments.done", map[string]any{"item_id": id, "output_index": w.index, "arguments": string(c.Input)})
	w.item("done", callItem(c, "completed", string(c.Input)))
}
