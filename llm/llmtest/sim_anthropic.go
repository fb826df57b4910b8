package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ponder/llm"
)

func anthropicDialect() *dialect {
	return &dialect{
		name: "anthropic", key: anthropicKey, refuse: anthropicRefusal, inband: anthropicInband,
		whole: anthropicWhole, stream: anthropicStream, limits: anthropicLimits, retryForm: RetrySeconds,
		contentType: "text/event-stream; charset=utf-8",
		garbage:     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n",
		comment:     "event: ping\ndata: {\"type\": \"ping\"}\n\n: ping\n\n",
	}
}

func anthropicKey(r *http.Request) string {
	if key := r.Header.Get("x-api-key"); key != "" {
		return key
	}
	return bearerKey(r)
}

func anthropicRefusal(f failure) (int, []byte) {
	status, typ, message := anthropicWords(f)
	return status, encodeJSON(map[string]any{
		"type": "error", "error": map[string]string{"type": typ, "message": message}, "request_id": "req_" + randomToken(uint64(status), 20),
	})
}

func anthropicInband(f failure) []byte {
	_, body := anthropicRefusal(f)
	return append([]byte("event: error\n"), appendSSE(nil, string(body))...)
}

func anthropicWords(f failure) (status int, typ, message string) {
	switch f.kind {
	case wrongKey:
		return 401, "authentication_error", f.messageOr("invalid x-api-key")
	case noCredit:
		return 400, "invalid_request_error", f.messageOr("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case noModel:
		return 404, "not_found_error", f.messageOr("model: %s", f.model)
	case tooLong:
		return 400, "invalid_request_error", f.messageOr("prompt is too long: %d tokens > %d maximum", f.tokens, f.limit)
	case filtered:
		return 400, "invalid_request_error", f.messageOr("Output blocked by content filtering policy")
	case rateLimited:
		return 429, "rate_limit_error", f.messageOr("This request would exceed your organization's rate limit. Please reduce the prompt length or the maximum tokens requested, or try again later.")
	case overloaded:
		return 529, "overloaded_error", f.messageOr("Overloaded")
	case unavailable:
		return 503, "api_error", f.messageOr("Service unavailable")
	case serverError, badGateway, page:
		return 500, "api_error", f.messageOr("Internal server error")
	}
	return 400, "invalid_request_error", f.messageOr("Bad request")
}

type anthropicRequest struct {
	Model    string             `json:"model"`
	Max      *int               `json:"max_tokens"`
	System   content            `json:"system"`
	Messages []anthropicMessage `json:"messages"`
	Tools    []struct {
		Name   string          `json:"name"`
		Doc    string          `json:"description"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Temperature *float64 `json:"temperature"`
	Stream      bool     `json:"stream"`
	Output      struct {
		Format anthropicFormat `json:"format"`
	} `json:"output_config"`
	Format anthropicFormat `json:"output_format"` // former name
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func parseAnthropic(x *exchange, _ string, body []byte) (*parsedRequest, failure, bool) {
	var q anthropicRequest
	if why, ok := decodeRequest(body, &q); !ok {
		return nil, why, false
	}
	if x.r.Header.Get("anthropic-version") == "" {
		return nil, failure{kind: badRequest, message: "anthropic-version: header is required"}, false
	}
	if why := q.checkRequest(); why != "" {
		return nil, failure{kind: badRequest, message: why}, false
	}
	a := q.toParsed()
	a.max = *q.Max
	return a, failure{}, true
}

func (q *anthropicRequest) toParsed() *parsedRequest {
	a := &parsedRequest{model: q.Model, stream: q.Stream, usage: true, choice: q.Choice.Type, think: q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive"}
	switch q.Choice.Type {
	case "tool":
		a.choice = q.Choice.Name
	case "any":
		a.choice = "required"
	}
	if len(q.System) > 0 {
		a.addTurn("system")
		q.System.addTo(a, "system")
	}
	for _, m := range q.Messages {
		a.addTurn(m.Role)
		for _, p := range m.Content {
			switch p.Type {
			case "tool_use":
				a.addCall(p.Name, p.Input)
			case "tool_result":
				a.addResult(p.Content.joinText())
				content{{Source: firstSource(p.Content)}}.addTo(a, m.Role)
			default:
				content{p}.addTo(a, m.Role)
			}
		}
	}
	for _, t := range q.Tools {
		a.addTool(t.Name, t.Doc, t.Schema)
	}
	if a.schema = q.Output.Format.Schema; len(a.schema) == 0 {
		a.schema = q.Format.Schema
	}
	return a
}

func firstSource(c content) *mediaSource {
	for _, p := range c {
		if p.Source != nil {
			return p.Source
		}
	}
	return nil
}

// checkRequest returns Anthropic's reason to refuse the request, or "".
func (q *anthropicRequest) checkRequest() string {
	switch {
	case q.Model == "":
		return "model: Field required"
	case q.Max == nil:
		return "max_tokens: Field required"
	case *q.Max < 1:
		return "max_tokens: Input should be greater than or equal to 1"
	case len(q.Messages) == 0:
		return "messages: at least one message is required"
	case q.Choice.Type != "" && len(q.Tools) == 0 && q.Choice.Type != "none":
		return "tool_choice: may only be specified while providing tools"
	}
	if t := q.Thinking; t.Type == "enabled" {
		switch {
		case t.Budget < 1024:
			return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
		case t.Budget >= *q.Max:
			return "`max_tokens` must be greater than `thinking.budget_tokens`"
		case q.Choice.Type == "any" || q.Choice.Type == "tool":
			return "Thinking may not be enabled when tool_choice forces tool use."
		case q.Temperature != nil && *q.Temperature != 1:
			return "`temperature` may only be set to 1 when thinking is enabled."
		}
	}
	for _, f := range []anthropicFormat{q.Output.Format, q.Format} {
		if why := anthropicSchema.findFault(f.Schema, ""); why != "" {
			return why
		}
	}
	return q.checkMessages()
}

// anthropicSchema refuses what Anthropic does.
var anthropicSchema = schemaChecker{check: func(_ string, raw json.RawMessage, s schemaShape) string {
	if !isClosed(s) {
		return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems"} {
		if _, ok := all[k]; ok {
			return fmt.Sprintf("output_config.format.schema: For '%s' type, property '%s' is not supported", strings.Trim(string(s.Type), `"`), k)
		}
	}
	return ""
}}

