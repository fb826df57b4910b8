package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/limitio"
	"ponder/llm"
)

type body struct {
	Model      string          `json:"model"`
	Messages   []message       `json:"messages"`
	Tools      []Tool          `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Format     *format         `json:"response_format"`
	Stream     bool            `json:"stream"`
	Options    struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens     int      `json:"max_tokens"`
	MaxCompletion int      `json:"max_completion_tokens"`
	Temperature   *float64 `json:"temperature"`
	Effort        string   `json:"reasoning_effort"`
	N             *int     `json:"n"`
	Logprobs      bool     `json:"logprobs"`

	// Of Mistral and Groq.
	SafePrompt bool    `json:"safe_prompt"`
	PromptMode *string `json:"prompt_mode"`       // null or reasoning
	Shown      *string `json:"reasoning_format"`  // parsed or hidden
	Include    *bool   `json:"include_reasoning"` // false: hidden
}

type message struct {
	Role    string          `json:"role"`
	Content limitio.RawJSON `json:"content"`
	Calls   []call          `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
	Name    string          `json:"name"`
}

type call struct {
	Index    *int     `json:"index,omitempty"` // in a stream
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name string    `json:"name"`
	Args arguments `json:"arguments"`
}

// arguments are the JSON of a call. Some clients send an object instead of text.
type arguments string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *arguments) UnmarshalJSON(js []byte) error {
	if text := (*string)(a); len(js) > 0 && js[0] == '"' {
		return json.Unmarshal(js, text)
	}
	if *a = arguments(js); string(js) == "null" {
		*a = ""
	}
	return nil
}

