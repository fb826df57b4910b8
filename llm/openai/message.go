package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	message struct {
		Role             string            `json:"role"`
		Content          any               `json:"content,omitempty"` // string or []part
		ReasoningContent string            `json:"reasoning_content,omitempty"`
		Reasoning        string            `json:"reasoning,omitempty"`
		Details          []json.RawMessage `json:"reasoning_details,omitempty"`
		Calls            []call            `json:"tool_calls,omitempty"`
		CallID           string            `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function callBody `json:"function"`
	}
	callBody struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	part struct {
		Type  string    `json:"type"`
		Text  *string   `json:"text,omitempty"`
		Image *imageURL `json:"image_url,omitempty"`
		Audio *audio    `json:"input_audio,omitempty"`
		File  *file     `json:"file,omitempty"`
		Cache *typeOnly `json:"cache_control,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	audio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	}
	file struct {
		Name string `json:"filename,omitempty"`
		Data string `json:"file_data"`
	}
)

type chatOpaque struct {
	Field   string            `json:"field,omitempty"`             // of reasoning
	Details []json.RawMessage `json:"reasoning_details,omitempty"` // verbatim
}

type chatWriter struct {
	*model
	turnRules
	mark bool // mark cacheable parts
	out  []message
	open []string // unanswered
}

// writeConversation writes all messages after the system prompt.
func (w *chatWriter) writeConversation(req *llm.Request, system string) error {
	if system != "" {
		w.addMessage(message{Role: "system", Content: system})
		if w.mark {
			w.out[0].Content = markContent(w.out[0].Content)
		}
	}
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			w.addAssistant(m)
		} else if err := w.addUser(m); err != nil {
			return err
		}
	}
	w.closeCalls()
	if n := len(w.out) - 1; w.mark && n >= 0 {
		w.out[n].Content = markContent(w.out[n].Content)
	}
	return nil
}

// markContent puts a cache mark at the end.
func markContent(content any) any {
	mark := &typeOnly{Type: "ephemeral"}
	switch c := content.(type) {
	case string:
		if c != "" {
			return []part{{Type: "text", Text: &c, Cache: mark}}
		}
	case []part:
		c[len(c)-1].Cache = mark
	}
	return content
}

// closeCalls adds results for unanswered calls, which servers refuse.
func (w *chatWriter) closeCalls() {
	for _, id := range w.open {
		w.addMessage(message{Role: "tool", Content: noResult, CallID: id})
	}
	w.open = nil
}

const noResult = "(no result)"

// addUser writes results first.
func (w *chatWriter) addUser(m llm.Message) error {
	var rest []part
	for _, p := range m.Parts {
		if p.Result == nil {
			continue
		}
		id := w.callID(p.Result.ID)
		if !removeID(&w.open, id) {
			rest = append(rest, textPart("Result of "+p.Result.Name+": "+p.Result.Text))
		} else {
			w.addMessage(message{Role: "tool", Content: p.Result.Text, CallID: id})
		}
		if p.Result.Media != nil {
			rest = append(rest, textPart("Result of "+p.Result.Name+":"))
			var err error
			if rest, err = appendMedia(rest, p.Result.Media); err != nil {
				return err
			}
		}
	}
	w.closeCalls()
	for _, p := range m.Parts {
		switch {
		case p.Media != nil:
			var err error
			if rest, err = appendMedia(rest, p.Media); err != nil {
				return err
			}
		case p.Text != "":
			rest = append(rest, textPart(p.Text))
		}
	}
	if len(rest) > 0 {
		w.addMessage(message{Role: "user", Content: joinTexts(rest)})
	}
	return nil
}

// removeID removes s from list, if there.
func removeID(list *[]string, s string) bool {
	i := slices.Index(*list, s)
	if i >= 0 {
		*list = slices.Concat((*list)[:i], (*list)[i+1:])
	}
	return i >= 0
}

func textPart(s string) part { return part{Type: "text", Text: &s} }

// joinTexts joins texts to one string, which every server accepts.
func joinTexts(parts []part) any {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text == nil {
			return parts
		}
		texts = append(texts, *p.Text)
	}
	return wire.Paragraphs(texts...)
}

func appendMedia(parts []part, m *llm.Media) ([]part, error) {
	kind, _, _ := strings.Cut(m.Type, "/")
	switch {
	case kind == "image":
		return append(parts, part{Type: "image_url", Image: &imageURL{mediaURL(m)}}), nil
	case kind == "text" && m.URL == "":
		return append(parts, textPart(string(m.Data))), nil
	case kind == "audio" && m.URL == "":
		data := base64.StdEncoding.EncodeToString(m.Data)
		return append(parts, part{Type: "input_audio", Audio: &audio{Data: data, Format: audioFormat(m.Type)}}), nil
	case m.URL == "":
		return append(parts, part{Type: "file", File: &file{Name: m.Name, Data: mediaURL(m)}}), nil
	}
	return nil, &llm.Error{Class: llm.BadRequest, Message: "a chat completion cannot contain a link to " + m.Type + ""}
}

func audioFormat(mime string) string {
	switch mime {
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	case "audio/wav", "audio/x-wav", "audio/wave":
		return "wav"
	}
	return strings.TrimPrefix(mime, "audio/")
}

func mediaURL(m *llm.Media) string {
	if m.URL != "" {
		return m.URL
	}
	return "data:" + m.Type + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
}

func (w *chatWriter) addAssistant(m llm.Message) {
	w.closeCalls()
	out := message{Role: "assistant"}
	if text := m.Text(); text != "" {
		out.Content = text
	}
	for _, c := range m.Calls() {
		id := w.callID(c.ID)
		out.Calls = append(out.Calls, call{ID: id, Type: "function", Function: callBody{Name: c.Name, Arguments: argumentText(c.Input)}})
		w.open = append(w.open, id)
	}
	w.addReasoning(&out, m)
	if out.Content != nil || out.Calls != nil {
		w.addMessage(out)
	}
}

// addReasoning returns details always and words with calls. Other models' reasoning goes
// only where required.
func (w *chatWriter) addReasoning(out *message, m llm.Message) {
	words, field := "", w.host.replay
	for _, p := range m.Parts {
		if w.traits.must || p.Opaque != nil && p.Opaque.Model == w.name {
			words += p.Reasoning
		}
		var own chatOpaque
		if data := wire.OpaqueData(p.Opaque, w.name); data != nil && !w.bare && json.Unmarshal(data, &own) == nil {
			w.opaque = true
			out.Details = append(out.Details, own.Details...)
			if own.Field != "" {
				field = own.Field
			}
		}
	}
	if out.Calls == nil {
		return
	}
	if w.traits.must {
		field = cmp.Or(field, "reasoning_content")
		if strings.TrimSpace(words) == "" && out.Details == nil {
			words = " " // required
		}
	}
	switch field {
	case "reasoning_content":
		out.ReasoningContent = words
	case "reasoning":
		out.Reasoning = words
	}
}

// argumentText returns a call's input as an object's text.
func argumentText(input json.RawMessage) string { return wire.Text(wire.CallObject(input)) }

func (w *chatWriter) callID(id string) string { return fitID(id, w.host.callID) }

// maxID is OpenAI's limit.
const maxID = 64

// fitID hashes id unless it fits: n letters and digits, or for 0 at most maxID bytes.
func fitID(id string, n int) string {
	if n == 0 && len(id) <= maxID || n > 0 && len(id) == n && !strings.ContainsAny(id, "-_.:") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	text := hex.EncodeToString(sum[:])
	if n == 0 {
		return "call_" + text[:32]
	}
	return text[:n]
}
