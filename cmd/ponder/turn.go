package main

import (
	"fmt"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
)

// A turn is how far the answer to a message has come, as far as it was heard.
type turn struct {
	speech
	message string       // the id of the event
	seq     ponder.Seq   // and its place
	run     ponder.RunID // that answers; empty until it is known
	over    bool
	replied bool      // a call was answered
	err     error     // why there is no answer
	class   llm.Class // how the last call failed, if it did
	cut     string    // how what the last call answered broke off, if it did
	delay   string    // that the last call is made again, and when, if that takes long
}

// hears takes in a sign, and returns what is to be shown of the answer.
func (t *turn) hears(s sign) string {
	mine := app.TurnKey + strconv.FormatInt(int64(t.seq), 10) + "-"
	if s.event == nil {
		if !strings.HasPrefix(s.key, mine) {
			return "" // of another turn
		}
		return t.hear(s.key, s.piece)
	}
	ev := *s.event
	key, _, _ := strings.Cut(strings.TrimSuffix(ev.Cause, "/1.1"), "#")
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if b.Mode == chat.Name {
			t.run = ev.Run
		}
	case ponder.AssistantMessage:
		if round, ok := strings.CutPrefix(key, "say-"); ok && strings.HasPrefix(app.TurnKey+round, mine) {
			return t.settle(app.TurnKey+round, b.Content)
		}
	case ponder.CallFinished:
		if strings.HasPrefix(key, app.TurnKey) {
			t.run = ev.Run
			if !b.Dropped {
				t.class, t.cut, t.delay = b.Class, b.Finish.BrokeOff(), delayOf(b, ev.Time)
			}
			if b.Error != "" {
				t.fail(key)
			}
			t.replied = t.replied || b.Error == "" && b.Made()
		}
	case ponder.Progress:
		if b.Stage == chat.TurnEnded && b.Ref == t.message {
			t.over = true
			switch {
			case b.Refused:
				t.err = t.failure(b.Content)
			case t.cut != "":
				t.err = brokeOff(t.cut)
			}
		}
	case ponder.RunFinished:
		if ev.Run == t.run && t.run != "" && !t.over && b.Status != ponder.Completed {
			t.over, t.err = true, t.failure(b.Reason)
		}
	}
	return ""
}

// failure returns the error of a turn without an answer.
func (t *turn) failure(why string) error {
	err := fmt.Errorf("no answer: %s", oneLine(why)+otherModel(t.class))
	if app.NeedsUser(t.class) {
		return notReadyf("%w", err)
	}
	return failure{failed, err}
}

// An unanswered is the messages of a conversation that are not answered, oldest first, as
// far as its events were heard.
type unanswered struct {
	open  []waiting
	talks map[ponder.RunID]bool // of the runs that have begun, whether they answer
}

// hears takes in an event.
func (u *unanswered) hears(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		u.open = append(u.open, waiting{b.Content, ev.ID, ev.Seq})
	case ponder.AssistantMessage:
		if ev.Run == "" { // of elsewhere
			u.open = nil
		}
	case ponder.RunStarted:
		if u.talks == nil {
			u.talks = make(map[ponder.RunID]bool)
		}
		u.talks[ev.Run] = b.Mode == chat.Name
	case ponder.RunFinished:
		if u.talks[ev.Run] {
			u.open = nil
		}
	case ponder.Progress:
		if b.Stage == chat.TurnEnded && len(u.open) > 0 && u.open[0].id == b.Ref {
			u.open = u.open[1:]
		}
	}
}

// A musing is whether a reflection is being made, and on which wish.
type musing struct {
	asked ponder.Seq // the newest wish
	done  ponder.Seq // the newest wish that something came of, or nothing will
	runs  map[ponder.RunID]bool
}

// hears takes in an event.
func (m *musing) hears(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.Progress:
		switch b.Stage {
		case chat.DeepAsked:
			m.asked = ev.Seq
		case chat.DeepFailed:
			m.done = max(m.done, wishOfReflection(ev.Cause))
		}
	case ponder.Observation:
		if b.Sensor == chat.DeepAsked {
			m.asked = ev.Seq
		}
	case ponder.InnerMonologue:
		if b.Tool == deep.Tool {
			m.done = max(m.done, wishOfReflection(ev.Cause))
		}
	case ponder.RunStarted:
		if b.Mode == deep.Name {
			if m.runs == nil {
				m.runs = make(map[ponder.RunID]bool)
			}
			m.runs[ev.Run] = true
		}
	case ponder.RunFinished:
		if m.runs[ev.Run] {
			delete(m.runs, ev.Run)
			m.done = max(m.done, m.asked)
		}
	}
}

// busy reports whether a reflection is being made.
func (m *musing) busy() bool { return m.asked > m.done }

// wishOfReflection returns the N of muse-N/1.1 and failed-N/1.1, which is the place
// of the wish; zero if it is none.
func wishOfReflection(cause string) ponder.Seq {
	key, _, _ := strings.Cut(cause, "/")
	_, num, _ := strings.Cut(key, "-")
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil {
		return 0
	}
	return ponder.Seq(n)
}