type Tool struct {
	Type     string `json:"type"`
	Function *struct {
		Name   string          `json:"name"`
		Doc    string          `json:"description"`
		Schema json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type format struct {
	Type   string `json:"type"` // text, json_object or json_schema
	Schema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

func (a *api) newRequest(owner string, in *body) (ask compat.Request, err error) {
	m, err := ModelOf(a.desk, in.Model)
	if err != nil {
		return ask, err
	}
	switch {
	case in.Logprobs:
		return ask, compat.InvalidField("logprobs", "logprobs: not supported; omit it")
	case in.MaxTokens < 0 || in.MaxCompletion < 0:
		return ask, compat.InvalidField("max_completion_tokens", "max_completion_tokens: expected at least 1")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > maxTemperature):
		return ask, compat.InvalidField("temperature", "temperature: expected 0 to %d", maxTemperature)
	case in.Shown != nil && *in.Shown != "parsed" && *in.Shown != "hidden":
		return ask, compat.InvalidField("reasoning_format", "reasoning_format: expected parsed or hidden")
	case in.PromptMode != nil && *in.PromptMode != "reasoning":
		return ask, compat.InvalidField("prompt_mode", "prompt_mode: expected null or reasoning")
	}
	if in.Effort == "default" { // of Groq
		in.Effort = ""
	}
	if in.Effort == "" && in.PromptMode != nil {
		in.Effort = "high"
	}
	if !compat.IsEffort(in.Effort) {
		return ask, compat.InvalidField("reasoning_effort", "reasoning_effort: expected none, minimal, low, medium, high, xhigh or max")
	}
	ask = compat.Request{Owner: owner, Model: m, MaxTokens: max(in.MaxTokens, in.MaxCompletion), Temperature: in.Temperature, Effort: in.Effort}
	if in.SafePrompt {
		ask.System = safePrompt
	}
	if err := in.readTools(&ask); err != nil {
		return ask, err
	}
	if ask.Schema, err = in.Format.toSchema(); err != nil {
		return ask, err
	}
	r := reader{ask: &ask, names: make(map[string]string)}
	for i, m := range in.Messages {
		if err := r.addMessage(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return ask, err
		}
	}
	return ask, nil
}

const maxTemperature = 2

// safePrompt is what Mistral adds to the system prompt for safe_prompt.
const safePrompt = "Always assist with care, respect, and truth. Respond with utmost utility yet securely. Avoid harmful, unethical, prejudiced, or negative content. Ensure replies promote fairness and positivity."

// hidesReasoning reports whether the answer must have no reasoning.
func (in *body) hidesReasoning() bool {
	return in.Include != nil && !*in.Include || in.Shown != nil && *in.Shown == "hidden"
}

func (in *body) readTools(ask *compat.Request) (err error) {
	for i, t := range in.Tools {
		if t.Type != "function" && t.Type != "" {
			return compat.InvalidField("tools", "tools[%d].type: expected function", i)
		}
		if t.Function == nil || t.Function.Name == "" {
			return compat.InvalidField("tools", "tools[%d].function.name is required", i)
		}
		schema, ok := compat.SchemaOf(t.Function.Schema)
		if !ok {
			return compat.InvalidField("tools", "tools[%d].function.parameters: expected a JSON schema, which is an object", i)
		}
		ask.Tools = append(ask.Tools, llm.Tool{Name: t.Function.Name, Doc: t.Function.Doc, Schema: schema})
	}
	if ask.ToolChoice, err = ChoiceOf(in.ToolChoice); err != nil {
		return err
	}
	return ask.CheckChoice("tool_choice")
}

// ChoiceOf parses a word, or an object with a name.
func ChoiceOf(js json.RawMessage) (string, error) {
	if len(js) == 0 || string(js) == "null" {
		return "", nil
	}
	var word string
	if json.Unmarshal(js, &word) == nil {
		switch word {
		case "auto", "none", "required":
			return word, nil
		case "any": // of Mistral
			return "required", nil
		}
		return "", compat.InvalidField("tool_choice", "tool_choice: expected auto, none, required, any or an object")
	}
	var in struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(js, &in) != nil {
		return "", compat.InvalidField("tool_choice", "tool_choice: expected auto, none, required or an object")
	}
	if in.Type == "allowed_tools" {
		return "", compat.InvalidField("tool_choice", "tool_choice: allowed_tools is not supported; send only the allowed tools")
	}
	if in.Function.Name != "" {
		return in.Function.Name, nil
	}
	return in.Name, nil
}

func (f *format) toSchema() (*llm.Schema, error) {
	switch {
	case f == nil || f.Type == "text" || f.Type == "":
		return nil, nil
	case f.Type == "json_object":
		return &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object"}`)}, nil
	case f.Type == "json_schema" && f.Schema != nil:
		if js, ok := compat.SchemaOf(f.Schema.Schema); ok && js != nil {
			return &llm.Schema{Name: cmp.Or(f.Schema.Name, "answer"), JSON: js}, nil
		}
	}
	return nil, compat.InvalidField("response_format", "response_format: expected text, json_object, or json_schema with a schema")
}

type reader struct {
	ask   *compat.Request
	names map[string]string // names of tools by call id
}

func (r *reader) addMessage(where string, m message) error {
	parts, err := PartsOf(where+".content", m.Content)
	if err != nil {
		return err
	}
	text := llm.Message{Parts: parts}.Text()
	switch m.Role {
	case "system", "developer":
		r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + text)
	case "user":
		r.appendMessage(llm.Message{Role: llm.User, Parts: parts})
	case "assistant":
		msg := llm.Message{Role: llm.Assistant}
		if text != "" || len(m.Calls) == 0 {
			msg.Parts = append(msg.Parts, llm.Part{Text: text})
		}
		for _, c := range m.Calls {
			r.names[c.ID] = c.Function.Name
			msg.Parts = append(msg.Parts, llm.Part{Call: &llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: InputOf(string(c.Function.Args))}})
		}
		r.appendMessage(msg)
	case "tool", "function":
		if r.names[m.CallID] == "" && m.Name == "" {
			return compat.InvalidField("messages", "%s: no tool call before it has this tool_call_id", where)
		}
		name := r.names[m.CallID]
		name = cmp.Or(name, m.Name)
		r.addToolResult(llm.ToolResult{ID: m.CallID, Name: name, Text: text})
	default:
		return compat.InvalidField("messages", "%s.role: expected system, developer, user, assistant or tool", where)
	}
	return nil
}