// checkMessages returns the fault in the order of calls and results, or "".
func (q *anthropicRequest) checkMessages() string {
	var open []string // to be answered next
	for i, m := range q.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Sprintf("messages: Unexpected role %q. Allowed roles are \"user\" or \"assistant\".", m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		var calls []string
		for j, p := range m.Content {
			switch {
			case p.Type == "text" && p.Text == "":
				return "messages: text content blocks must be non-empty"
			case p.Type == "tool_use":
				if !bytes.HasPrefix(bytes.TrimSpace(p.Input), []byte("{")) {
					return fmt.Sprintf("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
				}
				calls = append(calls, p.ID)
			case p.Type == "tool_result":
				if !slices.Contains(open, p.ToolUseID) {
					return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, p.ToolUseID)
				}
				open = slices.DeleteFunc(open, func(id string) bool { return id == p.ToolUseID })
			case p.Type == "thinking" && !isSealOf(q.Model, p.Signature), p.Type == "redacted_thinking" && !isSealOf(q.Model, p.Data):
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", "))
		}
		open = calls
	}
	return ""
}

func anthropicModels(path string) target {
	name := strings.TrimPrefix(strings.TrimPrefix(path, "/v1/models"), "/")
	model := func(id string) map[string]any {
		return map[string]any{"type": "model", "id": id, "display_name": id, "created_at": "2025-05-22T00:00:00Z"}
	}
	return target{anthropicDialect(), name, func(x *exchange, name string, _ []byte) {
		switch {
		case !strings.HasPrefix(path, "/v1/models"):
			x.sendFailure(failure{kind: badRequest, status: http.StatusNotFound, message: "Not Found"})
		case name == "":
			list := []any{}
			for _, m := range x.modelNames() {
				list = append(list, model(m))
			}
			x.sendJSON(map[string]any{"data": list, "has_more": false})
		case !x.hasModel(name):
			x.sendFailure(failure{kind: noModel})
		default:
			x.sendJSON(model(name))
		}
	}}
}

