package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Citations    json.RawMessage `json:"citations,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"` // may be empty, but required
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	Source       *source         `json:"source,omitempty"`
	Title        string          `json:"title,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []*block        `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// An opaque has the block's type and the fields that a part lacks. Blocks of other types
// are kept whole.
type opaque struct {
	Type      string          `json:"type"`
	Signature string          `json:"signature,omitempty"` // of thinking
	Data      string          `json:"data,omitempty"`      // of redacted_thinking
	Citations json.RawMessage `json:"citations,omitempty"` // of text
}

type conversation struct {
	model  string // full name
	strip  bool   // omit opaque parts
	cache  bool
	tools  bool     // the next request may repeat the whole last message
	sent   bool     // has opaque parts
	grows  bool     // has a text with a prefix
	prefix []*block // its complete blocks
}

func (c *conversation) writeMessages(in []llm.Message) ([]message, error) {
	out := make([]message, 0, len(in))
	for _, msg := range in {
		content, err := c.writeContent(msg)
		if err != nil {
			return nil, err
		}
		if len(content) > 0 { // the API refuses empty messages
			out = append(out, message{Role: msg.Role, Content: content})
		}
	}
	if c.cache {
		c.markMessages(out)
	}
	return out, nil
}

// writeContent puts results first, as the API requires.
func (c *conversation) writeContent(msg llm.Message) ([]any, error) {
	var results, rest []any
	for _, p := range msg.Parts {
		b, err := c.writePart(p)
		switch {
		case err != nil:
			return nil, err
		case b == nil:
		case p.Result != nil:
			results = append(results, b)
		case p.Prefix > 0 && c.cache && p.Text != "":
			rest = append(rest, c.splitPrefix(p.Text, p.Prefix)...)
		default:
			rest = append(rest, b)
		}
	}
	return append(results, rest...), nil
}

// writePart translates a part, or returns nil.
func (c *conversation) writePart(p llm.Part) (any, error) {
	switch {
	case p.Call != nil:
		return &block{Type: "tool_use", ID: wire.ToolName(p.Call.ID), Name: p.Call.Name, Input: wire.CallObject(p.Call.Input)}, nil
	case p.Result != nil:
		return resultBlock(p.Result)
	case p.Media != nil:
		return mediaBlock(p.Media)
	}
	own := c.ownOpaque(p)
	switch {
	case strings.TrimSpace(p.Text) != "": // the API refuses blank text
		b := &block{Type: "text", Text: p.Text}
		var o opaque
		if json.Unmarshal(own, &o) == nil && o.Type == "text" {
			b.Citations = o.Citations
		}
		return b, nil
	case own != nil && p.Text == "":
		return returnReasoning(own, p.Reasoning), nil
	}
	return nil, nil // unsigned reasoning cannot go back
}

func (c *conversation) ownOpaque(p llm.Part) json.RawMessage {
	if c.strip {
		return nil
	}
	own := wire.OpaqueData(p.Opaque, c.model)
	c.sent = c.sent || own != nil
	return own
}

func returnReasoning(own json.RawMessage, thought string) any {
	var o opaque
	if json.Unmarshal(own, &o) != nil {
		return nil
	}
	switch o.Type {
	case "thinking":
		return &block{Type: o.Type, Thinking: &thought, Signature: o.Signature}
	case "redacted_thinking":
		return &block{Type: o.Type, Data: o.Data}
	}
	return own
}

func resultBlock(r *llm.ToolResult) (*block, error) {
	b := &block{Type: "tool_result", ToolUseID: wire.ToolName(r.ID), IsError: r.Failed}
	if strings.TrimSpace(r.Text) != "" {
		b.Content = append(b.Content, &block{Type: "text", Text: r.Text})
	}
	if r.Media != nil {
		m, err := mediaBlock(r.Media)
		if err != nil {
			return nil, err
		}
		b.Content = append(b.Content, m)
	}
	return b, nil
}

func mediaBlock(m *llm.Media) (*block, error) {
	b := &block{Type: "document", Title: m.Name, Source: &source{Type: "base64", MediaType: m.Type}}
	switch {
	case strings.HasPrefix(m.Type, "image/"):
		b.Type, b.Title = "image", ""
	case m.Type == "application/pdf":
	case strings.HasPrefix(m.Type, "text/") && m.URL == "":
		*b.Source = source{Type: "text", MediaType: "text/plain", Data: strings.ToValidUTF8(string(m.Data), "\uFFFD")}
		return b, nil
	default:
		return nil, &llm.Error{Class: llm.BadRequest, Message: "this API takes images, PDF and text, not " + m.Type}
	}
	if m.URL != "" {
		*b.Source = source{Type: "url", URL: m.URL}
		return b, nil
	}
	b.Source.Data = base64.StdEncoding.EncodeToString(m.Data)
	return b, nil
}
