package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	messageRequest struct {
		Model        string            `json:"model,omitempty"`
		Version      string            `json:"anthropic_version,omitempty"`
		MaxTokens    int               `json:"max_tokens,omitempty"` // zero only in counts
		System       []*block          `json:"system,omitempty"`
		Messages     []message         `json:"messages"`
		Tools        []json.RawMessage `json:"tools,omitempty"`
		ToolChoice   *toolChoice       `json:"tool_choice,omitempty"`
		Thinking     *thinkingConfig   `json:"thinking,omitempty"`
		OutputConfig *outputConfig     `json:"output_config,omitempty"`
		Temperature  *float64          `json:"temperature,omitempty"`
		Container    containerID       `json:"container,omitempty"`
		Stream       bool              `json:"stream,omitempty"`
	}
	message struct {
		Role    llm.Role `json:"role"`
		Content []any    `json:"content"` // *block or json.RawMessage
	}
	tool struct {
		Name         string          `json:"name"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *cacheControl   `json:"cache_control,omitempty"`
	}
	toolChoice struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
	}
	thinkingConfig struct {
		Type         string `json:"type"`
		BudgetTokens int    `json:"budget_tokens,omitempty"`
		Display      string `json:"display,omitempty"`
	}
	outputConfig struct {
		Effort string        `json:"effort,omitempty"`
		Format *outputFormat `json:"format,omitempty"`
	}
	outputFormat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	cacheControl struct {
		Type string `json:"type"`
	}
)

type plan struct {
	body   messageRequest
	answer string // tool that answers, or ""
	opaque bool   // has opaque parts
}

// newPlan translates a request; strip omits opaque parts.
func (m *model) newPlan(req *llm.Request, strip bool) (*plan, error) {
	history := conversation{model: m.name, strip: strip, cache: req.Cache, tools: len(req.Tools) > 0}
	messages, err := history.writeMessages(req.Messages)
	if err != nil {
		return nil, err
	}
	p := &plan{body: messageRequest{Messages: messages, Stream: true}, opaque: history.sent}
	if m.vertex {
		p.body.Version = vertexVersion
	} else {
		p.body.Model = m.id
	}
	m.setThinking(p, req)
	if p.body.Thinking == nil && m.traits.sampling || m.traits.reasoning == noThinking {
		p.body.Temperature = req.Temperature
	}
	words, err := m.addTools(p, req)
	if err != nil {
		return nil, err
	}
	p.setSystem(req, words)
	return p, nil
}

// setSystem adds the adapter's words after the cached part.
func (p *plan) setSystem(req *llm.Request, words string) {
	if strings.TrimSpace(req.System) != "" {
		b := &block{Type: "text", Text: req.System}
		if req.Cache {
			b.CacheControl = ephemeralCache()
		}
		p.body.System = append(p.body.System, b)
	}
	if words != "" {
		p.body.System = append(p.body.System, &block{Type: "text", Text: words})
	}
}

func (m *model) setThinking(p *plan, req *llm.Request) {
	p.body.MaxTokens = req.MaxTokens
	if m.traits.reasoning == byBudget {
		m.thinkByBudget(p, req)
	} else {
		m.thinkByEffort(p, req)
	}
	if p.body.MaxTokens <= 0 {
		p.body.MaxTokens = min(defaultOutput, m.traits.output)
	}
	if m.traits.prefix != "" { // else a guess
		p.body.MaxTokens = min(p.body.MaxTokens, m.traits.output)
	}
}

// thinkByBudget leaves a quarter of the answer for text. It leaves reasoning off where
// the API refuses it: in short answers, with forced tools, and in open tool loops without
// it.
func (m *model) thinkByBudget(p *plan, req *llm.Request) {
	budget := effortBudget(req.Effort)
	if m.traits.effort && budget > 0 {
		p.setEffort(req.Effort)
	}
	if maxTokens := req.MaxTokens; maxTokens > 0 {
		if m.traits.prefix != "" {
			maxTokens = min(maxTokens, m.traits.output)
		}
		budget = min(budget, maxTokens-maxTokens/4)
	}
	if budget < minBudget || wire.RequiresCall(req.ToolChoice) || isOpenToolLoop(p.body.Messages) {
		return
	}
	p.body.Thinking = &thinkingConfig{Type: "enabled", BudgetTokens: budget}
	if req.MaxTokens <= 0 {
		p.body.MaxTokens = min(defaultOutput, m.traits.output) + budget
	}
}

func (m *model) thinkByEffort(p *plan, req *llm.Request) {
	// The newest models hide reasoning without a display.
	on := &thinkingConfig{Type: "adaptive", Display: "summarized"}
	asked := req.Effort != "" && req.Effort != "none"
	switch m.traits.reasoning {
	case noThinking:
		return
	case adaptive:
		if asked && !wire.RequiresCall(req.ToolChoice) {
			p.body.Thinking = on
		}
	case adaptiveOn:
		if p.body.Thinking = on; req.Effort == "none" || wire.RequiresCall(req.ToolChoice) && m.traits.forced {
			p.body.Thinking = &thinkingConfig{Type: "disabled"}
		}
	case betweenTools:
		if p.body.Thinking = on; req.Effort == "none" {
			p.body.Thinking = &thinkingConfig{Type: "between_tools"}
		}
	case always:
		if p.body.Thinking = on; req.Effort == "none" {
			p.setEffort("low")
		}
	}
	if asked {
		p.setEffort(req.Effort)
	}
}

func (p *plan) setEffort(effort string) {
	if effort == "minimal" {
		effort = "low"
	}
	if p.body.OutputConfig == nil {
		p.body.OutputConfig = &outputConfig{}
	}
	p.body.OutputConfig.Effort = effort
}

// isThinking reports whether reasoning is on, which excludes forced tools.
func (p *plan) isThinking() bool {
	return p.body.Thinking != nil && p.body.Thinking.Type != "disabled"
}

// isOpenToolLoop reports whether the messages end in results of calls made without reasoning.
func isOpenToolLoop(messages []message) bool {
	n := len(messages)
	if n < 2 || messages[n-2].Role != llm.Assistant || messages[n-1].Role != llm.User {
		return false
	}
	result, ok := messages[n-1].Content[0].(*block)
	if !ok || result.Type != "tool_result" {
		return false
	}
	first, ok := messages[n-2].Content[0].(*block)
	return !ok || first.Type != "thinking" && first.Type != "redacted_thinking"
}

// addTools sets tools, choice and schema. It returns prompt words for what the model cannot
// enforce.
func (m *model) addTools(p *plan, req *llm.Request) (words string, err error) {
	p.body.Tools = append(p.body.Tools, m.builtin...)
	for i, t := range req.Tools {
		last := i == len(req.Tools)-1
		if err := p.addTool(t.Name, t.Doc, t.Schema, req.Cache && last); err != nil {
			return "", err
		}
	}
	words = m.setToolChoice(p, req)
	if req.Schema == nil {
		return words, nil
	}
	if schema, ok := strictSchema(req.Schema.JSON); ok && m.traits.schema && !m.vertex {
		if p.body.OutputConfig == nil {
			p.body.OutputConfig = &outputConfig{}
		}
		p.body.OutputConfig.Format = &outputFormat{Type: "json_schema", Schema: schema}
		return words, nil
	}
	if p.isThinking() || !m.traits.forced || !wire.IsObjectSchema(req.Schema.JSON) {
		return wire.Paragraphs(words, wire.SchemaPrompt(req.Schema.JSON)), nil
	}
	return words, p.answerByTool(req)
}

// setToolChoice sets the tool choice, or returns prompt words if it cannot force a tool.
func (m *model) setToolChoice(p *plan, req *llm.Request) string {
	if len(p.body.Tools) == 0 || req.ToolChoice == "" {
		return ""
	}
	choice := &toolChoice{Type: req.ToolChoice}
	switch {
	case !wire.RequiresCall(req.ToolChoice):
	case p.isThinking() || !m.traits.forced:
		choice.Type = "auto"
		p.body.ToolChoice = choice
		if req.ToolChoice == "required" {
			return "Answer by calling one of the tools."
		}
		return fmt.Sprintf("Answer by calling the tool %q.", req.ToolChoice)
	case req.ToolChoice == "required":
		choice.Type = "any"
	default:
		*choice = toolChoice{Type: "tool", Name: req.ToolChoice}
	}
	p.body.ToolChoice = choice
	return ""
}

// answerByTool forces a tool whose input is the answer. With other tools, any must be
// called.
func (p *plan) answerByTool(req *llm.Request) error {
	p.answer = wire.SchemaName(req.Schema)
	others := len(p.body.Tools) > 0 && req.ToolChoice != "none"
	doc := "Give the answer."
	if others {
		doc = "Give the answer, once no other tool is needed."
	}
	if described := wire.SchemaDoc(req.Schema.JSON); described != "" {
		doc = described
	}
	if err := p.addTool(p.answer, doc, req.Schema.JSON, false); err != nil {
		return err
	}
	p.body.ToolChoice = &toolChoice{Type: "tool", Name: p.answer}
	if others {
		p.body.ToolChoice = &toolChoice{Type: "any"}
	}
	return nil
}

func (p *plan) addTool(name, doc string, schema json.RawMessage, cache bool) error {
	t := tool{Name: name, Description: doc, InputSchema: schema}
	if len(schema) == 0 {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if cache {
		t.CacheControl = ephemeralCache()
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode tool %s: %w", name, err)
	}
	p.body.Tools = append(p.body.Tools, raw)
	return nil
}

func ephemeralCache() *cacheControl { return &cacheControl{Type: "ephemeral"} }
