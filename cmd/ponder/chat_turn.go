package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/liveview"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/llm"
	"ponder/tool/think"
)

func (s *chatSession) handleLine(ctx context.Context, line string) (gone bool, err error) {
	if line = strings.TrimSpace(line); line == "" {
		return false, nil
	}
	if c, rest, ok := parseCommand(line); ok {
		s.heldOutput.releaseAll()
		if c.run == nil {
			return true, nil
		}
		if c.name != "/plan" || isSetting(rest) { // a message with a plan is shown when it is sent
			s.ui.Show(tui.Typed, line)
		}
		return false, c.run(s, ctx, rest)
	}
	if strings.HasPrefix(line, "/") && !strings.ContainsAny(line, " \n") {
		s.ui.Show(tui.Typed, line)
		return false, fmt.Errorf("there is no command %s: /help lists them", truncate(line, 20))
	}
	text, err := app.CleanMessage(line)
	if err != nil {
		return false, err
	}
	s.queue = append(s.queue, queuedMessage{Text: text})
	s.startQueued(ctx)
	return false, nil
}

// A queuedMessage has an ID if the log already has it.
type queuedMessage = app.MessageText

func (s *chatSession) startQueued(ctx context.Context) {
	for s.active == nil && len(s.questions) == 0 && len(s.queue) > 0 {
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.ui.Show(tui.Typed, w.Text)
		if w.ID == "" {
			if err := s.sendText(ctx, w.Text); err != nil {
				s.ui.Show(tui.Failure, oneLine(err.Error()))
			}
			continue
		}
		s.startTurn(w.ID, w.Seq)
	}
}

func (s *chatSession) startTurn(message string, seq ponder.Seq) {
	s.active = &activeTurn{printedTurn: newPrintedTurn(message, seq, !s.isTerminal())}
}

func (s *chatSession) sendText(ctx context.Context, text string) error {
	m := s.nextMessage
	m.text = text
	for _, line := range m.omittedParts(s.setup.ChatOptions(nil)) {
		s.ui.Show(tui.Remark, line)
	}
	ev, err := s.sendMessage(ctx, m)
	if err != nil {
		return err
	}
	s.nextMessage = message{}
	s.startTurn(ev.ID, ev.Seq)
	if s.updated == nil {
		s.startListening(ctx)
	}
	return nil
}

func (s *chatSession) applyUpdate(ctx context.Context, u turnUpdate) error {
	if u.err != nil {
		return u.err
	}
	if ev := u.event; ev != nil {
		s.lastSeq = ev.Seq
		s.applyReflection(*ev)
		s.applyEvent(*ev)
		think.Log(ctx, slog.Default(), *ev)
		if s.flags.json && !ev.Internal {
			if err := s.heldOutput.printJSON(s.cli, ev); err != nil {
				return err
			}
		}
	}
	if s.active == nil {
		s.startQueued(ctx)
		return nil
	}
	text := s.active.applyUpdate(u)
	if s.active.hasReply() || text != "" {
		s.heldOutput.releaseAll()
	}
	if text != "" {
		s.ui.Show(tui.Piece, text)
	}
	if delay := s.active.retryNotice; delay != "" {
		s.active.retryNotice = ""
		s.ui.Show(tui.Remark, delay)
	}
	if s.active.IsOver() {
		s.finishTurn(ctx)
	}
	return s.cancelStoppingTurn(ctx)
}

// applyReflection folds an event. The end of a reflection that /deep asked for is a notice.
func (s *chatSession) applyReflection(ev ponder.Event) {
	s.reflections.Apply(ev)
	if s.deepAsked == 0 || s.reflections.Done < s.deepAsked {
		return
	}
	s.deepAsked, s.deepNotice = 0, reflectionEndText(ev)
	s.showDeepNotice()
}

// showDeepNotice shows a waiting notice about a reflection, unless an answer is growing.
func (s *chatSession) showDeepNotice() {
	if s.active == nil && s.deepNotice != "" {
		s.ui.Show(tui.Remark, s.deepNotice)
		s.deepNotice = ""
	}
}

// reflectionEndText describes the end of a reflection by its last event.
func reflectionEndText(ev ponder.Event) string {
	const failed = "the reflection failed: "
	switch b := ev.Body.(type) {
	case ponder.Progress:
		if b.Stage == app.DeepRefused {
			return "no reflection: " + oneLine(b.Content)
		}
		return failed + oneLine(b.Content) + "; /deep asks again"
	case ponder.RunFinished:
		if b.Status != ponder.Completed {
			return failed + oneLine(b.Reason) + "; /deep asks again"
		}
	}
	return "the reflection is done; /thoughts shows it, and later answers use it"
}

func (s *chatSession) applyEvent(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if s.active == nil || s.active.Message != ev.ID {
			i := 0
			for i < len(s.queue) && s.queue[i].ID != "" {
				i++
			}
			s.queue = append(s.queue[:i:i], append([]queuedMessage{{Text: b.Content, ID: ev.ID, Seq: ev.Seq}}, s.queue[i:]...)...)
		}
	case ponder.AttachmentAdded:
		if ev.Run != "" {
			s.pendingAttachments = append(s.pendingAttachments, attachmentText(b))
			s.showPendingAttachments()
		}
	}
}

func (s *chatSession) showPendingAttachments() {
	if s.active != nil {
		return
	}
	for _, text := range s.pendingAttachments {
		s.ui.Show(tui.Text, text)
	}
	s.pendingAttachments = nil
}

func attachmentText(b ponder.AttachmentAdded) string {
	if b.Media == app.Diagram {
		return fmt.Sprintf("%s:\n\n```mermaid\n%s\n```", oneLine(b.Name), strings.ReplaceAll(b.Content, "```", "'''"))
	}
	return fmt.Sprintf("%s (%s)", oneLine(b.Name), textkit.Bytes(b.Bytes))
}

