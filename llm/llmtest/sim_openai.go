package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"ponder/llm"
)

func openaiDialect() *dialect {
	return &dialect{
		name: "openai", key: bearerKey, refuse: openaiRefusal, inband: openaiInband,
		whole: chatWhole, stream: chatStream, limits: openaiLimits, retryForm: RetryMillis,
		contentType: "text/event-stream; charset=utf-8",
		garbage:     "data: {\"id\":\"chatcmpl-0\",\"choices\":[{\"index\":0,\"delta\":{\"cont\n\n",
		comment:     ": keep-alive\n\n",
	}
}

type openaiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func openaiRefusal(f failure) (int, []byte) {
	status, e := openaiWords(f)
	return status, encodeJSON(map[string]any{"error": e})
}

func openaiInband(f failure) []byte {
	_, body := openaiRefusal(f)
	return appendSSE(nil, string(body))
}

func openaiWords(f failure) (int, openaiError) {
	word := func(status int, typ, code, message string, args ...any) (int, openaiError) {
		e := openaiError{Message: f.messageOr(message, args...), Type: typ}
		if code != "" {
			e.Code = &code
		}
		if f.param != "" {
			e.Param = &f.param
		}
		return status, e
	}
	switch f.kind {
	case wrongKey:
		return word(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.")
	case noCredit:
		return word(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
	case noModel:
		return word(404, "invalid_request_error", "model_not_found", "The model `%s` does not exist or you do not have access to it.", f.model)
	case tooLong:
		f.param = "messages"
		return word(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", f.limit, f.tokens)
	case filtered:
		return word(400, "invalid_request_error", "content_filter", "The response was filtered due to the prompt triggering our content management policy.")
	case rateLimited:
		return word(429, "requests", "rate_limit_exceeded", "Rate limit reached for %s on requests per min (RPM). Please try again in %s.", f.model, retryWords(f.retry))
	case unavailable, overloaded:
		return word(503, "server_error", "", "The engine is currently overloaded, please try again later")
	case serverError, badGateway, page:
		return word(500, "server_error", "", "The server had an error while processing your request. Sorry about that!")
	}
	return word(400, "invalid_request_error", "", "Invalid request.")
}

type chatRequest struct {
	Model     string        `json:"model"`
	Messages  []chatMessage `json:"messages"`
	Tools     []chatTool    `json:"tools"`
	Choice    choice        `json:"tool_choice"`
	Format    *chatFormat   `json:"response_format"`
	Max       int           `json:"max_tokens"`
	MaxAll    int           `json:"max_completion_tokens"`
	Stream    bool          `json:"stream"`
	StreamOpt struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
	CallID  string  `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name   string          `json:"name"`
		Doc    string          `json:"description"`
		Schema json.RawMessage `json:"parameters"`
		Strict bool            `json:"strict"`
	} `json:"function"`
}

type chatFormat struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	} `json:"json_schema"`
}

// A choice is a word or a required tool.
type choice string

func (c *choice) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(c))
	}
	var v struct {
		Name     string
		Function struct{ Name string }
	}
	err := json.Unmarshal(b, &v)
	*c = choice(v.Name + v.Function.Name)
	return err
}

func parseChat(_ *exchange, _ string, body []byte) (*parsedRequest, failure, bool) {
	var q chatRequest
	if why, ok := decodeRequest(body, &q); !ok {
		return nil, why, false
	}
	a := &parsedRequest{model: q.Model, stream: q.Stream, usage: q.StreamOpt.Usage, max: max(q.Max, q.MaxAll), choice: string(q.Choice)}
	if why, ok := q.checkRequest(); !ok {
		return nil, why, false
	}
	for _, m := range q.Messages {
		m.addTo(a)
	}
	for _, t := range q.Tools {
		a.addTool(t.Function.Name, t.Function.Doc, t.Function.Schema)
	}
	if f := q.Format; f != nil {
		a.schema, a.json = f.Schema.Schema, f.Type == "json_object"
	}
	return a, failure{}, true
}

func (m chatMessage) addTo(a *parsedRequest) {
	role := m.Role
	if role == "developer" {
		role = "system"
	}
	a.addTurn(role)
	if role == "tool" {
		a.addResult(m.Content.joinText())
		return
	}
	m.Content.addTo(a, role)
	for _, c := range m.Calls {
		a.addCall(c.Function.Name, []byte(c.Function.Arguments))
	}
}

// checkRequest returns OpenAI's reason to refuse the request, if any.
func (q *chatRequest) checkRequest() (failure, bool) {
	bad := func(param, format string, args ...any) (failure, bool) {
		return failure{kind: badRequest, param: param, message: fmt.Sprintf(format, args...)}, false
	}
	switch {
	case q.Model == "":
		return bad("model", "you must provide a model parameter")
	case len(q.Messages) == 0:
		return bad("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case q.Max > 0 && q.MaxAll > 0:
		return bad("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case q.Choice != "" && len(q.Tools) == 0:
		return bad("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	open := make(map[string]bool) // unanswered
	for i, m := range q.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return bad("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %v", slices.Sorted(maps.Keys(open)))
		}
		switch m.Role {
		case "tool":
			if !open[m.CallID] {
				return bad("messages.["+strconv.Itoa(i)+"].role", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			delete(open, m.CallID)
		case "assistant":
			for _, c := range m.Calls {
				open[c.ID] = true
			}
		case "system", "developer", "user":
		default:
			return bad("messages["+strconv.Itoa(i)+"].role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
		}
	}
	if f := q.Format; f != nil && f.Type == "json_schema" {
		if f.Schema.Name == "" {
			return bad("response_format.json_schema.name", "Missing required parameter: 'response_format.json_schema.name'.")
		}
		if f.Schema.Strict {
			return strictSchema("response_format", f.Schema.Name, f.Schema.Schema)
		}
	}
	return failure{}, true
}

func strictSchema(param, name string, schema json.RawMessage) (failure, bool) {
	if why := strictChecker.findFault(schema, ""); why != "" {
		return failure{kind: badRequest, param: param, message: fmt.Sprintf("Invalid schema for %s '%s': %s", param, name, why)}, false
	}
	return failure{}, true
}

var strictChecker = schemaChecker{check: func(at string, _ json.RawMessage, s schemaShape) string {
	if !isClosed(s) {
		return fmt.Sprintf("In context=(%s), 'additionalProperties' is required to be supplied and to be false.", at)
	}
	for _, p := range sortedKeys(s.Properties) {
		if !slices.Contains(s.Required, p) {
			return fmt.Sprintf("In context=(%s), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", at, p)
		}
	}
	return ""
}}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// serveOpenAIModels lists none if every name is valid, because clients search the list.
func serveOpenAIModels(x *exchange, _ string, _ []byte) {
	list := []any{}
	for _, m := range x.config.Models {
		list = append(list, x.addContext(openaiModel(m)))
	}
	x.sendJSON(map[string]any{"object": "list", "data": list})
}

func serveOpenAIModel(x *exchange, model string, _ []byte) {
	if !x.hasModel(model) {
		x.sendFailure(failure{kind: noModel})
		return
	}
	x.sendJSON(x.addContext(openaiModel(model)))
}

func openaiModel(name string) map[string]any {
	return map[string]any{"id": name, "object": "model", "created": 1715367049, "owned_by": "system"}
}

// modelNames returns the configured models, or examples.
func (x *exchange) modelNames() []string {
	if len(x.config.Models) > 0 {
		return x.config.Models
	}
	names := []string{"sim-fast", "sim-slow", "sim-embed"}
	if x.config.LSA != nil {
		names = append(names, LSAModel)
	}
	return names
}

func serveOpenAIEmbeddings(x *exchange, _ string, body []byte) {
	var q struct {
		Model      string  `json:"model"`
		Input      strList `json:"input"`
		Format     string  `json:"encoding_format"`
		Dimensions int     `json:"dimensions"`
	}
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	if len(q.Input) == 0 {
		x.sendFailure(failure{kind: badRequest, param: "input", message: "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."})
		return
	}
	vectors, tokens, ok := x.embedTexts(q.Model, q.Input, q.Dimensions)
	if !ok {
		return
	}
	data := make([]any, len(vectors))
	for i, v := range vectors {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": embeddingFormat(v, q.Format)}
	}
	x.sendJSON(map[string]any{
		"object": "list", "data": data, "model": q.Model,
		"usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
	})
}

func kindForStatus(status int) kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return wrongKey
	case http.StatusPaymentRequired:
		return noCredit
	case http.StatusNotFound:
		return noModel
	case http.StatusRequestEntityTooLarge:
		return tooLong
	case http.StatusTooManyRequests:
		return rateLimited
	case http.StatusServiceUnavailable:
		return unavailable
	case 529:
		return overloaded
	}
	if status < 500 {
		return badRequest
	}
	return serverError
}

func openaiFinish(f llm.Finish) string { return string(f) }

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

func chatWhole(_ *parsedRequest, r *reply) []byte {
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
		v["usage"] = openaiUsage(r.usage)
	}
	return encodeJSON(v)
}

type chatWriter struct {
	*stream
	head, tail string
}

func chatStream(s *stream, a *parsedRequest, r *reply) {
	w := chatWriter{stream: s, head: `data: {"id":"chatcmpl-` + r.id + `","object":"chat.completion.chunk","created":` +
		strconv.FormatInt(r.created.Unix(), 10) + `,"model":` + string(appendQuoted(nil, r.model)) +
		`,"service_tier":"default","system_fingerprint":null,"choices":[`}
	w.tail = ",\"obfuscation\":\"" + r.id[:8] + "\"}\n\n"
	if a.usage {
		w.tail = `,"usage":null` + w.tail
	}
	if len(r.calls) > 0 && r.text == "" {
		w.writeDelta(`"role":"assistant","content":null`)
	} else {
		w.writeDelta(`"role":"assistant","content":"","refusal":null`)
	}
	s.eachPiece(r.reasoning, w.pieceWriter("reasoning_content"))
	s.eachPiece(r.text, w.pieceWriter("content"))
	for i, c := range r.calls {
		w.writeCall(i, c)
	}
	if !s.shouldEnd() {
		return
	}
	w.writeChunk(`{"index":0,"delta":{},"finish_reason":"` + openaiFinish(r.finish) + `"}`)
	if a.usage && !r.silent {
		s.buf = append(append(s.buf, w.head...), `],"usage":`...)
		s.buf = append(append(s.buf, encodeJSON(openaiUsage(r.usage))...), "}\n\n"...)
	}
	s.buf = append(s.buf, "data: [DONE]\n\n"...)
}

func (w chatWriter) writeChunk(choice string) {
	w.buf = append(append(append(append(w.buf, w.head...), choice...), ']'), w.tail...)
}

func (w chatWriter) writeDelta(fields string) {
	w.writeChunk(`{"index":0,"delta":{` + fields + `},"finish_reason":null}`)
}

func (w chatWriter) pieceWriter(field string) func(string) bool {
	return func(p string) bool {
		b := append(append(append(append(w.buf, w.head...), `{"index":0,"delta":{"`...), field...), `":`...)
		w.buf = append(append(appendQuoted(b, p), `},"finish_reason":null}]`...), w.tail...)
		return !w.ended
	}
}

func (w chatWriter) writeCall(i int, c llm.ToolCall) {
	index := `"tool_calls":[{"index":` + strconv.Itoa(i)
	w.writeDelta(index + `,"id":"call_` + c.ID + `","type":"function","function":{"name":` + string(appendQuoted(nil, c.Name)) + `,"arguments":""}}]`)
	for p := range splitPieces(string(c.Input), w.x.config.Chunks, false) {
		w.writeDelta(index + `,"function":{"arguments":` + string(appendQuoted(nil, p)) + `}}]`)
	}
	w.stream.nextDelta(len(c.Name)/4 + len(c.Input)/4 + 8)
}
