package agui

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/textkit"
	"ponder/llm"
)

// An input is the RunAgentInput of the protocol.
type input struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	Messages []message
	Tools    []struct {
		Name        string
		Description string
		Parameters  json.RawMessage
	}
	Context   []struct{ Description, Value string }
	State     json.RawMessage
	Props     json.RawMessage `json:"forwardedProps"`
	Resume    []resumeEntry
	Forwarded pageProps `json:"-"` // of Props
}

// pageProps are the forwarded props besides [ways.Options].
type pageProps struct {
	Session string // work to show or to steer
	Command string // such as /pause
}

type resumeEntry struct {
	ID      string `json:"interruptId"`
	Status  string
	Payload json.RawMessage
}

// isApproved reports whether the user resolved an interrupt without rejecting it. A payload that is no clear yes
// rejects it.
func (e resumeEntry) isApproved() bool {
	if e.Status != "resolved" {
		return false
	}
	var payload any
	if len(e.Payload) > 0 && json.Unmarshal(e.Payload, &payload) != nil {
		return false
	}
	fields, isObject := payload.(map[string]any)
	if !isObject {
		return payload == nil || isYes(payload)
	}
	answers := 0
	for name, v := range fields {
		switch strings.ToLower(name) {
		case "approved", "approve", "accepted":
			if !isYes(v) {
				return false
			}
			answers++
		}
	}
	return answers > 0
}

func isYes(v any) bool {
	text, _ := v.(string)
	return v == true || ways.IsYes(text)
}

type message struct {
	ID         string
	Role       string
	Content    json.RawMessage
	Name       string
	ToolCallID string `json:"toolCallId"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"toolCalls"`
}

// Limits of a request.
const (
	maxMessages = 2000
	maxTools    = 128
	maxContext  = 64 << 10 // bytes
	maxResume   = 20
)

func (in *input) check() error {
	for name, id := range map[string]string{"threadId": in.ThreadID, "runId": in.RunID} {
		if id == "" || len(id) > ways.MaxName || textkit.Clean(id) != id {
			return compat.InvalidField(name, "%s: expected 1 to %d bytes of text", name, ways.MaxName)
		}
	}
	if len(in.Messages) > maxMessages || len(in.Tools) > maxTools || len(in.Resume) > maxResume {
		return compat.InvalidField("messages", "expected at most %d messages, %d tools and %d entries of resume", maxMessages, maxTools, maxResume)
	}
	return nil
}

// readOptions returns the options of the state and of the forwarded props.
func (in *input) readOptions() (o ways.Options, err error) {
	var state struct{ Options map[string]any }
	_ = json.Unmarshal(in.State, &state) // the state is the page's own
	if o, err = ways.ReadOptions(state.Options); err != nil {
		return o, err
	}
	var props map[string]any
	if json.Unmarshal(in.Props, &props) == nil {
		more, err := ways.ReadOptions(props)
		if err != nil {
			return o, err
		}
		o = o.Merge(more)
		in.Forwarded.Session, _ = props["session"].(string)
		in.Forwarded.Command, _ = props["command"].(string)
	}
	return o, nil
}

// question returns the text of the last message, if it is the user's.
func (in *input) question() string {
	if len(in.Messages) == 0 || in.Messages[len(in.Messages)-1].Role != "user" {
		return ""
	}
	m, err := in.Messages[len(in.Messages)-1].toMessage()
	if err != nil {
		return ""
	}
	return m.Text()
}

// setQuestion replaces the last message.
func (in *input) setQuestion(text string) {
	if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == "user" {
		js, err := json.Marshal(text)
		if err == nil { // strings encode
			in.Messages[n-1].Content = js
		}
	}
}

