package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ponder"
)

// Bounds of what is taken over of what was said before.
const (
	maxContext = 16 << 10 // bytes that research is told
	maxBefore  = 64 << 10 // bytes that a conversation is told
	readBefore = 4000     // newest events of a conversation that are looked at
	mostBefore = 400      // newest messages of a client that are
	maxTitle   = 80       // letters of a title, until there is a better one
)

// beforeName is the name of what is put beside a conversation of what was said elsewhere.
const beforeName = "what was said before"

// transcript returns what was said, the newest most bytes of it.
func transcript(list []said, most int) string {
	var lines []string
	size := 0
	for i := len(list) - 1; i >= 0 && size < most; i-- {
		text := strings.TrimSpace(list[i].text)
		if text == "" {
			continue
		}
		line := speaker(list[i].role) + ": " + text
		if over := size + len(line) - most; over > 0 {
			line = speaker(list[i].role) + ": … " + tail(text, max(0, len(text)-over))
		}
		lines = append(lines, line)
		size += len(line) + 2
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(lines[i])
	}
	return b.String()
}

func speaker(role string) string {
	switch role {
	case roleUser, roleAssistant, roleSystem:
		return role
	}
	return "other"
}

// tail returns the last bytes of a text, without a letter that is cut.
func tail(text string, most int) string {
	text = text[len(text)-most:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// recallBefore puts beside a conversation what it has not heard of what is known to have
// been said beside it, and of what a client says was said before: in another conversation,
// or by research that the caller had done in between.
func (a *api) recallBefore(ctx context.Context, info ponder.Info, key string, known, list []said) error {
	if list = list[max(0, len(list)-mostBefore):]; len(list)+len(known) == 0 {
		return nil
	}
	heard, err := a.heard(ctx, info, key)
	if err != nil || heard == nil {
		return err
	}
	text := transcript(heard.news(known, list), maxBefore)
	if text == "" {
		return nil
	}
	_, err = a.Store.Append(ctx, info.ID, 0, ponder.Event{Cause: key, Body: ponder.AttachmentAdded{
		Name: beforeName, Media: "text/plain", Content: text, Bytes: int64(len(text)),
	}})
	if errors.Is(err, ponder.ErrTaken) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over what was said before: %w", err)
	}
	return nil
}

// A hearing is what a conversation has heard.
type hearing struct {
	texts map[string]bool
	files []string
}

// has reports whether a text was heard.
func (h *hearing) has(text string) bool {
	text = bare(text)
	if text == "" || h.texts[text] {
		return true
	}
	for _, f := range h.files {
		if strings.Contains(f, text) {
			return true
		}
	}
	return false
}

// news returns what was not heard of what is known, and of what a client says behind the
// last of it that was.
func (h *hearing) news(known, list []said) (news []said) {
	from := len(list)
	for from > 0 && !(list[from-1].role != roleSystem && h.has(list[from-1].text)) {
		from--
	}
	told := make(map[string]bool)
	for _, s := range list[from:] {
		told[bare(s.text)] = true
	}
	for _, s := range known {
		if !h.has(s.text) && !told[bare(s.text)] {
			news = append(news, s)
		}
	}
	for _, s := range list[from:] {
		if !h.has(s.text) {
			news = append(news, s)
		}
	}
	return news
}

// heard reads what a conversation has heard; nil if the message of a key is among that.
func (a *api) heard(ctx context.Context, info ponder.Info, key string) (*hearing, error) {
	h := &hearing{texts: make(map[string]bool)}
	var answer strings.Builder
	for ev, err := range a.Store.Events(ctx, info.ID, max(0, info.Head-readBefore)) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", info.ID, err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if ev.Cause == key {
				return nil, nil
			}
			h.texts[bare(b.Content)] = true
			answer.Reset()
		case ponder.AssistantMessage:
			answer.WriteString(bare(b.Content))
			h.texts[bare(b.Content)], h.texts[answer.String()] = true, true
		case ponder.AttachmentAdded:
			if b.Name == beforeName {
				h.files = append(h.files, bare(b.Content))
			}
		}
	}
	return h, nil
}
