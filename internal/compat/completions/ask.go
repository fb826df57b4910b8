package completions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/llm"
)

// completionBody ignores unknown fields, because clients send them.
type completionBody struct {
	_            struct{}            `additionalProperties:"true"`
	Messages     []completionMessage `json:"messages" minItems:"1" maxItems:"5000" nullable:"false" doc:"the messages, oldest first; the last is answered"`
	Deep         *bool               `json:"isDeepThinkMode,omitempty" nullable:"true" doc:"whether to research the last message"`
	Web          *bool               `json:"isWebSearchEnabled,omitempty" nullable:"true" default:"true" doc:"whether Ponder may search the web"`
	Models       []string            `json:"models,omitempty" maxItems:"20" doc:"models as provider/model; the first one answers; the configured model if the list is empty"`
	App          *string             `json:"app,omitempty" nullable:"true" maxLength:"200" doc:"the persona that answers"`
	Conversation *string             `json:"conversationUniqueId,omitempty" nullable:"true" maxLength:"200" doc:"the conversation to continue"`
	New          *string             `json:"newUniqueId,omitempty" nullable:"true" maxLength:"200" doc:"the name of a new conversation"`
	MessageID    *string             `json:"messageId,omitempty" nullable:"true" maxLength:"200" doc:"the caller's id of the last message; each id is answered once"`
}

type completionMessage struct {
	_       struct{} `additionalProperties:"true"`
	Role    string   `json:"role" minLength:"1" maxLength:"40" doc:"user, assistant or system" example:"user"`
	Content content  `json:"content,omitempty" doc:"a text, or a list of parts" example:"\"Why do large projects run late?\""`
	Parts   content  `json:"parts,omitempty" doc:"a list of parts; only parts of type text, and files that are images, are read"`
	Files   content  `json:"experimental_attachments,omitempty" doc:"a list of files"`
}

// A content is a text or a list of parts. It is decoded without a copy of its JSON.
type content struct {
	text  string
	parts []part
	wrong bool // neither
}

// Schema implements [huma.SchemaProvider]: Resolve reports errors.
func (content) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(js []byte) error {
	*c = content{}
	if js[0] == '"' {
		c.wrong = json.Unmarshal(js, &c.text) != nil
	} else {
		c.wrong = json.Unmarshal(js, &c.parts) != nil
	}
	return nil
}