// addToolResult appends a tool result. Results of a round share a message.
func (r *reader) addToolResult(res llm.ToolResult) {
	list := r.ask.Messages
	if n := len(list); n > 0 && list[n-1].Role == llm.User && list[n-1].Parts[0].Result != nil {
		list[n-1].Parts = append(list[n-1].Parts, llm.Part{Result: &res})
		return
	}
	r.appendMessage(llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &res}}})
}

func (r *reader) appendMessage(m llm.Message) { r.ask.Messages = append(r.ask.Messages, m) }

// InputOf returns the arguments as JSON: an object, or else a string.
func InputOf(args string) json.RawMessage {
	if json.Valid([]byte(args)) && strings.HasPrefix(strings.TrimSpace(args), "{") {
		return json.RawMessage(args)
	}
	if strings.TrimSpace(args) == "" {
		return json.RawMessage(`{}`)
	}
	js, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return js
}

// A contentPart covers chat completions and responses.
type contentPart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Refusal string          `json:"refusal"`
	Image   limitio.RawJSON `json:"image_url"` // an object with a url, or a string
	File    *struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string `json:"filename"`

	Document limitio.RawJSON `json:"document_url"` // of Mistral: a string, or an object with a url
}

// PartsOf parses a text or a list of parts. Errors name where.
func PartsOf(where string, js []byte) ([]llm.Part, error) {
	var text string
	if len(js) == 0 || json.Unmarshal(js, &text) == nil {
		return []llm.Part{{Text: text}}, nil
	}
	var list []contentPart
	if json.Unmarshal(js, &list) != nil {
		return nil, compat.InvalidField("messages", "%s: expected a text or a list of parts", where)
	}
	parts := []llm.Part{}
	for i, c := range list {
		p, err := c.toPart(fmt.Sprintf("%s[%d]", where, i))
		if err != nil {
			return nil, err
		}
		if c.Type != "thinking" { // of an earlier answer
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, llm.Part{})
	}
	return parts, nil
}

func (c contentPart) toPart(where string) (llm.Part, error) {
	switch c.Type {
	case "text", "input_text", "output_text":
		return llm.Part{Text: c.Text}, nil
	case "refusal":
		return llm.Part{Text: c.Refusal}, nil
	case "thinking":
		return llm.Part{}, nil
	case "image_url", "input_image":
		if url, ok := urlOf(c.Image); ok {
			return mediaAt(where, url, "image/*", "")
		}
	case "document_url":
		if url, ok := urlOf(c.Document); ok {
			return mediaAt(where, url, "application/octet-stream", "")
		}
	case "file":
		if c.File != nil {
			return mediaAt(where, c.File.Data, "application/octet-stream", c.File.Name)
		}
	case "input_file":
		if c.FileURL != "" {
			return mediaAt(where, c.FileURL, "application/octet-stream", c.Filename)
		}
		return mediaAt(where, c.FileData, "application/octet-stream", c.Filename)
	}
	return llm.Part{}, compat.InvalidField("messages", "%s.type: expected text, image_url or file with its content", where)
}

// urlOf parses a string, or an object with a url.
func urlOf(js []byte) (string, bool) {
	var at struct {
		URL string `json:"url"`
	}
	ok := json.Unmarshal(js, &at.URL) == nil || json.Unmarshal(js, &at) == nil
	return at.URL, ok
}

func mediaAt(where, url, kind, name string) (llm.Part, error) {
	m, ok := compat.MediaAt(url)
	if !ok {
		return llm.Part{}, compat.InvalidField("messages", "%s: expected data:TYPE;base64, or %s", where, compat.Elsewhere)
	}
	m.Type, m.Name = cmp.Or(m.Type, kind), name
	return llm.Part{Media: &m}, nil
}