func (s *chatSession) finishTurn(ctx context.Context) {
	t := s.active
	s.active, s.turnErr = nil, t.answerError()
	s.ui.Show(tui.Ended, "")
	switch {
	case t.stopped:
		s.ui.Show(tui.Remark, markStopped)
	case s.turnErr != nil:
		s.ui.Show(tui.Failure, s.turnErr.Error())
	case t.Omitted != "":
		s.ui.Show(tui.Remark, t.Omitted)
	}
	s.cleanupThoughts(ctx, t.Seq)
	s.showPendingAttachments()
	s.showDeepNotice()
	if s.turnErr == nil && !t.stopped {
		s.questions = approvalsOf(t.Questions)
		s.askNext()
	}
	s.startQueued(ctx)
}

func (s *chatSession) cancelStoppingTurn(ctx context.Context) error {
	if s.rearm != nil {
		s.rearm()
	}
	t := s.active
	if t == nil || !t.stopping || t.stopped || t.Run == "" {
		return nil
	}
	t.stopped = true
	return s.cancelTurn(ctx, t.Run, t.unstoredText())
}

// Limits of the history shown on entry.
const (
	maxShownHistory  = 6 // messages and answers
	maxHistoryEvents = 1000
)

// showHistory shows the last messages and returns the unanswered ones.
func (s *chatSession) showHistory(ctx context.Context) (open []app.MessageText, err error) {
	info, err := s.store.Thread(ctx, s.id)
	if err != nil {
		return nil, err
	}
	var lines []ponder.Event
	var left app.PendingMessages
	for ev, err := range s.store.Events(ctx, s.id, max(0, info.Head-maxHistoryEvents)) {
		if err != nil {
			return nil, err
		}
		s.lastSeq = ev.Seq
		s.reflections.Apply(ev)
		left.Apply(ev)
		switch b := ev.Body.(type) {
		case ponder.UserMessage, ponder.AssistantMessage:
			lines = append(lines, ev)
		case ponder.Steer:
			if talks, known := left.IsAnswering(ev.Run); b.Do == ponder.Cancel && (talks || !known && b.Content != "") {
				lines = append(lines, ev)
			}
		}
	}
	open = left.Open
	if info.Status.Ended() {
		open, s.reflections.Done = nil, s.reflections.Asked
		_ = s.runner.Mind.Fold(ctx, s.id) // lets the first turn start at once
	}
	if !s.readsLines() {
		s.printHistory(lines, open)
	}
	return open, nil
}

func (s *chatSession) printHistory(lines []ponder.Event, open []app.MessageText) {
	for _, ev := range lines[max(0, len(lines)-maxShownHistory):] {
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

// A printedTurn is the text of an answer on a surface that cannot take text back.
type printedTurn struct {
	app.TurnView
	wholeRounds bool   // show a round only once the log has all of it
	modelWrote  bool   // a model wrote something, shown or not
	shown       bool   // some of the answer is shown
	pendingText string // printed before the next text: restarted, or an incomplete escape sequence
	retryNotice string // pending retry of the newest call, if the wait is long
}

func newPrintedTurn(message string, seq ponder.Seq, atOnce bool) printedTurn {
	t := printedTurn{TurnView: app.NewTurnView(message, seq), wholeRounds: atOnce}
	t.Text.Eager = true
	return t
}

// applyUpdate folds an update and returns the text to append to the output.
func (t *printedTurn) applyUpdate(u turnUpdate) string {
	if u.event == nil {
		_, ours := t.Round(u.delta.Key)
		t.modelWrote = t.modelWrote || ours
		if t.wholeRounds {
			return ""
		}
		return t.appendEdit(t.ApplyDelta(u.delta))
	}
	ev := *u.event
	text := t.appendEdit(t.Apply(ev))
	t.modelWrote = t.modelWrote || t.Text.Stored() != ""
	if b, ok := ev.Body.(ponder.CallFinished); ok && app.WritesReply(ev.Cause) && !b.Dropped {
		t.retryNotice = liveview.DelayText(b, ev.Time)
	}
	return text
}

const restartNotice = "\n\n[cut off: the answer begins anew]\n\n"

// appendEdit returns the text that an edit appends to the output.
func (t *printedTurn) appendEdit(e llm.Edit) string {
	if e.Back > 0 {
		t.pendingText = restartNotice
	}
	if e.Text == "" && (t.Text.Open() != "" || t.pendingText == restartNotice) {
		return ""
	}
	if t.pendingText == restartNotice {
		e.Text = strings.TrimLeft(e.Text, "\n")
	}
	text := t.pendingText + e.Text
	n := len(text)
	if t.Text.Open() != "" {
		n = textkit.CompleteLen(text)
	}
	t.pendingText = text[n:]
	text = textkit.Clean(text[:n])
	t.shown = t.shown || text != ""
	return text
}

// unstoredText returns the shown text of the round that the log may not have yet.
func (t *printedTurn) unstoredText() string {
	return textkit.Clean(strings.TrimSuffix(t.Text.Open(), t.pendingText))
}

func (t *printedTurn) hasReply() bool { return t.Model != "" }

// answerError returns why the answer is missing or incomplete, or nil.
func (t *printedTurn) answerError() error {
	if t.Status == ponder.Completed {
		if how := t.Finish.DescribeIncomplete(); how != "" && t.Last.Error == "" {
			return truncatedError(how)
		}
		return nil
	}
	err := fmt.Errorf("no answer: %s", oneLine(t.Reason)+otherModelAdvice(t.Last.Class))
	if app.NeedsUser(t.Last.Class) {
		return notReadyf("%w", err)
	}
	return failure{exitFailed, err}
}
