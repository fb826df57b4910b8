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
		FunctionCallingConfig callingConfig `json:"functionCallingConfig"`
	}
	callingConfig struct {
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

// newRequest translates a request without some features. It returns those that a model may refuse.
func (m *model) newRequest(req *llm.Request, without feature) (body *generateRequest, uses feature, err error) {
	c := conversation{model: m.name, traits: m.traits, ids: !m.vertex, strip: without&featOpaque != 0}
	contents, err := c.writeContents(req.Messages)
	if err != nil {
		return nil, 0, err
	}
	body = &generateRequest{Contents: contents}
	config := &generationConfig{MaxOutputTokens: req.MaxTokens, Temperature: req.Temperature, ThinkingConfig: m.newThinking(req.Effort)}
	if err := m.addTools(body, req); err != nil {
		return nil, 0, err
	}
	if c.sent {
		uses = featOpaque
	}
	words := m.schemaWords(config, body, req.Schema, &uses, without)
	body.setSystem(wire.Paragraphs(req.System, words), &uses, without)
	if !config.isEmpty() {
		body.GenerationConfig = config
	}
	return body, uses, nil
}

func (g *generationConfig) isEmpty() bool {
	return g.MaxOutputTokens == 0 && g.Temperature == nil && g.ResponseMimeType == "" && g.ThinkingConfig == nil
}

// newThinking returns nil for the model's default.
func (m *model) newThinking(effort string) *thinkingConfig {
	if effort == "" || m.traits.reasoning == noThinking {
		return nil
	}
	t := &thinkingConfig{IncludeThoughts: effort != "none"}
	if m.traits.reasoning == byLevel {
		t.ThinkingLevel = m.traits.effortLevel(effort)
		return t
	}
	budget := m.traits.effortBudget(effort)
	t.ThinkingBudget = &budget
	return t
}

// setSchema sets the answer's schema and reports whether the model supports it.
func (m *model) setSchema(config *generationConfig, body *generateRequest, s *llm.Schema) bool {
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

func (m *model) addTools(body *generateRequest, req *llm.Request) error {
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
			f.Parameters = toolParameters(schema)
		}
		set.FunctionDeclarations = append(set.FunctionDeclarations, f)
	}
	body.Tools = []toolSet{set}
	if req.ToolChoice != "" {
		body.ToolConfig = &toolConfig{FunctionCallingConfig: newCalling(req.ToolChoice)}
	}
	return nil
}

func newCalling(choice string) callingConfig {
	switch choice {
	case "auto":
		return callingConfig{Mode: "AUTO"}
	case "none":
		return callingConfig{Mode: "NONE"}
	case "required":
		return callingConfig{Mode: "ANY"}
	}
	return callingConfig{Mode: "ANY", Allowed: []string{choice}}
}
