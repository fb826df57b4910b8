package main

import (
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
)

// A turn is the answer to a message as a command shows it: a text that only grows, for a
// terminal takes nothing back.
type turn struct {
	chat.TurnView
	atOnce bool   // a round is shown when the log has all of it, and not before
	spoke  bool   // a model has said something, whether that is shown or not
	shown  bool   // something of the answer is shown
	tail   string // shown before the next words: an escape sequence that is not whole, or restarted
	delay  string // that the newest call is made again, and when, if that takes long
}

// newTurn returns the turn of a message.
func newTurn(message string, seq ponder.Seq, atOnce bool) turn {
	t := turn{TurnView: chat.NewTurnView(message, seq), atOnce: atOnce}
	t.Text.Eager = true
	return t
}

// apply takes an update, and returns what it adds to what is shown.
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
	if b, ok := ev.Body.(ponder.CallFinished); ok && chat.WritesAnswer(ev.Cause) && !b.Dropped {
		t.delay = delayOf(b, ev.Time)
	}
	return text
}

// restarted is shown where the text before it was taken back.
const restarted = "\n\n[cut off: the answer begins anew]\n\n"

// show returns what an edit adds to what is shown.
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

// open returns what is shown of the round that may not be in the log.
func (t *turn) open() string {
	return textkit.Clean(strings.TrimSuffix(t.Text.Open(), t.tail))
}

// replied reports whether a call was answered.
func (t *turn) replied() bool { return t.Model != "" }

// failure returns why there is no answer, or not all of one; nil if there is one.
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
