package gemini

import (
	"encoding/json"
	"fmt"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	generateRequest struct {
		SystemInstruction *content          `json:"systemInstruction,omitempty"`
		Contents          []content         `json:"contents"`
		Tools             []toolSet         `json:"tools,omitempty"`
		ToolConfig        *toolConfig       `json:"toolConfig,omitempty"`
		GenerationConfig  *generationConfig `json:"generationConfig,omitempty"`
	}
	content struct {
		Role  string `json:"role,omitempty"`
		Parts []any  `json:"parts"` // part or json.RawMessage
	}
	toolSet struct {
		FunctionDeclarations []function `json:"functionDeclarations"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	toolConfig struct {
		FunctionCallingConfig calling `json:"functionCallingConfig"`
	}
	calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	}
	generationConfig struct {
		MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
		Temperature        *float64        `json:"temperature,omitempty"`
		ResponseMimeType   string          `json:"responseMimeType,omitempty"`
		ResponseSchema     json.RawMessage `json:"responseSchema,omitempty"`
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
		ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitempty"`
	}
	thinkingConfig struct {
		IncludeThoughts bool   `json:"includeThoughts"`
		ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
		ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	}
)

// plan translates a request; strip omits opaque parts, opaque reports them.
func (m *model) plan(req *llm.Request, strip bool) (body *generateRequest, opaque bool, err error) {
	c := conversation{model: m.name, traits: m.traits, ids: !m.vertex, strip: strip}
	contents, err := c.contents(req.Messages)
	if err != nil {
		return nil, false, err
	}
	body = &generateRequest{Contents: contents}
	config := &generationConfig{MaxOutputTokens: req.MaxTokens, Temperature: req.Temperature, ThinkingConfig: m.think(req.Effort)}
	if err := m.tools(body, req); err != nil {
		return nil, false, err
	}
	system := req.System
	if req.Schema != nil && !m.schema(config, body, req.Schema) {
		system = wire.Paragraphs(system, wire.SchemaPrompt(req.Schema.JSON))
	}
	if system != "" {
		body.SystemInstruction = &content{Role: "user", Parts: []any{part{Text: &system}}}
	}
	if !config.empty() {
		body.GenerationConfig = config
	}
	return body, c.sent, nil
}

func (g *generationConfig) empty() bool {
	return g.MaxOutputTokens == 0 && g.Temperature == nil && g.ResponseMimeType == "" && g.ThinkingConfig == nil
}

// think returns nil for the model's default.
func (m *model) think(effort string) *thinkingConfig {
	if effort == "" || m.traits.thinks == noThinking {
		return nil
	}
	t := &thinkingConfig{IncludeThoughts: effort != "none"}
	if m.traits.thinks == byLevel {
		t.ThinkingLevel = m.traits.levelOf(effort)
		return t
	}
	budget := m.traits.budgetOf(effort)
	t.ThinkingBudget = &budget
	return t
}

// schema sets the answer's schema and reports whether the model supports it.
func (m *model) schema(config *generationConfig, body *generateRequest, s *llm.Schema) bool {
	if len(body.Tools) > 0 && !m.traits.both {
		return false
	}
	if m.traits.jsonSchema {
		schema, ok := plainSchema(s.JSON)
		config.ResponseJSONSchema = schema
		if !ok {
			return false
		}
	} else {
		schema, ok := ownSchema(s.JSON)
		config.ResponseSchema = schema
		if !ok {
			return false
		}
	}
	config.ResponseMimeType = "application/json"
	return true
}

func (m *model) tools(body *generateRequest, req *llm.Request) error {
	if len(req.Tools) == 0 || req.ToolChoice == "none" && req.Schema != nil {
		return nil
	}
	var set toolSet
	for _, t := range req.Tools {
		f := function{Name: t.Name, Description: t.Doc}
		if len(t.Schema) > 0 {
			schema, ok := ownSchema(t.Schema)
			if !ok {
				return &llm.Error{Class: llm.BadRequest, Message: fmt.Sprintf("the schema of tool %s cannot be read", t.Name)}
			}
			f.Parameters = parameters(schema)
		}
		set.FunctionDeclarations = append(set.FunctionDeclarations, f)
	}
	body.Tools = []toolSet{set}
	if req.ToolChoice != "" {
		body.ToolConfig = &toolConfig{FunctionCallingConfig: choose(req.ToolChoice)}
	}
	return nil
}

func choose(choice string) calling {
	switch choice {
	case "auto":
		return calling{Mode: "AUTO"}
	case "none":
		return calling{Mode: "NONE"}
	case "required":
		return calling{Mode: "ANY"}
	}
	return calling{Mode: "ANY", Allowed: []string{choice}}
}
