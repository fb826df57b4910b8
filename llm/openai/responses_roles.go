package openai

import (
	"slices"

	"ponder/llm/internal/wire"
)

// addItem adds an item. For strict templates it joins neighbours of equal roles, as addMessage of
// chat completions does.
func (w *responsesWriter) addItem(item any) {
	if n := len(w.out) - 1; n >= 0 && refusesItem(w.out[n], item) {
		w.turns = true
		if w.strict {
			if joined := joinItems(w.out[n], item.(inputMessage)); joined != nil {
				w.out[n] = joined
				return
			}
			w.out = append(w.out, inputMessage{Role: "assistant", Content: noMessage})
		}
	}
	w.out = append(w.out, item)
}

// refusesItem reports whether strict templates refuse next after item.
func refusesItem(item, next any) bool {
	m, ok := next.(inputMessage)
	if !ok {
		return false
	}
	switch item := item.(type) {
	case inputMessage:
		return item.Role == m.Role
	case inputResult:
		return m.Role == "user"
	}
	return false
}

// joinItems returns an item with the content of next, or nil if it cannot have it.
func joinItems(item any, next inputMessage) any {
	switch item := item.(type) {
	case inputMessage:
		item.Content = joinInputs(item.Content, next.Content)
		return item
	case inputResult:
		if item.Output = joinInputs(item.Output, next.Content); !hasMedia(item.Output) {
			return item
		}
	}
	return nil
}

// joinInputs joins two contents to a text, or to parts if one of them has parts.
func joinInputs(a, b any) any {
	parts := slices.Concat(inputParts(a), inputParts(b))
	return inputContent(parts)
}

func inputParts(content any) []inputPart {
	if text, ok := content.(string); ok {
		return []inputPart{inputText(text)}
	}
	parts, _ := content.([]inputPart)
	return parts
}

func hasMedia(content any) bool {
	_, text := content.(string)
	return !text
}

// inputContent returns a text if all parts are texts, because some servers take no objects of
// type input_text.
func inputContent(parts []inputPart) any {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text == nil {
			return parts
		}
		texts = append(texts, *p.Text)
	}
	return wire.Paragraphs(texts...)
}

// addContent adds a message of the user. Texts beside media have a message of their own if the
// server refused such objects.
func (w *responsesWriter) addContent(parts []inputPart) {
	isText := func(p inputPart) bool { return p.Text != nil }
	media := slices.DeleteFunc(slices.Clone(parts), isText)
	if len(media) > 0 && len(media) < len(parts) {
		if w.mixed = true; w.apart {
			texts := slices.DeleteFunc(slices.Clone(parts), func(p inputPart) bool { return !isText(p) })
			w.out = append(w.out, inputMessage{Role: "user", Content: inputContent(texts)})
			parts = media
		}
	}
	w.addItem(inputMessage{Role: "user", Content: inputContent(parts)})
}

// prependUser puts a text before the first user's message, which it adds if necessary.
func (w *responsesWriter) prependUser(text string) {
	first := inputMessage{Role: "user"}
	if len(w.out) > 0 {
		if m, ok := w.out[0].(inputMessage); ok && m.Role == "user" {
			first, w.out = m, w.out[1:]
		}
	}
	first.Content = joinInputs(text, first.Content)
	w.out = slices.Insert(w.out, 0, any(first))
}

// requireUser has a conversation begin with a user's message, as strict templates require.
func (w *responsesWriter) requireUser() {
	first := 0
	if m, ok := firstMessage(w.out); ok && (m.Role == "system" || m.Role == "developer") {
		first = 1
	}
	if m, ok := firstMessage(w.out[first:]); !ok || m.Role != "assistant" {
		return
	}
	if w.turns = true; w.strict {
		w.out = slices.Insert(w.out, first, any(inputMessage{Role: "user", Content: noMessage}))
	}
}

func firstMessage(items []any) (inputMessage, bool) {
	if len(items) == 0 {
		return inputMessage{}, false
	}
	m, ok := items[0].(inputMessage)
	return m, ok
}
