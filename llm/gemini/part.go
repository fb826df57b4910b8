package gemini

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type part struct {
	Text             *string           `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FileData         *fileData         `json:"fileData,omitempty"`
}

type (
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`

		Partial      []partialArg `json:"partialArgs,omitempty"`
		WillContinue bool         `json:"willContinue,omitempty"`
	}
	functionResponse struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
		Parts    []part            `json:"parts,omitempty"`
	}
	inlineData struct {
		MimeType string `json:"mimeType"`
		Data     string `json:"data"`
	}
	fileData struct {
		MimeType string `json:"mimeType,omitempty"`
		FileURI  string `json:"fileUri"`
	}
)

// noSignature replaces a missing signature, for instance of another model's call; models
// that check signatures accept it.
const noSignature = "skip_thought_signature_validator"

type conversation struct {
	model  string // full name
	traits traits
	ids    bool // send IDs
	strip  bool // omit opaque parts
	sent   bool // has opaque parts
	names  map[string]string
}

func (c *conversation) writeContents(in []llm.Message) ([]content, error) {
	c.names = map[string]string{}
	out := make([]content, 0, len(in))
	for _, msg := range in {
		to := content{Role: "user"}
		if msg.Role == llm.Assistant {
			to.Role = "model"
		}
		calls := 0
		for _, p := range msg.Parts {
			parts, err := c.writePart(p, &calls)
			if err != nil {
				return nil, err
			}
			to.Parts = append(to.Parts, parts...)
		}
		if len(to.Parts) > 0 {
			out = append(out, to)
		}
	}
	return out, nil
}

// writePart translates a part; calls counts the message's calls.
func (c *conversation) writePart(p llm.Part, calls *int) ([]any, error) {
	own := c.ownOpaque(p)
	var out part
	if len(own) > 0 && json.Unmarshal(own, &out.ThoughtSignature) != nil {
		return []any{own}, nil //nolint:nilerr // a part of a kind that only goes back
	}
	switch {
	case p.Text != "":
		out.Text = &p.Text
	case p.Call != nil:
		c.writeCall(&out, p.Call)
		if *calls++; *calls == 1 && c.traits.signed && out.ThoughtSignature == "" {
			out.ThoughtSignature = noSignature
		}
	case p.Result != nil:
		return c.writeResult(p.Result)
	case p.Media != nil:
		if err := setMedia(&out, p.Media); err != nil {
			return nil, err
		}
	case out.ThoughtSignature == "":
		return nil, nil // unsigned reasoning does not go back
	case p.Reasoning != "":
		out.Text, out.Thought = &p.Reasoning, true
	default:
		out.Text = new(string)
	}
	return []any{out}, nil
}

func (c *conversation) ownOpaque(p llm.Part) json.RawMessage {
	if c.strip {
		return nil
	}
	own := wire.OpaqueData(p.Opaque, c.model)
	c.sent = c.sent || own != nil
	return own
}

func (c *conversation) writeCall(to *part, call *llm.ToolCall) {
	c.names[call.ID] = call.Name
	to.FunctionCall = &functionCall{Name: call.Name, Args: wire.CallObject(call.Input)}
	if c.ids {
		to.FunctionCall.ID = call.ID
	}
}

func (c *conversation) writeResult(r *llm.ToolResult) ([]any, error) {
	key := "result"
	if r.Failed {
		key = "error"
	}
	f := &functionResponse{Name: r.Name, Response: map[string]string{key: r.Text}}
	f.Name = cmp.Or(f.Name, c.names[r.ID])
	if c.ids {
		f.ID = r.ID
	}
	out := []any{part{FunctionResponse: f}}
	if r.Media == nil {
		return out, nil
	}
	var m part
	if err := setMedia(&m, r.Media); err != nil {
		return nil, err
	}
	if c.traits.inResult {
		f.Parts = []part{m}
		return out, nil
	}
	return append(out, m), nil
}

func setMedia(to *part, m *llm.Media) error {
	switch {
	case m.URL != "":
		to.FileData = &fileData{MimeType: m.Type, FileURI: m.URL}
	case m.Type == "":
		return &llm.Error{Class: llm.BadRequest, Message: "a file in the conversation has no type"}
	default:
		to.InlineData = &inlineData{MimeType: m.Type, Data: base64.StdEncoding.EncodeToString(m.Data)}
	}
	return nil
}
