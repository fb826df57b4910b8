package anthropic

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A block has the fields of all types.
type block struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Source     json.RawMessage `json:"source"` // an object; of a search result, a text
	Title      string          `json:"title"`
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	UseID      string          `json:"tool_use_id"`
	Content    json.RawMessage `json:"content"`
	IsError    bool            `json:"is_error"`
	Tool       *toolChange     `json:"tool"`
	ToolName   string          `json:"tool_name"` // of a tool reference
	ServerName string          `json:"server_name"`
}

// A toolChange names a tool, or defines one.
type toolChange struct {
	Type       string `json:"type"` // tool_reference or tool_definition
	Name       string `json:"name"`
	Definition *tool  `json:"definition"`
}

type source struct {
	Type    string          `json:"type"` // base64, url, text or content
	Media   string          `json:"media_type"`
	Data    string          `json:"data"`
	URL     string          `json:"url"`
	Content json.RawMessage `json:"content"`
}

// withoutEffect are blocks that only the model that made them can read, or that describe steps of a
// server tool, whose outcome is in the text after it.
var withoutEffect = []string{
	"thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result",
	"code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
	"mcp_tool_use", "mcp_tool_result", "mcp_tool_listing", "fallback",
}

func (r *reader) toPart(where string, b block) (*llm.Part, error) {
	switch b.Type {
	case "text":
		return &llm.Part{Text: b.Text}, nil
	case "image", "document":
		return mediaOf(where, b)
	case "search_result":
		return searchResult(where, b)
	case "compaction":
		return textPart(where+".content", b.Content)
	case "tool_use":
		return r.toCall(where, b)
	case "tool_result":
		if r.names[b.UseID] == "" {
			return nil, compat.InvalidField(where, "%s: tool_use_id %q has no tool_use before it", where, textkit.Prefix(b.UseID, 60))
		}
		return r.toResult(where, b)
	}
	if slices.Contains(withoutEffect, b.Type) {
		return nil, nil
	}
	return nil, compat.InvalidField(where, "%s.type: %q is not supported", where, textkit.Prefix(b.Type, 60))
}

func (r *reader) toCall(where string, b block) (*llm.Part, error) {
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
	for i, c := range list {
		p := &llm.Part{Text: c.Text}
		switch at := where + ".content." + itoa(i); c.Type {
		case "text":
		case "image", "document":
			p, err = mediaOf(at, c)
		case "search_result":
			p, err = searchResult(at, c)
		case "tool_reference":
			p.Text = "The tool " + c.ToolName + " is available."
		case "browser_state":
		default:
			err = compat.InvalidField(at, "%s.type: %q is not supported", at, textkit.Prefix(c.Type, 60))
		}
		if err != nil {
			return nil, err
		}
		if out.Text = strings.TrimSpace(out.Text + "\n" + p.Text); p.Media != nil {
			out.Media = p.Media
		}
	}
	return &llm.Part{Result: out}, nil
}

// searchResult returns a search result as text with its title and source.
func searchResult(where string, b block) (*llm.Part, error) {
	var address string
	if json.Unmarshal(b.Source, &address) != nil || address == "" {
		return nil, compat.InvalidField(where, "%s.source: expected the address of the search result", where)
	}
	p, err := textPart(where+".content", b.Content)
	if err != nil {
		return nil, err
	}
	p.Text = "Search result: " + cmp.Or(b.Title, address) + "\nSource: " + address + "\n\n" + p.Text
	return p, nil
}

func textPart(where string, js json.RawMessage) (*llm.Part, error) {
	text, err := textOf(where, js)
	return &llm.Part{Text: text}, err
}

// mediaOf converts an image or document. Plain text becomes a text part.
func mediaOf(where string, b block) (*llm.Part, error) {
	var s source
	if len(b.Source) > 0 && json.Unmarshal(b.Source, &s) != nil {
		s = source{}
	}
	switch {
	case s.Type == "text":
		return &llm.Part{Text: s.Data}, nil
	case s.Type == "content":
		return textPart(where+".source.content", s.Content)
	case s.Type == "url" && netaddr.IsPublicURL(s.URL):
		return &llm.Part{Media: &llm.Media{Type: cmp.Or(s.Media, "image/*"), URL: s.URL, Name: b.Title}}, nil
	case s.Type == "base64" && s.Media != "":
		data, err := base64.StdEncoding.DecodeString(s.Data)
		if err == nil && len(data) > 0 {
			return &llm.Part{Media: &llm.Media{Type: s.Media, Data: data, Name: b.Title}}, nil
		}
	}
	return nil, compat.InvalidField(where, "%s.source: expected base64 with media_type and data, text, content, or a url: %s", where, compat.Elsewhere)
}

// addSystem adds a system message between others: instructions, and changes of the tools.
func (r *reader) addSystem(where string, m message, list []block) error {
	for i, b := range list {
		at := where + ".content." + itoa(i)
		switch b.Type {
		case "text":
		case "tool_addition", "tool_removal":
			if err := r.changeTools(at, b); err != nil {
				return err
			}
		default:
			return compat.InvalidField(at, "%s.type: %q is not supported in a system message", at, textkit.Prefix(b.Type, 60))
		}
	}
	text, err := textOf(where, m.Content)
	r.ask.System = strings.TrimSpace(r.ask.System + "\n\n" + text)
	return err
}

// changeTools adds or removes a tool.
func (r *reader) changeTools(where string, b block) error {
	c := b.Tool
	switch {
	case c == nil:
		return compat.InvalidField(where, "%s.tool: Field required", where)
	case c.Type == "tool_definition" && b.Type == "tool_addition" && c.Definition != nil && c.Definition.Name != "":
		t, err := c.Definition.toTool(where + ".tool.definition")
		if err != nil {
			return err
		}
		c.Name, r.declared[t.Name] = t.Name, t
	case c.Type != "tool_reference":
		return compat.InvalidField(where, "%s.tool.type: %q is not supported", where, textkit.Prefix(c.Type, 60))
	}
	t, known := r.declared[c.Name]
	if !known {
		return compat.InvalidField(where, "%s.tool.name: there is no tool %q", where, textkit.Prefix(c.Name, 60))
	}
	r.ask.Tools = slices.DeleteFunc(r.ask.Tools, func(other llm.Tool) bool { return other.Name == c.Name })
	if b.Type == "tool_addition" {
		r.ask.Tools = append(r.ask.Tools, t)
	}
	return nil
}
