package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"ponder"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/tool/think"
)

// entered takes a line: a command, or a message, which waits if an answer goes on. It
// reports whether it is time to go.
func (s *chatting) entered(ctx context.Context, line string) (gone bool, err error) {
	if line = strings.TrimSpace(line); line == "" {
		return false, nil
	}
	if c, rest, ok := commandOf(line); ok {
		s.reserve.release()
		return c.run(s, ctx, rest)
	}
	if strings.HasPrefix(line, "/") && !strings.ContainsAny(line, " \n") {
		return false, fmt.Errorf("there is no command %s: /help lists them", clip(line, 20))
	}
	text, err := app.Saying(line)
	if err != nil {
		return false, err
	}
	s.next = append(s.next, queuedMessage{Text: text})
	s.turnNext(ctx)
	return false, nil
}

// A queuedMessage is a message that waits. It has an ID if it is in the log already.
type queuedMessage = chat.Said

// turnNext begins the next turn, if one waits and none goes on.
func (s *chatting) turnNext(ctx context.Context) {
	for s.now == nil && len(s.next) > 0 {
		w := s.next[0]
		s.next = s.next[1:]
		s.face.show(typed, w.Text)
		if w.ID == "" {
			if err := s.send(ctx, w.Text); err != nil {
				s.face.show(alarm, oneLine(err.Error()))
			}
			continue
		}
		s.begins(w.ID, w.Seq)
	}
}

// begins begins the turn of a message.
func (s *chatting) begins(message string, seq ponder.Seq) {
	s.now = &activeTurn{turn: newTurn(message, seq, !s.onTerminal())}
}

// send sends a message, with the files that were put beside it.
func (s *chatting) send(ctx context.Context, text string) error {
	m := s.files
	m.text = text
	for _, line := range m.leftOut(s.talking.ChatOptions(nil)) {
		s.face.show(remark, line)
	}
	ev, err := s.say(ctx, m)
	if err != nil {
		return err
	}
	s.files = message{}
	s.begins(ev.ID, ev.Seq)
	if s.updated == nil {
		s.listen(ctx)
	}
	return nil
}

// update takes an update of the conversation.
func (s *chatting) update(ctx context.Context, u turnUpdate) error {
	if u.err != nil {
		return u.err
	}
	if ev := u.event; ev != nil {
		s.heard = ev.Seq
		s.muses.Apply(*ev)
		s.happens(*ev)
		think.Log(ctx, slog.Default(), *ev)
		if s.flags.json && !ev.Internal {
			if err := s.reserve.object(s.cli, ev); err != nil {
				return err
			}
		}
	}
	if s.now == nil {
		s.turnNext(ctx)
		return nil
	}
	text := s.now.apply(u)
	if s.now.replied() || text != "" {
		s.reserve.release()
	}
	if text != "" {
		s.face.show(piece, text)
	}
	if delay := s.now.delay; delay != "" {
		s.now.delay = ""
		s.face.show(remark, delay)
	}
	if s.now.Over() {
		s.over(ctx)
	}
	return s.stopNow(ctx)
}

// happens takes in what others do: they say something, or put something beside the
// conversation.
func (s *chatting) happens(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if s.now == nil || s.now.Message != ev.ID {
			i := 0
			for i < len(s.next) && s.next[i].ID != "" {
				i++
			}
			s.next = append(s.next[:i:i], append([]queuedMessage{{Text: b.Content, ID: ev.ID, Seq: ev.Seq}}, s.next[i:]...)...)
		}
	case ponder.AttachmentAdded:
		if ev.Run != "" {
			s.drawn = append(s.drawn, drawn(b))
			s.drawings()
		}
	}
}

// drawings shows what was put beside the conversation, between two turns.
func (s *chatting) drawings() {
	if s.now != nil {
		return
	}
	for _, text := range s.drawn {
		s.face.show(drawing, text)
	}
	s.drawn = nil
}

// drawn returns something that was put beside a conversation, as Markdown.
func drawn(b ponder.AttachmentAdded) string {
	if b.Media == deep.Mermaid {
		return fmt.Sprintf("%s:\n\n```mermaid\n%s\n```", oneLine(b.Name), strings.ReplaceAll(b.Content, "```", "'''"))
	}
	return fmt.Sprintf("%s (%s)", oneLine(b.Name), textkit.Bytes(b.Bytes))
}

// over ends the turn.
func (s *chatting) over(ctx context.Context) {
	t := s.now
	s.now, s.failed = nil, t.failure()
	s.face.show(ended, "")
	switch {
	case t.stopped:
		s.face.show(remark, markStopped)
	case s.failed != nil:
		s.face.show(alarm, s.failed.Error())
	}
	s.tidy(ctx, t.Seq)
	s.drawings()
	s.turnNext(ctx)
}

// stopNow has the turn stopped that is to be, once its run is known.
func (s *chatting) stopNow(ctx context.Context) error {
	if s.rearm != nil {
		s.rearm()
	}
	t := s.now
	if t == nil || !t.stopping || t.stopped || t.Run == "" {
		return nil
	}
	t.stopped = true
	return s.stop(ctx, t.Run, t.open())
}

// What is shown of a conversation that is gone on with.
const (
	shownBefore = 6    // messages and answers
	readBefore  = 1000 // events
)

// reread shows the end of the conversation, and returns the messages that are not
// answered.
func (s *chatting) reread(ctx context.Context) (open []chat.Said, err error) {
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return nil, err
	}
	var lines []ponder.Event
	var left chat.PendingMessages
	for ev, err := range s.store.Events(ctx, s.id, max(0, info.Head-readBefore)) {
		if err != nil {
			return nil, err
		}
		s.heard = ev.Seq
		s.muses.Apply(ev)
		left.Apply(ev)
		switch b := ev.Body.(type) {
		case ponder.UserMessage, ponder.AssistantMessage:
			lines = append(lines, ev)
		case ponder.Steer:
			if talks, known := left.Answers(ev.Run); b.Do == ponder.Cancel && (talks || !known && b.Content != "") {
				lines = append(lines, ev)
			}
		}
	}
	open = left.Open
	if info.Status.Ended() {
		open, s.muses.Done = nil, s.muses.Asked
		_ = s.thinker.Mind.Fold(ctx, s.id) // so that the first turn begins at once
	}
	s.retell(lines, open)
	return open, nil
}

// retell shows what was said last, but for what is about to be answered.
func (s *chatting) retell(lines []ponder.Event, open []chat.Said) {
	for _, ev := range lines[max(0, len(lines)-shownBefore):] {
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if len(open) == 0 || ev.Seq < open[0].Seq {
				s.face.show(typed, b.Content)
			}
		case ponder.AssistantMessage:
			s.face.show(before, b.Content)
		case ponder.Steer:
			s.face.show(halted, b.Content)
		}
	}
}
