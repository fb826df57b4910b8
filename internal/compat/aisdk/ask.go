package aisdk

import (
	"cmp"
	"errors"
	"strings"

	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A body has fields of useChat and of Ponder's pages.
type body struct {
	ID       string    `json:"id"` // of the chat
	Messages []message `json:"messages"`

	Model  string `json:"model"`
	Deep   bool   `json:"isDeepThinkMode"`
	Web    *bool  `json:"isWebSearchEnabled"`
	App    string `json:"app"`
	Effort string `json:"reasoningEffort"`
	System string `json:"system"`
}

type message struct {
	Role    string   `json:"role"`
	Parts   []uiPart `json:"parts"`
	Content string   `json:"content"` // of versions before 5
}

type uiPart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	MediaType string `json:"mediaType"`
	URL       string `json:"url"`
	Filename  string `json:"filename"`
}

func (a *api) newRequest(owner string, in *body) (ask compat.Request, err error) {
	name := in.Model
	if name == "" {
		name = "ponder/chat"
		if in.Deep {
			name = "ponder/research"
		}
	}
	m, ok := a.desk.Model(name)
	switch {
	case !ok:
		return ask, compat.InvalidField("model", "model: %q does not exist", textkit.Prefix(name, 100))
	case !compat.IsEffort(in.Effort):
		return ask, compat.InvalidField("reasoningEffort", "reasoningEffort: expected none, minimal, low, medium, high, xhigh or max")
	}
	ask = compat.Request{
		Owner: owner, Model: m, System: in.System, Persona: in.App, Effort: in.Effort, Chat: in.ID, NoWeb: in.Web != nil && !*in.Web,
	}
	for i, m := range in.Messages {
		msg := llm.Message{}
		switch m.Role {
		case "user":
			msg.Role = llm.User
		case "assistant":
			msg.Role = llm.Assistant
		case "system":
			ask.System = strings.TrimSpace(ask.System + "\n\n" + textOf(m))
			continue
		default:
			return ask, compat.InvalidField("messages", "messages[%d].role: expected user, assistant or system", i)
		}
		msg.Parts = []llm.Part{{Text: textOf(m)}}
		for j, p := range m.Parts {
			if p.Type == "file" && msg.Role == llm.User {
				file, err := fileOf(p)
				if err != nil {
					return ask, compat.InvalidField("messages", "messages[%d].parts[%d].url: %s", i, j, err)
				}
				msg.Parts = append(msg.Parts, llm.Part{Media: file})
			}
		}
		ask.Messages = append(ask.Messages, msg)
	}
	return ask, nil
}

// textOf omits reasoning and tools.
func textOf(m message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return cmp.Or(strings.Join(texts, "\n\n"), m.Content)
}

func fileOf(p uiPart) (*llm.Media, error) {
	m, ok := compat.MediaAt(p.URL)
	if !ok {
		return nil, errors.New("expected data:TYPE;base64, or " + compat.Elsewhere)
	}
	m.Type, m.Name = cmp.Or(p.MediaType, m.Type, "image/*"), p.Filename
	return &m, nil
}
