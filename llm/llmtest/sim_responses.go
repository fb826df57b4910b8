package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"ponder/llm"
)

func responsesDialect() *dialect {
	d := openaiDialect()
	d.name, d.whole, d.stream, d.inband = "responses", responsesWhole, responsesStream, responsesInband
	d.garbage = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\n\n"
	return d
}

func responsesInband(f failure) []byte {
	_, e := openaiWords(f)
	return append([]byte("event: error\n"), appendSSE(nil, string(encodeJSON(map[string]any{
		"type": "error", "code": "server_error", "message": e.Message, "param": nil, "sequence_number": 9,
	})))...)
}

type responsesRequest struct {
	Model        string             `json:"model"`
	Input        responsesInput     `json:"input"`
	Instructions string             `json:"instructions"`
	Tools        []responsesTool    `json:"tools"`
	Choice       choice             `json:"tool_choice"`
	Max          int                `json:"max_output_tokens"`
	Stream       bool               `json:"stream"`
	Include      []string           `json:"include"`
	Text         responsesText      `json:"text"`
	Reasoning    responsesReasoning `json:"reasoning"`
}

type responsesReasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesText struct {
	Format struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	} `json:"format"`
}

type responsesTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Doc    string          `json:"description"`
	Schema json.RawMessage `json:"parameters"`
}

type responsesInput []responsesItem

type responsesItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
	Encrypted string  `json:"encrypted_content"`
	ID        string  `json:"id"`
}

// UnmarshalJSON accepts a string or items.
func (in *responsesInput) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		var text string
		err := json.Unmarshal(b, &text)
		*in = responsesInput{{Role: "user", Content: content{{Text: text}}}}
		return err
	}
	return json.Unmarshal(b, (*[]responsesItem)(in))
}

func parseResponses(_ *exchange, _ string, body []byte) (*parsedRequest, failure, bool) {
	var q responsesRequest
	if why, ok := decodeRequest(body, &q); !ok {
		return nil, why, false
	}
	if why, ok := q.checkRequest(); !ok {
		return nil, why, false
	}
	a := &parsedRequest{model: q.Model, stream: q.Stream, usage: true, max: q.Max, choice: string(q.Choice), think: q.Reasoning.Summary != ""}
	for _, inc := range q.Include {
		a.encrypt = a.encrypt || inc == "reasoning.encrypted_content"
	}
	if q.Instructions != "" {
		a.addTurn("system")
		a.addText("system", q.Instructions)
	}
	for _, it := range q.Input {
		it.addTo(a)
	}
	for _, t := range q.Tools {
		a.addTool(t.Name, t.Doc, t.Schema)
	}
	a.schema, a.json = q.Text.Format.Schema, q.Text.Format.Type == "json_object"
	return a, failure{}, true
}

func (it responsesItem) addTo(a *parsedRequest) {
	switch it.Type {
	case "function_call":
		a.addCall(it.Name, []byte(it.Arguments))
	case "function_call_output":
		a.addResult(it.Output.joinText())
	case "reasoning":
	default:
		role := it.Role
		if role == "developer" {
			role = "system"
		}
		a.addTurn(role)
		it.Content.addTo(a, role)
	}
}

