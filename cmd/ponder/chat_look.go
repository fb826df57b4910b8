package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"ponder"
	"ponder/mode/chat"
)

// errUnsaid says that there is nothing to look at.
var errUnsaid = errors.New("nothing was said yet")

// What is shown of thoughts: the newest, of the newest events.
const (
	shownThoughts = 20
	readThoughts  = 20_000
)

// thoughtsCommand shows what was thought in the conversation and not said.
func (s *chatting) thoughtsCommand(ctx context.Context, _ string) error {
	if s.id == "" {
		return errUnsaid
	}
	var list []string
	for ev, err := range s.store.Events(ctx, s.id, max(0, s.heard-readThoughts)) {
		if err != nil {
			return err
		}
		if text := thoughtOf(ev); text != "" {
			list = append(list, fmt.Sprintf("%d  %s  %s", ev.Seq, ev.Time.Local().Format("15:04:05"), text))
		}
	}
	if len(list) == 0 {
		s.face.show(remark, "nothing was thought that was not said")
		return nil
	}
	s.face.show(remark, strings.Join(list[max(0, len(list)-shownThoughts):], "\n\n"))
	return nil
}

// thoughtOf returns what an event says that was thought and not said, or "".
func thoughtOf(ev ponder.Event) string {
	switch b := ev.Body.(type) {
	case ponder.Thought:
		return "thought: " + b.Content
	case ponder.InnerMonologue:
		text := fmt.Sprintf("inner thoughts (%s; had read up to %d", b.Reason, b.ReadTo)
		if len(b.Sources) > 0 {
			text += "; looked into " + strings.Join(b.Sources, ", ")
		}
		if b.Older {
			text += "; the conversation has moved on since"
		}
		return text + "):\n" + b.Content
	case ponder.Progress:
		switch b.Stage {
		case chat.DeepAsked:
			return strings.TrimSuffix("asked to think about: "+strings.TrimSpace(b.Content+" ("+b.Label+")"), " ()")
		case chat.DeepFailed:
			return "nothing came of thinking: " + b.Content
		}
	case ponder.Observation:
		if b.Sensor == chat.DeepAsked {
			return strings.TrimSuffix("asked by the user to think about: "+b.Content, " about: ")
		}
	case ponder.SystemNote:
		if ev.Internal {
			return "note: " + b.Content
		}
	}
	return ""
}

func (s *chatting) costCommand(ctx context.Context, _ string) error {
	if s.id == "" {
		return errUnsaid
	}
	rows, err := s.store.Usage(ctx, ponder.ByThread, time.Time{})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Key == string(s.id) {
			s.face.show(remark, fmt.Sprintf("%s, %s tokens in, %s out, %s", textkit.Count(r.Calls, "call", "calls"),
				textkit.Number(r.Usage.Input+r.Usage.CacheRead+r.Usage.CacheWrite), textkit.Number(r.Usage.Output), app.USD(r.Money.USD(), r.Usage.Total(), r.Calls, r.Unknown)))
			return nil
		}
	}
	return errors.New("no model has answered yet")
}

// exportCommand writes the conversation to a file.
func (s *chatting) exportCommand(ctx context.Context, file string) error {
	if s.id == "" {
		return errUnsaid
	}
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return err
	}
	if file == "" {
		file = "conversation-" + strings.ToLower(string(s.id)[len("thr_"):]) + ".md"
	}
	var text []byte
	if formatOf(file) == "jsonl" {
		return s.exportThread(ctx, s.store, info, file, false)
	}
	if text, err = transcriptOf(ctx, s.store, info); err != nil {
		return err
	}
	return s.deliver(filepath.Clean(file), func(out *bytes.Buffer) error { out.Write(text); return nil })
}

// transcriptOf returns a conversation as Markdown, without what no user is shown.
func transcriptOf(ctx context.Context, log ponder.Log, info ponder.Info) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", oneLine(info.Title))
	who := ""
	for ev, err := range log.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", info.ID, err)
		}
		if ev.Internal {
			continue
		}
		name, text := "", ""
		switch body := ev.Body.(type) {
		case ponder.UserMessage:
			name, text = "You", body.Content
		case ponder.AssistantMessage:
			name, text = "Ponder", body.Content
		case ponder.Steer:
			if name, text = "Ponder", body.Content+" […]"; body.Do != ponder.Cancel || body.Content == "" {
				continue
			}
		case ponder.AttachmentAdded:
			name, text = "Beside it", drawn(body)
		default:
			continue
		}
		if name != who {
			fmt.Fprintf(&b, "\n## %s\n", name)
		}
		who = name
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(text))
	}
	return b.Bytes(), nil
}
