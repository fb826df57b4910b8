package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

type body struct {
	Model       string          `json:"model"`
	MaxTokens   *int            `json:"max_tokens"`
	Messages    []message       `json:"messages"`
	System      json.RawMessage `json:"system"`
	Tools       []tool          `json:"tools"`
	ToolChoice  *choice         `json:"tool_choice"`
	Stream      bool            `json:"stream"`
	Temperature *float64        `json:"temperature"`
	Thinking    *struct {
		Type   string `json:"type"` // enabled, adaptive or disabled
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Output *struct {
		Effort string `json:"effort"`
		Format *struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Metadata struct {
		User string `json:"user_id"`
	} `json:"metadata"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type tool struct {
	Type   string          `json:"type"` // custom, or a server tool
	Name   string          `json:"name"`
	Doc    string          `json:"description"`
	Schema json.RawMessage `json:"input_schema"`
}

type choice struct {
	Type string `json:"type"` // auto, any, tool or none
	Name string `json:"name"`
}

// A block has the fields of all types.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Source  *source         `json:"source"`
	Title   string          `json:"title"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	UseID   string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

type source struct {
	Type  string `json:"type"` // base64, url or text
	Media string `json:"media_type"`
	Data  string `json:"data"`
	URL   string `json:"url"`
}

func (a *api) newRequest(owner string, in *body) (ask compat.Request, err error) {
	if in.Model == "" {
		return ask, compat.InvalidField("model", "model: Field required")
	}
	m, ok := a.desk.Model(in.Model)
	if !ok {
		return ask, &compat.APIError{Status: 404, Field: "model", Detail: "model: " + textkit.Prefix(in.Model, 100)}
	}
	if t := in.Temperature; t != nil && (*t < 0 || *t > 1) {
		return ask, compat.InvalidField("temperature", "temperature: Input should be from 0 to 1")
	}
	ask = compat.Request{Owner: owner, Model: m, Temperature: in.Temperature}
	if in.MaxTokens != nil {
		if *in.MaxTokens < 1 {
			return ask, compat.InvalidField("max_tokens", "max_tokens: Input should be greater than or equal to 1")
		}
		ask.MaxTokens = *in.MaxTokens
	}
	if ask.System, err = textOf("system", in.System); err != nil {
		return ask, err
	}
	if err := in.readEffort(&ask); err != nil {
		return ask, err
	}
	if err := in.readTools(&ask); err != nil {
		return ask, err
	}
	r := reader{ask: &ask, names: make(map[string]string)}
	for i, m := range in.Messages {
		if err := r.addMessage(i, m); err != nil {
			return ask, err
		}
	}
	return ask, nil
}

// readEffort parses the effort, or derives it from the thinking budget.
func (in *body) readEffort(ask *compat.Request) error {
	if in.Output != nil {
		if !compat.IsEffort(in.Output.Effort) {
			return compat.InvalidField("output_config.effort", "output_config.effort: expected low, medium, high, xhigh or max")
		}
		ask.Effort = in.Output.Effort
		if f := in.Output.Format; f != nil {
			js, ok := compat.SchemaOf(f.Schema)
			if !ok || js == nil {
				return compat.InvalidField("output_config.format", "output_config.format.schema: Input should be an object")
			}
			ask.Schema = &llm.Schema{Name: "answer", JSON: js}
		}
	}
	if in.Thinking == nil || ask.Effort != "" {
		return nil
	}
	switch in.Thinking.Type {
	case "disabled", "adaptive":
	case "enabled":
		for _, e := range []struct {
			tokens int
			effort string
		}{{4096, "low"}, {16384, "medium"}, {32768, "high"}, {1 << 30, "xhigh"}} {
			if in.Thinking.Budget <= e.tokens {
				ask.Effort = e.effort
				return nil
			}
		}
	default:
		return compat.InvalidField("thinking.type", "thinking.type: expected enabled, adaptive or disabled")
	}
	return nil
}

// readTools parses the client tools. Server tools are ignored: Ponder has its own.
func (in *body) readTools(ask *compat.Request) error {
	for i, t := range in.Tools {
		if t.Type != "" && t.Type != "custom" {
			continue
		}
		if t.Name == "" {
			return compat.InvalidField("tools", "tools.%d.name: Field required", i)
		}
		schema, ok := compat.SchemaOf(t.Schema)
		if !ok {
			return compat.InvalidField("tools", "tools.%d.input_schema: Input should be an object", i)
		}
		ask.Tools = append(ask.Tools, llm.Tool{Name: t.Name, Doc: t.Doc, Schema: schema})
	}
	if in.ToolChoice == nil {
		return nil
	}
	switch c := in.ToolChoice; c.Type {
	case "auto", "none":
		ask.ToolChoice = c.Type
	case "any":
		ask.ToolChoice = "required"
	case "tool":
		ask.ToolChoice = c.Name
	default:
		return compat.InvalidField("tool_choice.type", "tool_choice.type: expected auto, any, tool or none")
	}
	return ask.CheckChoice("tool_choice")
}

func textOf(where string, js json.RawMessage) (string, error) {
	if len(js) == 0 || string(js) == "null" {
		return "", nil
	}
	list, err := parseBlocks(where, js)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, b := range list {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

func parseBlocks(where string, js json.RawMessage) (list []block, err error) {
	var text string
	if json.Unmarshal(js, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	if err := json.Unmarshal(js, &list); err != nil {
		return nil, compat.InvalidField(where, "%s: expected a text or a list of blocks", where)
	}
	return list, nil
}

type reader struct {
	ask   *compat.Request
	names map[string]string // names of tools by call id
}

func (r *reader) addMessage(i int, m message) error {
	where := "messages." + itoa(i)
	list, err := parseBlocks(where+".content", m.Content)
	if err != nil {
		return err
	}
	msg := llm.Message{}
	switch m.Role {
	case "user":
		msg.Role = llm.User
	case "assistant":
		msg.Role = llm.Assistant
	case "system":
		text, err := textOf(where, m.Content)
		r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + text)
		return err
	default:
		return compat.InvalidField(where, "%s.role: expected user or assistant", where)
	}
	for j, b := range list {
		p, err := r.toPart(where+".content."+itoa(j), b)
		if err != nil {
			return err
		}
		if p != nil {
			msg.Parts = append(msg.Parts, *p)
		}
	}
	if len(msg.Parts) == 0 {
		if msg.Role == llm.Assistant {
			return nil // only thinking blocks
		}
		return compat.InvalidField(where, "%s: content must be non-empty", where)
	}
	r.ask.Messages = append(r.ask.Messages, msg)
	return nil
}

// toPart drops thinking, because another model may answer.
func (r *reader) toPart(where string, b block) (*llm.Part, error) {
	switch b.Type {
	case "text":
		return &llm.Part{Text: b.Text}, nil
	case "image", "document":
		return mediaOf(where, b)
	case "tool_use":
		if b.ID == "" || b.Name == "" {
			return nil, compat.InvalidField(where, "%s: tool_use needs id and name", where)
		}
		r.names[b.ID] = b.Name
		input, ok := compat.SchemaOf(b.Input)
		switch {
		case !ok:
			return nil, compat.InvalidField(where, "%s.input: Input should be an object", where)
		case input == nil:
			input = json.RawMessage(`{}`)
		}
		return &llm.Part{Call: &llm.ToolCall{ID: b.ID, Name: b.Name, Input: input}}, nil
	case "tool_result":
		if r.names[b.UseID] == "" {
			return nil, compat.InvalidField(where, "%s: tool_use_id %q has no tool_use before it", where, textkit.Prefix(b.UseID, 60))
		}
		return r.toResult(where, b)
	}
	return nil, nil
}

func (r *reader) toResult(where string, b block) (*llm.Part, error) {
	out := &llm.ToolResult{ID: b.UseID, Name: r.names[b.UseID], Failed: b.IsError}
	if len(b.Content) == 0 || string(b.Content) == "null" {
		return &llm.Part{Result: out}, nil
	}
	list, err := parseBlocks(where+".content", b.Content)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		switch c.Type {
		case "image":
			p, err := mediaOf(where, c)
			if err != nil {
				return nil, err
			}
			out.Media = p.Media
		default:
			out.Text = strings.TrimSpace(out.Text + "\n" + c.Text)
		}
	}
	return &llm.Part{Result: out}, nil
}

// mediaOf converts an image or document. Plain text becomes a text part.
func mediaOf(where string, b block) (*llm.Part, error) {
	switch s := b.Source; {
	case s == nil:
	case s.Type == "text":
		return &llm.Part{Text: s.Data}, nil
	case s.Type == "url" && compat.IsPublic(s.URL):
		return &llm.Part{Media: &llm.Media{Type: cmp.Or(s.Media, "image/*"), URL: s.URL, Name: b.Title}}, nil
	case s.Type == "base64" && s.Media != "":
		data, err := base64.StdEncoding.DecodeString(s.Data)
		if err == nil && len(data) > 0 {
			return &llm.Part{Media: &llm.Media{Type: s.Media, Data: data, Name: b.Title}}, nil
		}
	}
	return nil, compat.InvalidField(where, "%s.source: expected base64 with media_type and data, or a url: %s", where, compat.Elsewhere)
}