// toTools returns the tools of the client.
func (in *input) toTools() (list []llm.Tool, err error) {
	for i, t := range in.Tools {
		schema, ok := compat.SchemaOf(t.Parameters)
		if !ok || t.Name == "" {
			return nil, compat.InvalidField("tools", "tools[%d]: expected a name and an object as parameters", i)
		}
		list = append(list, llm.Tool{Name: t.Name, Doc: t.Description, Schema: schema})
	}
	return list, nil
}

// toMessages returns the messages and the instructions. Calls of other tools than the client's are left out: Ponder has
// them in its own log.
func (in *input) toMessages() (list []llm.Message, system string, err error) {
	own := make(map[string]bool) // calls of the client's tools
	var instructions []string
	for i, m := range in.Messages {
		switch m.Role {
		case "user":
			one, err := m.toMessage()
			if err != nil {
				return nil, "", compat.InvalidField("messages", "messages[%d]: %s", i, err.Error())
			}
			list = append(list, one)
		case "assistant":
			one := llm.Message{Role: llm.Assistant}
			if text := m.text(); text != "" {
				one.Parts = append(one.Parts, llm.Part{Text: text})
			}
			for _, c := range m.ToolCalls {
				if !slices.ContainsFunc(in.Tools, func(t struct {
					Name        string
					Description string
					Parameters  json.RawMessage
				}) bool {
					return t.Name == c.Function.Name
				}) {
					continue
				}
				args, ok := compat.SchemaOf(json.RawMessage(c.Function.Arguments))
				if !ok || args == nil {
					args = json.RawMessage(`{}`)
				}
				own[c.ID] = true
				one.Parts = append(one.Parts, llm.Part{Call: &llm.ToolCall{ID: c.ID, Name: c.Function.Name, Input: args}})
			}
			if len(one.Parts) > 0 {
				list = append(list, one)
			}
		case "tool":
			if own[m.ToolCallID] {
				list = append(list, llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: m.ToolCallID, Text: m.text()}}}})
			}
		case "system", "developer":
			instructions = append(instructions, m.text())
		case "reasoning", "activity": // not for models
		default:
			return nil, "", compat.InvalidField("messages", "messages[%d].role: %q is unknown", i, textkit.TruncateBytes(m.Role, 40))
		}
	}
	for _, c := range in.Context {
		instructions = append(instructions, c.Description+": "+c.Value)
	}
	return list, textkit.TruncateBytes(strings.TrimSpace(strings.Join(instructions, "\n\n")), maxContext), nil
}

type contentPart struct {
	Type   string
	Text   string
	Source struct{ Type, Value, MimeType string }
	URL    string // of version 0
	Data   string
	Mime   string `json:"mimeType"`
}

// text returns the text of a message without files.
func (m message) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []contentPart
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// toMessage returns a message of the user with its files.
func (m message) toMessage() (out llm.Message, err error) {
	out = llm.Say(llm.User, m.text())
	var parts []contentPart
	if json.Unmarshal(m.Content, &parts) != nil {
		return out, nil //nolint:nilerr // a text
	}
	for i, p := range parts {
		if p.Type == "text" {
			continue
		}
		media, ok := p.toMedia()
		if !ok {
			return out, compat.InvalidField("", "content[%d]: expected text, or a file in base64 or at %s", i, compat.Elsewhere)
		}
		out.Parts = append(out.Parts, llm.Part{Media: &media})
	}
	return out, nil
}

func (p contentPart) toMedia() (m llm.Media, ok bool) {
	kind, value, mime := p.Source.Type, p.Source.Value, p.Source.MimeType
	if p.Type == "binary" { // of version 0
		kind, value, mime = "url", p.URL, p.Mime
		if p.Data != "" {
			kind, value = "data", p.Data
		}
	}
	switch kind {
	case "data":
		data, err := base64.StdEncoding.DecodeString(value)
		return llm.Media{Type: mime, Data: data}, err == nil && len(data) > 0 && mime != ""
	case "url":
		m, ok := compat.MediaAt(value)
		if mime != "" {
			m.Type = mime
		}
		return m, ok
	}
	return m, false
}
