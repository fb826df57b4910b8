package ollama

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"ponder/internal/compat"
	"ponder/llm"
)

// A chatBody with a prompt is of /api/generate.
type chatBody struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Tools    []tool          `json:"tools"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Format   json.RawMessage `json:"format"`
	Options  options         `json:"options"`
	Keep     json.RawMessage `json:"keep_alive"`

	Prompt string   `json:"prompt"`
	System string   `json:"system"`
	Images []string `json:"images"`
}

type options struct {
	Temperature *float64 `json:"temperature"`
	Predict     float64  `json:"num_predict"` // tokens; negative: no limit
}

type message struct {
	Role     string   `json:"role"`
	Content  string   `json:"content"`
	Thinking string   `json:"thinking,omitempty"`
	Images   []string `json:"images,omitempty"`
	Calls    []call   `json:"tool_calls,omitempty"`
	ToolName string   `json:"tool_name,omitempty"`
	CallID   string   `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index int             `json:"index,omitempty"`
		Name  string          `json:"name"`
		Args  json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type tool struct {
	Function struct {
		Name string          `json:"name"`
		Doc  string          `json:"description"`
		Args json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (a *api) newRequest(owner string, in *chatBody) (ask compat.Request, err error) {
	m, err := a.findModel(in.Model)
	if err != nil {
		return ask, err
	}
	ask = compat.Request{
		Owner: owner, Model: m, System: in.System, MaxTokens: int(min(max(0, in.Options.Predict), maxPredict)), Temperature: in.Options.Temperature,
	}
	if ask.Effort, err = effortOf(in.Think); err != nil {
		return ask, err
	}
	if ask.Schema, err = schemaOf(in.Format); err != nil {
		return ask, err
	}
	for i, t := range in.Tools {
		if t.Function.Name == "" {
			return ask, compat.InvalidField("tools", "tools[%d].function.name is required", i)
		}
		schema, ok := compat.SchemaOf(t.Function.Args)
		if !ok {
			return ask, compat.InvalidField("tools", "tools[%d].function.parameters: expected a JSON schema, which is an object", i)
		}
		ask.Tools = append(ask.Tools, llm.Tool{Name: t.Function.Name, Doc: t.Function.Doc, Schema: schema})
	}
	r := reader{ask: &ask, names: make(map[string]string)}
	for i, m := range in.Messages {
		if err := r.addMessage(i, m); err != nil {
			return ask, err
		}
	}
	return ask, nil
}

const maxPredict = 1 << 30

// loadReason returns the done_reason of a request to load or unload a model.
func (in *chatBody) loadReason() string {
	switch strings.Trim(string(in.Keep), `"`) {
	case "0", "0s", "0m":
		return "unload"
	}
	return "load"
}

func effortOf(js json.RawMessage) (string, error) {
	switch text := strings.Trim(string(js), `"`); text {
	case "", "null", "true":
		return "", nil
	case "false":
		return "none", nil
	default:
		if !compat.IsEffort(text) {
			return "", compat.InvalidField("think", "think: expected true, false, \"low\", \"medium\" or \"high\"")
		}
		return text, nil
	}
}

// schemaOf parses format: "json" or a schema.
func schemaOf(js json.RawMessage) (*llm.Schema, error) {
	switch text := strings.TrimSpace(string(js)); {
	case text == "", text == "null", text == `""`:
		return nil, nil
	case text == `"json"`:
		return &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object"}`)}, nil
	case strings.HasPrefix(text, "{"):
		return &llm.Schema{Name: "answer", JSON: js}, nil
	}
	return nil, compat.InvalidField("format", "format: expected \"json\" or a JSON schema")
}

type reader struct {
	ask   *compat.Request
	names map[string]string // names of tools by call id
	last  []string          // ids of calls without results
}

func (r *reader) addMessage(i int, m message) error {
	switch m.Role {
	case "system", "developer":
		r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + m.Content)
	case "user":
		msg := llm.Message{Role: llm.User, Parts: []llm.Part{{Text: m.Content}}}
		for j, text := range m.Images {
			image, err := imageOf(text)
			if err != nil {
				return compat.InvalidField("messages", "messages[%d].images[%d]: %s", i, j, err)
			}
			msg.Parts = append(msg.Parts, llm.Part{Media: image})
		}
		r.appendMessage(msg)
	case "assistant":
		r.addAssistant(i, m)
	case "tool":
		return r.addToolResult(i, m)
	default:
		return compat.InvalidField("messages", "messages[%d].role: expected system, user, assistant or tool", i)
	}
	return nil
}

func (r *reader) addAssistant(i int, m message) {
	msg := llm.Message{Role: llm.Assistant}
	if m.Content != "" || len(m.Calls) == 0 {
		msg.Parts = append(msg.Parts, llm.Part{Text: m.Content})
	}
	r.last = nil
	for j, c := range m.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", i, j)
		}
		r.names[c.ID], r.last = c.Function.Name, append(r.last, c.ID)
		msg.Parts = append(msg.Parts, llm.Part{Call: &llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: argsOf(c.Function.Args)}})
	}
	r.appendMessage(msg)
}

// addToolResult appends a tool result. Without an id it belongs to the first open call, of that name if given.
func (r *reader) addToolResult(i int, m message) error {
	id := m.CallID
	if id == "" {
		for i, open := range r.last {
			if m.ToolName == "" || r.names[open] == m.ToolName {
				id, r.last = open, append(r.last[:i:i], r.last[i+1:]...)
				break
			}
		}
	}
	name := cmp.Or(r.names[id], m.ToolName)
	if id == "" || name == "" {
		return compat.InvalidField("messages", "messages[%d]: no tool call before it has this result", i)
	}
	part := llm.Part{Result: &llm.ToolResult{ID: id, Name: name, Text: m.Content}}
	list := r.ask.Messages
	if n := len(list); n > 0 && list[n-1].Role == llm.User && list[n-1].Parts[0].Result != nil {
		list[n-1].Parts = append(list[n-1].Parts, part)
		return nil
	}
	r.appendMessage(llm.Message{Role: llm.User, Parts: []llm.Part{part}})
	return nil
}

// argsOf accepts an object, or a string with one.
func argsOf(js json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(js, &text) == nil {
		js = json.RawMessage(text)
	}
	if object, ok := compat.SchemaOf(js); ok && object != nil {
		return object
	}
	return json.RawMessage(`{}`)
}

func (r *reader) appendMessage(m llm.Message) { r.ask.Messages = append(r.ask.Messages, m) }

func imageOf(text string) (*llm.Media, error) {
	if _, rest, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(text, "data:") {
		text = rest
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return nil, fmt.Errorf("expected base64")
	}
	return &llm.Media{Type: http.DetectContentType(data), Data: data}, nil
}