// checkRequest returns OpenAI's reason to refuse the request, if any.
func (q *responsesRequest) checkRequest() (failure, bool) {
	bad := func(param, format string, args ...any) (failure, bool) {
		return failure{kind: badRequest, param: param, message: fmt.Sprintf(format, args...)}, false
	}
	switch {
	case q.Model == "":
		return bad("model", "Missing required parameter: 'model'.")
	case len(q.Input) == 0:
		return bad("input", "Missing required parameter: 'input'.")
	case q.Choice != "" && q.Choice != "auto" && q.Choice != "none" && len(q.Tools) == 0:
		return bad("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", q.Choice)
	}
	calls := make(map[string]bool)
	for i, it := range q.Input {
		switch it.Type {
		case "function_call":
			calls[it.CallID] = true
		case "function_call_output":
			if !calls[it.CallID] {
				return bad("input", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			delete(calls, it.CallID)
		case "reasoning":
			if it.Encrypted != "" && !isSealOf(q.Model, it.Encrypted) {
				return bad("", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.ID)
			}
			if i+1 == len(q.Input) || q.Input[i+1].Role == "user" {
				return bad("input", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
			}
		case "", "message":
			if it.Role == "" {
				return bad("input", "Invalid value: ''. Supported values are: 'assistant', 'system', 'developer', and 'user'.")
			}
		}
	}
	for _, call := range sortedKeys(calls) {
		return bad("input", "No tool output found for function call %s.", call)
	}
	f := q.Text.Format
	if f.Type == "json_schema" && f.Name == "" {
		return bad("text.format.name", "Missing required parameter: 'text.format.name'.")
	}
	if f.Type == "json_schema" && f.Strict {
		return strictSchema("text.format", f.Name, f.Schema)
	}
	return failure{}, true
}

func responsesUsage(u llm.Usage) map[string]any {
	in := u.Input + u.CacheRead + u.CacheWrite
	return map[string]any{
		"input_tokens": in, "input_tokens_details": map[string]int{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]int{"reasoning_tokens": u.Reasoning},
		"total_tokens": in + u.Output,
	}
}

func responsesObject(a *parsedRequest, r *reply, status string, output []any) map[string]any {
	var maxTokens, why, usage any
	if a.max > 0 {
		maxTokens = a.max
	}
	if status == "incomplete" {
		reason := "max_output_tokens"
		if r.finish == llm.FinishFilter {
			reason = "content_filter"
		}
		why = map[string]string{"reason": reason}
	}
	if status != "in_progress" && !r.silent {
		usage = responsesUsage(r.usage)
	}
	return map[string]any{
		"id": "resp_" + r.id, "object": "response", "created_at": r.created.Unix(), "status": status, "background": false,
		"error": nil, "incomplete_details": why, "instructions": nil, "max_output_tokens": maxTokens, "model": r.model, "output": output,
		"parallel_tool_calls": true, "previous_response_id": nil, "service_tier": "default", "store": false, "temperature": 1.0,
		"tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "truncation": "disabled", "usage": usage, "user": nil,
		"metadata": map[string]any{},
	}
}

func responsesStatus(r *reply) string {
	if r.finish == llm.FinishLength || r.finish == llm.FinishFilter {
		return "incomplete"
	}
	return "completed"
}

func (r *reply) reasoningItem(a *parsedRequest) map[string]any {
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

func responsesOutput(a *parsedRequest, r *reply) (items []any) {
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

func responsesWhole(a *parsedRequest, r *reply) []byte {
	return encodeJSON(responsesObject(a, r, responsesStatus(r), responsesOutput(a, r)))
}

// A responsesWriter numbers the events.
type responsesWriter struct {
	*stream
	a     *parsedRequest
	n     int // next event
	index int // output item
}

func (w *responsesWriter) writeEvent(name string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = name, w.n
	w.n++
	w.buf = appendSSE(append(append(append(w.buf, "event: "...), name...), '\n'), string(encodeJSON(fields)))
}

func responsesStream(s *stream, a *parsedRequest, r *reply) {
	w := &responsesWriter{stream: s, a: a}
	w.writeEvent("response.created", map[string]any{"response": responsesObject(a, r, "in_progress", []any{})})
	w.writeEvent("response.in_progress", map[string]any{"response": responsesObject(a, r, "in_progress", []any{})})
	if r.seal != "" {
		w.writeReasoning()
	}
	if r.text != "" || len(r.calls) == 0 {
		w.writeMessage()
	}
	for _, c := range r.calls {
		if s.ended {
			return
		}
		w.writeCall(c)
	}
	if !s.shouldEnd() {
		return
	}
	status := responsesStatus(r)
	w.writeEvent("response."+status, map[string]any{"response": responsesObject(a, r, status, responsesOutput(a, r))})
}

// writeItem writes the "added" or "done" event.
func (w *responsesWriter) writeItem(what string, item map[string]any) {
	w.writeEvent("response.output_item."+what, map[string]any{"item": item, "output_index": w.index})
	if what == "done" {
		w.index++
	}
}

func (w *responsesWriter) writeReasoning() {
	id := "rs_" + w.r.id
	w.writeItem("added", map[string]any{"id": id, "type": "reasoning", "summary": []any{}})
	part := func(name, key string, value any) {
		w.writeEvent("response.reasoning_summary_"+name, map[string]any{"item_id": id, "output_index": w.index, "summary_index": 0, key: value})
	}
	if w.r.reasoning != "" {
		part("part.added", "part", map[string]string{"type": "summary_text", "text": ""})
		w.eachPiece(w.r.reasoning, w.pieceWriter("response.reasoning_summary_text.delta", `"summary_index":0,"item_id":"`+id+`"`))
		if w.ended {
			return
		}
		part("text.done", "text", w.r.reasoning)
		part("part.done", "part", map[string]string{"type": "summary_text", "text": w.r.reasoning})
	}
	w.writeItem("done", w.r.reasoningItem(w.a))
}

func (w *responsesWriter) pieceWriter(name, fields string) func(string) bool {
	head := "event: " + name + "\ndata: {\"type\":\"" + name + "\"," + fields + `,"output_index":` + strconv.Itoa(w.index) + `,"obfuscation":"` + w.r.id[:8] + `","delta":`
	return func(p string) bool {
		b := append(appendQuoted(append(w.buf, head...), p), `,"sequence_number":`...)
		w.buf = append(strconv.AppendInt(b, int64(w.n), 10), "}\n\n"...)
		w.n++
		return !w.ended
	}
}

func (w *responsesWriter) writeMessage() {
	id := "msg_" + w.r.id
	w.writeItem("added", w.r.messageItem("in_progress"))
	part := func(name, key string, value any) {
		w.writeEvent("response."+name, map[string]any{"item_id": id, "output_index": w.index, "content_index": 0, key: value})
	}
	part("content_part.added", "part", textPart(""))
	w.eachPiece(w.r.text, w.pieceWriter("response.output_text.delta", `"content_index":0,"logprobs":[],"item_id":"`+id+`"`))
	if w.ended {
		return
	}
	part("output_text.done", "text", w.r.text)
	part("content_part.done", "part", textPart(w.r.text))
	w.writeItem("done", w.r.messageItem("completed"))
}

func (w *responsesWriter) writeCall(c llm.ToolCall) {
	id := "fc_" + c.ID
	w.writeItem("added", callItem(c, "in_progress", ""))
	write := w.pieceWriter("response.function_call_arguments.delta", `"item_id":"`+id+`"`)
	for p := range splitPieces(string(c.Input), w.x.config.Chunks, false) {
		write(p)
	}
	if !w.nextDelta(len(c.Name)/4 + len(c.Input)/4 + 8) {
		return
	}
	w.writeEvent("response.function_call_arguments.done", map[string]any{"item_id": id, "output_index": w.index, "arguments": string(c.Input)})
	w.writeItem("done", callItem(c, "completed", string(c.Input)))
}
