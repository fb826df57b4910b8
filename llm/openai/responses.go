package openai

import (
	"encoding/json"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// The order of fields is fixed.
type (
	responsesRequest struct {
		Model       string      `json:"model"`
		Stream      bool        `json:"stream"`
		Store       bool        `json:"store"`
		Include     []string    `json:"include,omitempty"`
		MaxTokens   int         `json:"max_output_tokens,omitempty"`
		Temperature *float64    `json:"temperature,omitempty"`
		Reasoning   *effort     `json:"reasoning,omitempty"`
		CacheKey    string      `json:"prompt_cache_key,omitempty"`
		Text        *textFormat `json:"text,omitempty"`
		ToolChoice  any         `json:"tool_choice,omitempty"`
		Tools       []any       `json:"tools,omitempty"`
		Input       []any       `json:"input"`
	}
	textFormat struct {
		Format flatFormat `json:"format"`
	}
	flatFormat struct {
		Type   string          `json:"type"`
		Name   string          `json:"name,omitempty"`
		Doc    string          `json:"description,omitempty"`
		Schema json.RawMessage `json:"schema,omitempty"`
		Strict *bool           `json:"strict,omitempty"`
	}
	responsesTool struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Doc        string          `json:"description,omitempty"`
		Parameters json.RawMessage `json:"parameters"`
		Strict     bool            `json:"strict"` // the default is true
	}
)

type (
	inputMessage struct {
		Role    string          `json:"role"`
		Content any             `json:"content"` // string or []inputPart
		Phase   json.RawMessage `json:"phase,omitempty"`
	}
	inputPart struct {
		Type  string  `json:"type"`
		Text  *string `json:"text,omitempty"`
		Image string  `json:"image_url,omitempty"`
		Name  string  `json:"filename,omitempty"`
		Data  string  `json:"file_data,omitempty"`
		URL   string  `json:"file_url,omitempty"`
	}
	inputCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	inputCustom struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Name   string `json:"name"`
		Input  string `json:"input"`
	}
	inputResult struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // string or []inputPart
	}
)

// minOutput is the API's minimum.
const minOutput = 16

// planResponses has the server store nothing: encrypted reasoning goes back with its
// calls.
func (m *model) planResponses(req *llm.Request, without feature) (*plan, error) {
	body := &responsesRequest{Model: m.id, Stream: true, Tools: m.responsesTools(req.Tools)}
	p := &plan{url: m.responsesURL, body: body}
	if req.MaxTokens > 0 {
		body.MaxTokens = max(req.MaxTokens, minOutput)
	}
	levels := m.traits.levels
	if !m.host.openai {
		levels = []string{"none", "low", "medium", "high"}
	}
	if len(levels) > 0 && p.useFeature(featEncrypted, without) {
		body.Include = []string{"reasoning.encrypted_content"}
	}
	if req.Effort != "" && len(levels) > 0 && p.useFeature(featEffort, without) {
		body.Reasoning = &effort{Effort: nearestLevel(req.Effort, levels)}
		if p.useFeature(featSummary, without) {
			body.Reasoning.Summary = "auto"
		}
	}
	if req.Temperature != nil && !m.traits.reasons && p.useFeature(featTemperature, without) {
		body.Temperature = req.Temperature
	}
	if req.Cache && m.host.cacheKey && p.useFeature(featCacheKey, without) {
		body.CacheKey = cacheKey(req)
	}
	body.ToolChoice = m.responsesChoice(req)
	words := m.responsesSchema(body, p, req.Schema, without)
	w := &responsesWriter{model: m, turnRules: newTurnRules(without)}
	if err := p.writePrompt(w, req, wire.Paragraphs(req.System, words), without); err != nil {
		return nil, err
	}
	body.Input = w.out
	p.fold = &responsesFold{model: m.name, size: req.Size(), answer: p.answer}
	return p, nil
}

// responsesSchema asks for a schema by the best tier and returns the words that it needs
// in the prompt.
func (m *model) responsesSchema(body *responsesRequest, p *plan, s *llm.Schema, without feature) (words string) {
	if s == nil {
		return ""
	}
	shape := m.lookupShape(p, s.JSON, without)
	t := m.host.tierFor(shape, len(body.Tools), true, without)
	p.uses |= t.requiredFeature()
	name := wire.SchemaName(s)
	switch t {
	case tierNative:
		body.Text = &textFormat{flatFormat{Type: "json_schema", Name: name, Doc: shape.doc, Schema: shape.schema, Strict: &shape.strict}}
		return ""
	case tierForced:
		p.answer = name
		body.Tools = []any{responsesTool{Type: "function", Name: name, Doc: "The answer.", Parameters: s.JSON}}
		body.ToolChoice = choice{Type: "function", Name: name}
		return ""
	case tierMode:
		body.Text = &textFormat{flatFormat{Type: "json_object"}}
	}
	return wire.SchemaPrompt(s.JSON)
}

