package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// The order of fields is fixed; growing ones are last.
type (
	chatRequest struct {
		Model           string           `json:"model"`
		Stream          bool             `json:"stream"`
		StreamOptions   *streamOptions   `json:"stream_options,omitempty"`
		Usage           *includeUsage    `json:"usage,omitempty"`
		MaxTokens       int              `json:"max_tokens,omitempty"`
		MaxAll          int              `json:"max_completion_tokens,omitempty"`
		Temperature     *float64         `json:"temperature,omitempty"`
		Penalty         float64          `json:"frequency_penalty,omitempty"`
		ReasoningEffort string           `json:"reasoning_effort,omitempty"`
		Reasoning       *effort          `json:"reasoning,omitempty"`
		Thinking        *typeOnly        `json:"thinking,omitempty"`
		Template        *templateOptions `json:"chat_template_kwargs,omitempty"`
		CacheKey        string           `json:"prompt_cache_key,omitempty"`
		Format          *format          `json:"response_format,omitempty"`
		ToolChoice      any              `json:"tool_choice,omitempty"`
		Tools           []any            `json:"tools,omitempty"`
		Messages        []message        `json:"messages"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	includeUsage struct {
		Include bool `json:"include"`
	}
	effort struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"` // Responses only
	}
	typeOnly struct {
		Type string `json:"type"`
	}
	templateOptions struct {
		Thinking bool `json:"enable_thinking"`
	}
	format struct {
		Type   string      `json:"type"`
		Schema *namedShape `json:"json_schema,omitempty"`
	}
	namedShape struct {
		Name   string          `json:"name"`
		Doc    string          `json:"description,omitempty"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`

		written []byte // as encoded, or nil
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name       string          `json:"name"`
		Doc        string          `json:"description,omitempty"`
		Parameters json.RawMessage `json:"parameters,omitempty"`
	}
	choice struct {
		Type     string    `json:"type"`
		Function *toolName `json:"function,omitempty"`
		Name     string    `json:"name,omitempty"` // Responses only
	}
	toolName struct {
		Name string `json:"name"`
	}
)

