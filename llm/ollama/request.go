package ollama

import (
	"cmp"
	"encoding/json"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	chatRequest struct {
		Model     string          `json:"model"`
		Messages  []message       `json:"messages"`
		Tools     []tool          `json:"tools,omitempty"`
		Format    json.RawMessage `json:"format,omitempty"`
		Think     any             `json:"think,omitempty"`
		Stream    bool            `json:"stream"`
		Truncate  bool            `json:"truncate"` // false: keep the start of oversized prompts
		Shift     bool            `json:"shift"`    // false: also during the answer
		KeepAlive string          `json:"keep_alive,omitempty"`
		Options   options         `json:"options"`
	}
	options struct {
		NumCtx      int      `json:"num_ctx,omitempty"`
		NumPredict  int      `json:"num_predict,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
		Penalty     float64  `json:"frequency_penalty,omitempty"`
	}
	message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		Thinking   string     `json:"thinking,omitempty"`
		Images     [][]byte   `json:"images,omitempty"`
		ToolCalls  []toolCall `json:"tool_calls,omitempty"`
		ToolName   string     `json:"tool_name,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	toolCall struct {
		ID       string `json:"id,omitempty"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

func (m *model) newRequest(req *llm.Request, f facts) (*chatRequest, error) {
	plan := &chatRequest{Model: m.id, Stream: true, KeepAlive: m.keepAlive, Think: f.thinkValue(req.Effort), Tools: allowedTools(req)}
	plan.Options = options{NumPredict: max(0, req.MaxTokens), Temperature: req.Temperature, Penalty: req.Penalty}
	system := req.System
	if req.Schema != nil {
		if plan.Format = req.Schema.JSON; len(plan.Tools) > 0 { // it prevents calls
			plan.Format = nil
			system = wire.Paragraphs(system, wire.SchemaPrompt(req.Schema.JSON))
		}
	}
	if len(plan.Tools) > 0 && wire.RequiresCall(req.ToolChoice) {
		system = wire.Paragraphs(system, "Answer by calling a tool.")
	}
	if system != "" {
		plan.Messages = append(plan.Messages, message{Role: "system", Content: system})
	}
	tail := openLoop(req.Messages)
	for i, msg := range req.Messages {
		more, err := toMessages(msg, i >= tail)
		if err != nil {
			return nil, err
		}
		plan.Messages = append(plan.Messages, more...)
	}
	plan.Options.NumCtx = m.requestContext(req, f)
	return plan, nil
}

// allowedTools omits tools that must not be called, because the API has no tool choice.
func allowedTools(req *llm.Request) (out []tool) {
	if req.ToolChoice == "none" {
		return nil
	}
	for _, t := range req.Tools {
		if wire.RequiresCall(req.ToolChoice) && req.ToolChoice != "required" && req.ToolChoice != t.Name {
			continue
		}
		f := function{Name: t.Name, Description: t.Doc, Parameters: t.Schema}
		if len(f.Parameters) == 0 {
			f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{Type: "function", Function: f})
	}
	return out
}

// openLoop returns the index of the user's last text; models need only later reasoning.
func openLoop(messages []llm.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.User && messages[i].Text() != "" {
			return i
		}
	}
	return 0
}

// toMessages returns one message for each result and one for the rest.
func toMessages(msg llm.Message, thoughts bool) (out []message, err error) {
	rest := message{Role: string(msg.Role)}
	var text []string
	for _, p := range msg.Parts {
		switch {
		case p.Text != "":
			text = append(text, p.Text)
		case p.Reasoning != "" && thoughts:
			rest.Thinking += p.Reasoning
		case p.Call != nil:
			call := toolCall{ID: p.Call.ID}
			call.Function.Name = p.Call.Name
			call.Function.Arguments = wire.CallObject(p.Call.Input)
			rest.ToolCalls = append(rest.ToolCalls, call)
		case p.Result != nil:
			result, err := toolResult(p.Result)
			if err != nil {
				return nil, err
			}
			out = append(out, result)
		case p.Media != nil:
			written, err := rest.attachMedia(p.Media)
			if err != nil {
				return nil, err
			}
			text = append(text, written...)
		}
	}
	rest.Content = strings.Join(text, "\n\n")
	if rest.Content == "" && rest.Thinking == "" && len(rest.Images) == 0 && len(rest.ToolCalls) == 0 {
		return out, nil
	}
	return append(out, rest), nil
}

func toolResult(r *llm.ToolResult) (message, error) {
	m := message{Role: "tool", Content: r.Text, ToolName: r.Name, ToolCallID: r.ID}
	if r.Failed {
		m.Content = "Error: " + r.Text
	}
	if r.Media != nil {
		written, err := m.attachMedia(r.Media)
		if err != nil {
			return m, err
		}
		m.Content = wire.Paragraphs(append([]string{m.Content}, written...)...)
	}
	return m, nil
}

func (m *message) attachMedia(media *llm.Media) ([]string, error) {
	switch {
	case media.URL != "":
		return nil, &llm.Error{Class: llm.BadRequest, Message: "Ollama takes images themselves, not their addresses"}
	case strings.HasPrefix(media.Type, "image/"):
		m.Images = append(m.Images, media.Data)
		return nil, nil
	case strings.HasPrefix(media.Type, "text/"):
		return []string{wire.Paragraphs(media.Name, strings.ToValidUTF8(string(media.Data), "\uFFFD"))}, nil
	}
	return nil, &llm.Error{Class: llm.BadRequest, Message: "Ollama takes images and text, not " + media.Type}
}

const (
	// Avoids reloads in short conversations.
	minContext = 8192

	// Default and maximum room for an answer.
	defaultAnswerTokens, maxAnswerTokens = 4096, 16384

	// For models that report none.
	unknownContext = 32768
)

// contextSize returns the context size for a request: the model's num_ctx, a power of two, or the
// model's maximum.
func (f facts) contextSize(req *llm.Request) int {
	if f.defaultContext > 0 {
		return f.window()
	}
	answer := defaultAnswerTokens
	if req.MaxTokens > 0 {
		answer = min(req.MaxTokens, maxAnswerTokens)
	}
	prompt := wire.Tokens(req.Size()) + 16*len(req.Messages) + 256 // template
	need := prompt + prompt/5 + answer
	maxContext := cmp.Or(f.context, unknownContext)
	size := minContext
	for size < need && size < maxContext {
		size *= 2
	}
	return min(size, maxContext)
}