func serveAnthropicCount(x *exchange, _ string, body []byte) {
	var q anthropicRequest
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	a := q.toParsed()
	a.computeHash()
	x.sendJSON(map[string]int{"input_tokens": a.countTokens()})
}

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

func anthropicUsage(u llm.Usage, output int) map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": map[string]int{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  output, "service_tier": "standard",
	}
}

func anthropicMessageOf(r *reply, blocks []any, finish any, output int) map[string]any {
	m := map[string]any{
		"model": r.model, "id": "msg_01" + r.id, "type": "message", "role": "assistant", "content": blocks,
		"stop_reason": finish, "stop_sequence": nil,
	}
	if !r.silent {
		m["usage"] = anthropicUsage(r.usage, output)
	}
	return m
}

func anthropicWhole(_ *parsedRequest, r *reply) []byte {
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
	return encodeJSON(anthropicMessageOf(r, blocks, anthropicFinish(r.finish), r.usage.Output))
}

type anthropicWriter struct {
	*stream
	index int // of the block
}

func (w *anthropicWriter) writeEvent(name, data string) {
	w.buf = appendSSE(append(append(append(w.buf, "event: "...), name...), '\n'), data)
}

func anthropicStream(s *stream, _ *parsedRequest, r *reply) {
	w := &anthropicWriter{stream: s}
	w.writeEvent("message_start", `{"type":"message_start","message":`+string(encodeJSON(anthropicMessageOf(r, []any{}, nil, min(r.usage.Output, 1))))+`}`)
	if r.reasoning != "" {
		w.writeBlock(`{"type":"thinking","thinking":"","signature":""}`, func() {
			w.eachPiece(r.reasoning, w.pieceWriter("thinking_delta", "thinking"))
			w.writeEvent("content_block_delta", w.eventHead("content_block_delta")+`,"delta":{"type":"signature_delta","signature":"`+r.seal+`"}}`)
		})
	}
	if r.text != "" {
		w.writeBlock(`{"type":"text","text":""}`, func() { w.eachPiece(r.text, w.pieceWriter("text_delta", "text")) })
	}
	for _, c := range r.calls {
		w.writeBlock(`{"type":"tool_use","id":"toolu_01`+c.ID+`","name":`+string(appendQuoted(nil, c.Name))+`,"input":{}}`, func() { w.writeInput(c) })
	}
	if !s.shouldEnd() {
		return
	}
	end := `{"type":"message_delta","delta":{"stop_reason":"` + anthropicFinish(r.finish) + `","stop_sequence":null}`
	if !r.silent {
		end += `,"usage":{"output_tokens":` + strconv.Itoa(r.usage.Output) + `}`
	}
	w.writeEvent("message_delta", end+"}")
	w.writeEvent("message_stop", `{"type":"message_stop"}`)
}

// eventHead returns the start of an event of the block.
func (w *anthropicWriter) eventHead(typ string) string {
	return `{"type":"` + typ + `","index":` + strconv.Itoa(w.index)
}

func (w *anthropicWriter) writeBlock(start string, inside func()) {
	if w.ended {
		return
	}
	w.writeEvent("content_block_start", w.eventHead("content_block_start")+`,"content_block":`+start+`}`)
	if w.index == 0 {
		w.writeEvent("ping", `{"type": "ping"}`)
	}
	inside()
	if w.ended {
		return
	}
	w.writeEvent("content_block_stop", w.eventHead("content_block_stop")+`}`)
	w.index++
}

func (w *anthropicWriter) pieceWriter(typ, field string) func(string) bool {
	head := "event: content_block_delta\ndata: " + w.eventHead("content_block_delta") + `,"delta":{"type":"` + typ + `","` + field + `":`
	return func(p string) bool {
		w.buf = append(appendQuoted(append(w.buf, head...), p), "}}\n\n"...)
		return !w.ended
	}
}

func (w *anthropicWriter) writeInput(c llm.ToolCall) {
	write := w.pieceWriter("input_json_delta", "partial_json")
	write("")
	for p := range splitPieces(string(c.Input), w.x.config.Chunks, false) {
		write(p)
	}
	w.stream.nextDelta(len(c.Name)/4 + len(c.Input)/4 + 8)
}
