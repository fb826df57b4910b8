package anthropic

import (
	"context"
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
	Thread *threadParam `json:"thread"`

	predecessor *predecessor // of a continued thread
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

func (a *api) newRequest(ctx context.Context, owner string, in *body) (ask compat.Request, err error) {
	if err := a.expandThread(ctx, owner, in); err != nil {
		return ask, err
	}
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
	r := reader{ask: &ask, names: make(map[string]string), declared: make(map[string]llm.Tool)}
	for _, t := range ask.Tools {
		r.declared[t.Name] = t
	}
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
		tool, err := t.toTool("tools." + itoa(i))
		if err != nil {
			return err
		}
		ask.Tools = append(ask.Tools, tool)
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

func (t tool) toTool(where string) (llm.Tool, error) {
	schema, ok := compat.SchemaOf(t.Schema)
	if !ok {
		return llm.Tool{}, compat.InvalidField("tools", "%s.input_schema: Input should be an object", where)
	}
	return llm.Tool{Name: t.Name, Doc: t.Doc, Schema: schema}, nil
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
	ask      *compat.Request
	names    map[string]string   // names of tools by call id
	declared map[string]llm.Tool // tools that a system message can add again
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
		return r.addSystem(where, m, list)
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
