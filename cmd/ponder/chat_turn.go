package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/llm"
	"ponder/tool/think"
)

func (s *chatSession) entered(ctx context.Context, line string) (gone bool, err error) {
	if line = strings.TrimSpace(line); line == "" {
		return false, nil
	}
	if c, rest, ok := commandOf(line); ok {
		s.reserve.release()
		if c.run == nil {
			return true, nil
		}
		return false, c.run(s, ctx, rest)
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

// A queuedMessage has an ID if the log already has it.
type queuedMessage = app.Said

func (s *chatSession) turnNext(ctx context.Context) {
	for s.now == nil && len(s.next) > 0 {
		w := s.next[0]
		s.next = s.next[1:]
		s.ui.Show(tui.Typed, w.Text)
		if w.ID == "" {
			if err := s.send(ctx, w.Text); err != nil {
				s.ui.Show(tui.Failure, oneLine(err.Error()))
			}
			continue
		}
		s.begins(w.ID, w.Seq)
	}
}

func (s *chatSession) begins(message string, seq ponder.Seq) {
	s.now = &activeTurn{turn: newTurn(message, seq, !s.onTerminal())}
}

func (s *chatSession) send(ctx context.Context, text string) error {
	m := s.files
	m.text = text
	for _, line := range m.leftOut(s.talking.ChatOptions(nil)) {
		s.ui.Show(tui.Remark, line)
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

func (s *chatSession) update(ctx context.Context, u turnUpdate) error {
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
		s.ui.Show(tui.Piece, text)
	}
	if delay := s.now.delay; delay != "" {
		s.now.delay = ""
		s.ui.Show(tui.Remark, delay)
	}
	if s.now.Over() {
		s.over(ctx)
	}
	return s.stopNow(ctx)
}

func (s *chatSession) happens(ev ponder.Event) {
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

func (s *chatSession) drawings() {
	if s.now != nil {
		return
	}
	for _, text := range s.drawn {
		s.ui.Show(tui.Text, text)
	}
	s.drawn = nil
}

func drawn(b ponder.AttachmentAdded) string {
	if b.Media == app.Diagram {
		return fmt.Sprintf("%s:\n\n```mermaid\n%s\n```", oneLine(b.Name), strings.ReplaceAll(b.Content, "```", "'''"))
	}
	return fmt.Sprintf("%s (%s)", oneLine(b.Name), textkit.Bytes(b.Bytes))
}

func (s *chatSession) over(ctx context.Context) {
	t := s.now
	s.now, s.failed = nil, t.failure()
	s.ui.Show(tui.Ended, "")
	switch {
	case t.stopped:
		s.ui.Show(tui.Remark, markStopped)
	case s.failed != nil:
		s.ui.Show(tui.Failure, s.failed.Error())
	}
	s.tidy(ctx, t.Seq)
	s.drawings()
	s.turnNext(ctx)
}

func (s *chatSession) stopNow(ctx context.Context) error {
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

// Limits of the history shown on entry.
const (
	shownBefore = 6 // messages and answers
	readBefore  = 1000
)

// reread shows the last messages and returns the unanswered ones.
func (s *chatSession) reread(ctx context.Context) (open []app.Said, err error) {
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return nil, err
	}
	var lines []ponder.Event
	var left app.PendingMessages
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
		_ = s.thinker.Mind.Fold(ctx, s.id) // lets the first turn start at once
	}
	if !s.isLines() {
		s.retell(lines, open)
	}
	return open, nil
}

func (s *chatSession) retell(lines []ponder.Event, open []app.Said) {
	for _, ev := range lines[max(0, len(lines)-shownBefore):] {
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if len(open) == 0 || ev.Seq < open[0].Seq {
				s.ui.Show(tui.Typed, b.Content)
			}
		case ponder.AssistantMessage:
			s.ui.Show(tui.Text, b.Content)
		case ponder.Steer:
			if b.Content != "" {
				s.ui.Show(tui.Text, b.Content)
			}
			s.ui.Show(tui.Remark, markStopped)
		}
	}
}

// A turn is the text of an answer on a surface that cannot take text back.
type turn struct {
	app.TurnView
	atOnce bool   // show a round only once the log has all of it
	spoke  bool   // a model wrote something, shown or not
	shown  bool   // some of the answer is shown
	tail   string // printed before the next text: restarted, or an incomplete escape sequence
	delay  string // pending retry of the newest call, if the wait is long
}

func newTurn(message string, seq ponder.Seq, atOnce bool) turn {
	t := turn{TurnView: app.NewTurnView(message, seq), atOnce: atOnce}
	t.Text.Eager = true
	return t
}

// apply folds an update and returns the text to append to the output.
func (t *turn) apply(u turnUpdate) string {
	if u.event == nil {
		_, ours := t.Round(u.delta.Key)
		t.spoke = t.spoke || ours
		if t.atOnce {
			return ""
		}
		return t.show(t.Hear(u.delta))
	}
	ev := *u.event
	text := t.show(t.Apply(ev))
	t.spoke = t.spoke || t.Text.Stored() != ""
	if b, ok := ev.Body.(ponder.CallFinished); ok && app.WritesReply(ev.Cause) && !b.Dropped {
		t.delay = delayOf(b, ev.Time)
	}
	return text
}

const restarted = "\n\n[cut off: the answer begins anew]\n\n"

// show returns the text that an edit appends to the output.
func (t *turn) show(e llm.Edit) string {
	if e.Back > 0 {
		t.tail = restarted
	}
	if e.Text == "" {
		return ""
	}
	if t.tail == restarted {
		e.Text = strings.TrimLeft(e.Text, "\n")
	}
	text := t.tail + e.Text
	n := len(text)
	if t.Text.Open() != "" {
		n = textkit.Whole(text)
	}
	t.tail = text[n:]
	text = textkit.Clean(text[:n])
	t.shown = t.shown || text != ""
	return text
}

// open returns the shown text of the round that the log may not have yet.
func (t *turn) open() string {
	return textkit.Clean(strings.TrimSuffix(t.Text.Open(), t.tail))
}

func (t *turn) replied() bool { return t.Model != "" }

// failure returns why the answer is missing or incomplete, or nil.
func (t *turn) failure() error {
	if t.Status == ponder.Completed {
		if how := t.Finish.BrokeOff(); how != "" && t.Last.Error == "" {
			return brokeOff(how)
		}
		return nil
	}
	err := fmt.Errorf("no answer: %s", oneLine(t.Reason)+otherModel(t.Last.Class))
	if app.NeedsUser(t.Last.Class) {
		return notReadyf("%w", err)
	}
	return failure{failed, err}
}