func (m *model) responsesTools(tools []llm.Tool) (out []any) {
	for _, raw := range m.builtin {
		out = append(out, raw)
	}
	for _, t := range tools {
		out = append(out, responsesTool{Type: "function", Name: t.Name, Doc: t.Doc, Parameters: toolParameters(t.Schema)})
	}
	return out
}

func (m *model) responsesChoice(req *llm.Request) any {
	c := m.toolChoice(req)
	if named, ok := c.(choice); ok {
		return choice{Type: "function", Name: named.Function.Name}
	}
	return c
}

type responsesWriter struct {
	*model
	turnRules
	out    []any
	open   []string        // unanswered
	custom map[string]bool // calls of custom tools, by ID
}

// writeConversation writes all items after the system prompt.
func (w *responsesWriter) writeConversation(req *llm.Request, system string) error {
	if system != "" {
		role := "system"
		if w.traits.reasons {
			role = "developer"
		}
		w.addItem(inputMessage{Role: role, Content: system})
	}
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			w.addAssistant(m)
		} else if err := w.addUser(m); err != nil {
			return err
		}
	}
	w.closeCalls()
	return nil
}

// closeCalls adds results for unanswered calls, which the API refuses.
func (w *responsesWriter) closeCalls() {
	for _, id := range w.open {
		w.addItem(inputResult{Type: w.resultType(id), CallID: id, Output: noResult})
	}
	w.open = nil
}

func (w *responsesWriter) resultType(id string) string {
	if w.custom[id] {
		return customCall + "_output"
	}
	return "function_call_output"
}

// addCall writes a call. Only its own model gets a call of a custom tool as such.
func (w *responsesWriter) addCall(c *llm.ToolCall, custom bool) {
	id := fitID(c.ID, 0)
	w.open = append(w.open, id)
	if !custom {
		w.addItem(inputCall{Type: "function_call", CallID: id, Name: c.Name, Arguments: argumentText(c.Input)})
		return
	}
	if w.custom == nil {
		w.custom = make(map[string]bool)
	}
	w.custom[id] = true
	text := string(c.Input)
	_ = json.Unmarshal(c.Input, &text) // else the text was JSON
	w.addItem(inputCustom{Type: customCall, CallID: id, Name: c.Name, Input: text})
}

// addUser writes results first.
func (w *responsesWriter) addUser(m llm.Message) error {
	var rest []inputPart
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		id := fitID(p.Result.ID, 0)
		if !removeID(&w.open, id) {
			rest = append(rest, inputText("Result of "+p.Result.Name+": "+p.Result.Text))
			continue
		}
		out := inputResult{Type: w.resultType(id), CallID: id, Output: p.Result.Text}
		if p.Result.Media != nil {
			out.Output = []inputPart{inputText(p.Result.Text), inputMedia(p.Result.Media)}
		}
		w.addItem(out)
	}
	w.closeCalls()
	for _, p := range m.Parts {
		switch {
		case p.Media != nil:
			if strings.HasPrefix(p.Media.Type, "audio/") {
				return &llm.Error{Class: llm.BadRequest, Message: "cannot send " + p.Media.Type + " to the Responses API"}
			}
			rest = append(rest, inputMedia(p.Media))
		case p.Text != "":
			rest = append(rest, inputText(p.Text))
		}
	}
	if len(rest) > 0 {
		w.addContent(rest)
	}
	return nil
}

func inputText(s string) inputPart { return inputPart{Type: "input_text", Text: &s} }

func inputMedia(m *llm.Media) inputPart {
	switch {
	case strings.HasPrefix(m.Type, "image/"):
		return inputPart{Type: "input_image", Image: mediaURL(m)}
	case strings.HasPrefix(m.Type, "text/") && m.URL == "":
		return inputText(string(m.Data))
	case m.URL != "":
		return inputPart{Type: "input_file", URL: m.URL}
	}
	return inputPart{Type: "input_file", Name: m.Name, Data: mediaURL(m)}
}

func isOwn(item any) bool { _, ok := item.(wire.Object); return ok }

// addAssistant returns reasoning and server actions only with calls.
func (w *responsesWriter) addAssistant(m llm.Message) {
	w.closeCalls()
	calls := len(m.Calls()) > 0
	for _, p := range m.Parts {
		own, _ := wire.ParseObject(wire.OpaqueData(p.Opaque, w.name)) // else nil
		switch {
		case p.Call != nil:
			w.addCall(p.Call, own.String("type") == customCall && !w.bare)
		case p.Text != "":
			w.addItem(inputMessage{Role: "assistant", Content: p.Text, Phase: own.Value("phase")})
		case own.String("type") != "" && calls && !w.bare:
			w.opaque = true
			w.addItem(own)
		}
	}
	for n := len(w.out); n > 0 && isOwn(w.out[n-1]); n-- {
		w.out = w.out[:n-1] // refused at the end
	}
}