type completion struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"client's key: the server runs a request with this key once and repeats its answer; it refuses a different request with the same key (422)"`
	Body completionBody

	messages []llm.Message
}

const (
	maxMessage  = 4 << 20 // bytes
	maxImage    = 5 << 20 // bytes
	maxQuestion = 20_000  // bytes of a research question
)

// Resolve parses the messages.
func (in *completion) Resolve(huma.Context) (errs []error) {
	in.messages = nil
	for i, m := range in.Body.Messages {
		s, bad := m.toMessage(i == len(in.Body.Messages)-1)
		for _, field := range slices.Sorted(maps.Keys(bad)) {
			errs = append(errs, &huma.ErrorDetail{Location: fmt.Sprintf("body.messages[%d].%s", i, field), Message: bad[field]})
		}
		in.messages, in.Body.Messages[i] = append(in.messages, s), completionMessage{} // which holds the images
	}
	if len(in.messages) > 0 && len(errs) == 0 {
		if field, why := in.answerProblem(); why != "" {
			errs = append(errs, &huma.ErrorDetail{Location: fmt.Sprintf("body.messages[%d]%s", len(in.messages)-1, field), Message: why})
		}
	}
	if in.conversationName() != "" && strings.TrimSpace(in.conversationName()) == "" {
		errs = append(errs, &huma.ErrorDetail{Location: "body.conversationUniqueId", Message: "expected text, not only spaces"})
	}
	return errs
}

func (in *completion) answerProblem() (field, why string) {
	last := in.lastMessage()
	text, media := last.Text(), len(last.Parts) > 1
	empty := strings.TrimSpace(text) == ""
	switch {
	case last.Role != llm.User:
		return ".role", "the last message must have the role user"
	case empty && !media:
		return "", "expected a text"
	case len(text) > maxMessage:
		return "", fmt.Sprintf("longer than %d bytes", maxMessage)
	case in.isDeep() && media:
		return "", "research reads no images; remove the image, or set isDeepThinkMode to false"
	case in.isDeep() && (empty || len(text) > maxQuestion):
		return "", fmt.Sprintf("research needs a question of at most %d bytes", maxQuestion)
	}
	return "", ""
}

func (in *completion) isDeep() bool             { return in.Body.Deep != nil && *in.Body.Deep }
func (in *completion) noWeb() bool              { return in.Body.Web != nil && !*in.Body.Web }
func (in *completion) lastMessage() llm.Message { return in.messages[len(in.messages)-1] }

func (in *completion) conversationName() string {
	if id := in.Body.Conversation; id != nil && *id != "" {
		return *id
	}
	return textOf(in.Body.New)
}

func (in *completion) isContinued() bool { return textOf(in.Body.Conversation) != "" }

func (in *completion) namedModel() string {
	for _, m := range in.Body.Models {
		if m = strings.TrimSpace(m); m != "" {
			return m
		}
	}
	return ""
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// A part covers all client formats.
type part struct {
	Type      string `json:"type"`
	Text      any    `json:"text"`
	URL       any    `json:"url"`
	Image     any    `json:"image"`
	ImageURL  any    `json:"image_url"`
	Data      any    `json:"data"`
	MediaType string `json:"mediaType"`
	Mime      string `json:"mimeType"`
	Kind      string `json:"contentType"`
	Filename  string `json:"filename"`
	Name      string `json:"name"`
}

// toMessage returns errors by field. It ignores files of earlier messages.
func (m completionMessage) toMessage(last bool) (msg llm.Message, bad map[string]string) {
	bad = make(map[string]string)
	var s messageParts
	text, wrong := s.addParts(m.Content, last)
	if wrong != "" {
		bad["content"] = wrong
	}
	if m.Parts.text != "" {
		m.Parts.wrong = true
	}
	if more, wrong := s.addParts(m.Parts, last); wrong != "" {
		bad["parts"] = wrong
	} else {
		text = cmp.Or(more, text) // some clients send the text in both fields
	}
	if last {
		if wrong := s.addFiles(m.Files); wrong != "" {
			bad["experimental_attachments"] = wrong
		}
	}
	msg = llm.Say(roleOf(m.Role), strings.ToValidUTF8(text, "\ufffd"))
	msg.Parts = append(msg.Parts, s.media...)
	return msg, bad
}

func roleOf(name string) llm.Role {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "user", "assistant", "system":
		return llm.Role(name)
	case "developer":
		return compat.System
	}
	return "other"
}

type messageParts struct{ media []llm.Part }

// addParts returns the text of the parts, or an error text.
func (s *messageParts) addParts(c content, last bool) (text, wrong string) {
	if c.wrong {
		return "", "expected a text or a list of parts"
	}
	texts := []string{c.text}
	for _, p := range c.parts {
		switch p.Type {
		case "text", "input_text", "output_text", "":
			if text, ok := p.Text.(string); ok {
				texts = append(texts, text)
			}
		case "file", "image", "image_url", "input_image":
			if !last {
				continue
			}
			if wrong := s.addFile(p); wrong != "" {
				return "", wrong
			}
		}
	}
	return strings.Join(texts, ""), ""
}

func (s *messageParts) addFiles(c content) (wrong string) {
	if c.wrong || c.text != "" {
		return "expected a list of files"
	}
	for _, f := range c.parts {
		if wrong := s.addFile(f); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (a *api) startWork(ctx context.Context, owner string, in *completion) (*answerEncoder, error) {
	p, err := a.placeOf(ctx, owner, in)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // a disconnect must not interrupt the start
	var work compat.Job
	begin := func() (string, error) {
		ask, err := a.newRequest(ctx, owner, in, p)
		if err == nil {
			work, err = a.Desk.Begin(ctx, ask)
		}
		return wordsOf(work.Thread), err
	}
	once := cmp.Or(p.own, in.Key) // a named message detects other words by its thread
	err = a.Once(ctx, owner, route, once, wordsOf([]any{in.isDeep(), p.id, compat.Alphanumeric(compat.KeyText(in.lastMessage().Text()))}), begin)
	if err == nil && work.Thread == "" { // repeated
		_, err = begin()
	}
	if err != nil {
		work.Forget()
		return nil, in.renameKeyError(err)
	}
	t := &answerEncoder{Dispatcher: a.Desk, work: work, feed: a.Desk.OpenStream(ctx, work, !p.found), name: p.name, fresh: !p.found, models: []string{}}
	if model := cmp.Or(in.namedModel(), work.Model); model != "" {
		t.models = []string{model}
	}
	return t, nil
}

func wordsOf(of any) string {
	js, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	return causeOf(string(js))
}

func (a *api) newRequest(ctx context.Context, owner string, in *completion, p place) (ask compat.Request, err error) {
	ask = compat.Request{
		Owner: owner, Messages: in.messages, Model: compat.Model{Kind: compat.Chat, Model: in.namedModel()}, NoWeb: in.noWeb(), Persona: textOf(in.Body.App),
		At: p.id, Key: p.own,
	}
	var but ponder.ThreadID
	if in.isDeep() {
		ask.Model.Kind = compat.Research
		ask.Cause = wordsOf([]any{strings.TrimSpace(in.lastMessage().Text()), ask.NoWeb, ask.Model.Model, ask.Persona})
		ask.At, err = a.researchThread(ctx, in, p, ask.Cause)
	} else {
		if p.kind != "" && p.kind != ponder.KindConversation {
			ask.At = relatedThread(p.id, "talk", "")
		}
		ask.Cause, but = causeOf(owner, route, string(ask.At), p.key), ask.At
	}
	if err == nil {
		ask.Known, err = a.knownMessages(ctx, owner, p.id, but)
	}
	return ask, err
}

// researchThread returns the thread of the conversation if it begins with research, or else one beside it.
func (a *api) researchThread(ctx context.Context, in *completion, p place, cause string) (ponder.ThreadID, error) {
	if p.kind == "" {
		return p.id, nil
	}
	if p.kind == ponder.KindResearch && !p.found {
		for ev, err := range a.Desk.Store.Events(ctx, p.id, 0) {
			if err != nil {
				return "", fmt.Errorf("read %s: %w", p.id, err)
			}
			if _, ok := ev.Body.(ponder.RunStarted); !ok {
				continue
			}
			if ev.Cause == cause || !in.hasKey() { // Begin reports other words
				return p.id, nil
			}
			break
		}
	}
	return relatedThread(p.id, "research", p.key), nil
}

// hasKey reports whether the request identifies its message.
func (in *completion) hasKey() bool { return in.Key != "" || textOf(in.Body.MessageID) != "" }

// renameKeyError renames the key error of a request without a key.
func (in *completion) renameKeyError(err error) error {
	var known *app.Error
	if !errors.As(err, &known) || known.Field != keyField || in.hasKey() {
		return err
	}
	return huma.NewError(http.StatusUnprocessableEntity, "validation failed", &huma.ErrorDetail{
		Location: "body.newUniqueId", Message: "a conversation with this name exists, with another first message; continue it with conversationUniqueId, or choose another name",
	})
}