func (m *model) planChat(req *llm.Request, without feature) (*plan, error) {
	body := &chatRequest{Model: m.id, Stream: true, Tools: m.chatTools(req.Tools), ToolChoice: m.toolChoice(req)}
	p := &plan{url: m.chatURL, body: body}
	if !m.host.noOptions && p.useFeature(featOptions, without) {
		body.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if m.host.usage {
		body.Usage = &includeUsage{Include: true}
	}
	if req.Temperature != nil && !m.traits.reasons && p.useFeature(featTemperature, without) {
		body.Temperature = req.Temperature
	}
	if req.Penalty > 0 && !m.traits.reasons && p.useFeature(featPenalty, without) {
		body.Penalty = req.Penalty
	}
	if req.Cache && m.host.cacheKey && p.useFeature(featCacheKey, without) {
		body.CacheKey = cacheKey(req)
	}
	m.setMaxTokens(body, p, req.MaxTokens, without)
	m.chatEffort(body, p, req.Effort, without)
	words := m.chatSchema(body, p, req.Schema, without)
	w := &chatWriter{model: m, turnRules: newTurnRules(without), mark: req.Cache && m.host.cacheMark && m.traits.claude}
	if err := p.writePrompt(w, req, wire.Paragraphs(req.System, words), without); err != nil {
		return nil, err
	}
	body.Messages = w.out
	p.fold = &chatFold{model: m.name, size: req.Size(), answer: p.answer}
	return p, nil
}

// useFeature reports whether f may be used, and records its use.
func (p *plan) useFeature(f, without feature) bool {
	if without&f != 0 {
		return false
	}
	p.uses |= f
	return true
}

// setMaxTokens uses the host's usual field, or the other one if that was refused.
func (m *model) setMaxTokens(body *chatRequest, p *plan, tokens int, without feature) {
	if tokens <= 0 {
		return
	}
	if m.host.maxAll == p.useFeature(featMax, without) {
		body.MaxAll = tokens
	} else {
		body.MaxTokens = tokens
	}
}

func (m *model) chatEffort(body *chatRequest, p *plan, level string, without feature) {
	if level == "" || m.host.effort == effortByModel && m.traits.levels == nil || m.host.openai && !m.traits.reasons || !p.useFeature(featEffort, without) {
		return
	}
	switch m.host.effort {
	case effortOpenAI, effortByModel:
		body.ReasoningEffort = nearestLevel(level, m.traits.levels)
	case effortObject:
		body.Reasoning = &effort{Effort: level}
	case effortThinking:
		if level == "none" {
			body.Thinking = &typeOnly{Type: "disabled"}
			return
		}
		body.ReasoningEffort = nearestLevel(level, []string{"low", "medium", "high"})
	case effortPlain:
		if level != "none" || m.traits.levels != nil {
			body.ReasoningEffort = nearestLevel(level, levelsOrDefault(m.traits.levels))
		}
	default:
		if level != "none" {
			body.ReasoningEffort = nearestLevel(level, levelsOrDefault(m.traits.levels))
		} else if p.useFeature(featOff, without) {
			body.Template = &templateOptions{Thinking: false}
		}
	}
}

// levelsOrDefault returns levels, or those that nearly all servers accept.
func levelsOrDefault(levels []string) []string {
	if levels == nil {
		return []string{"low", "medium", "high"}
	}
	return levels
}

// chatSchema asks for a schema by the best tier and returns the words that it needs in
// the prompt.
func (m *model) chatSchema(body *chatRequest, p *plan, s *llm.Schema, without feature) (words string) {
	if s == nil {
		return ""
	}
	shape := m.lookupShape(p, s.JSON, without)
	t := m.host.tierFor(shape, len(body.Tools), m.host.openai, without)
	p.uses |= t.requiredFeature()
	name := wire.SchemaName(s)
	switch t {
	case tierNative:
		body.Format = &format{Type: "json_schema", Schema: &namedShape{Name: name, Doc: shape.doc, Schema: shape.schema, Strict: shape.strict, written: shape.written}}
		return ""
	case tierForced:
		p.answer = name
		body.Tools = []any{tool{Type: "function", Function: function{Name: name, Doc: "The answer.", Parameters: s.JSON}}}
		body.ToolChoice = choice{Type: "function", Function: &toolName{name}}
		return ""
	case tierMode:
		body.Format = &format{Type: "json_object"}
	}
	return wire.SchemaPrompt(s.JSON)
}

func (m *model) chatTools(tools []llm.Tool) (out []any) {
	for _, raw := range m.builtin {
		out = append(out, raw)
	}
	for _, t := range tools {
		out = append(out, tool{Type: "function", Function: function{Name: t.Name, Doc: t.Doc, Parameters: toolParameters(t.Schema)}})
	}
	return out
}

// toolParameters returns a tool's schema, which servers require.
func toolParameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || string(schema) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}

// toolChoice returns the tool choice, or nil without tools.
func (m *model) toolChoice(req *llm.Request) any {
	switch {
	case len(req.Tools)+len(m.builtin) == 0:
		return nil
	case req.ToolChoice == "":
		return "auto"
	case req.ToolChoice == "auto" || req.ToolChoice == "none" || req.ToolChoice == "required":
		return req.ToolChoice
	}
	return choice{Type: "function", Function: &toolName{req.ToolChoice}}
}

// cacheKey returns one key for all requests of a conversation, so that they reach the
// machine with the cached prefix.
func cacheKey(req *llm.Request) string {
	h := sha256.New()
	write := func(s string) {
		h.Write([]byte(s[:min(len(s), 4096)]))
		h.Write([]byte{0})
	}
	write(req.System)
	for _, t := range req.Tools {
		write(t.Name)
	}
	if len(req.Messages) > 0 {
		write(req.Messages[0].Text())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// encodeBody writes long parts itself, with the bytes of [wire.Body].
func encodeBody(body any) ([]byte, error) {
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
	b := make([]byte, 0, len(head)+r.sizeHint())
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

// lastFormat returns the encoded schema if only messages follow it, or nil.
func (r *chatRequest) lastFormat() *namedShape {
	if r.ToolChoice != nil || r.Tools != nil || r.Format == nil || r.Format.Schema == nil || r.Format.Schema.written == nil {
		return nil
	}
	return r.Format.Schema
}

func (r *chatRequest) sizeHint() int {
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

// appendTo is fast for the usual message of one text.
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
